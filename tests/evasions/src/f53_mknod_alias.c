/* a device node under an innocent name: reading it reads /dev/zero */
#include "probe.h"
#include <sys/sysmacros.h>
int main(void) {
    ENV_CK(mknod(T "/innocent.txt", S_IFCHR | 0600, makedev(1, 5)));
    int fd = ENV_CK(open(T "/innocent.txt", O_RDONLY));
    char b[8];
    memset(b, 1, 8);
    if (read(fd, b, 8) != 8 || b[0] || b[7])
        FAIL("not zero device");
    OK("character device 1:5 opened as innocent.txt");
}
