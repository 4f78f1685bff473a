/* the file is modified through a shared mapping only: no write syscall */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/data", O_RDWR));
    char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        FAIL("mmap");
    close(fd);
    memcpy(p, "CHANGED!!", 9);
    CK(msync(p, 4096, MS_SYNC));
    munmap(p, 4096);
    fd = CK(open(T "/data", O_RDONLY));
    char b[16];
    if (read(fd, b, 9) != 9 || memcmp(b, "CHANGED!!", 9))
        FAIL("not changed");
    OK("changed by a store into a shared mapping");
}
