/* the dirfd number first names a decoy directory, then dup2 puts another directory under the same number */
#include "probe.h"
int main(void) {
    int d = CK(open(T "/decoy", O_PATH | O_DIRECTORY)), e = CK(open(T "/real", O_PATH | O_DIRECTORY));
    CK(dup2(e, d));
    int fd = CK(openat(d, "secret", O_RDONLY));
    tok(fd);
    OK("dirfd %d reused by dup2", d);
}
