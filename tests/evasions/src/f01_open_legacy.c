/* open(2), syscall 2: observers that only hook openat/openat2 miss it */
#include "probe.h"
int main(void) {
    int fd = CK((int)syscall(SYS_open, T "/secret", O_RDONLY));
    tok(fd);
    OK("read through open(2)");
}
