/* chroot: the argument "/secret" is below the jail */
#include "probe.h"
int main(void) {
    CK(chroot(T "/jail"));
    CK(chdir("/"));
    int fd = CK(open("/secret", O_RDONLY));
    tok(fd);
    OK("open inside chroot");
}
