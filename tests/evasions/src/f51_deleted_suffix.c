/* a living file whose name really ends in " (deleted)" */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/secret (deleted)", O_RDONLY));
    tok(fd);
    OK("name ends in (deleted) but the file exists");
}
