/* the path starts in a resident page and continues in a non-resident one: a tracer sees a prefix or nothing
 */
#include "probe.h"
int main(void) { /* file pathtext2: 8192 bytes, the path straddles offset 4096 */
    int fd = CK(open(T "/pathtext2", O_RDONLY));
    char *p = mmap(0, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        FAIL("mmap");
    close(fd);
    madvise(p, 8192, MADV_DONTNEED);
    madvise(p, 8192, MADV_RANDOM);
    size_t cut = strlen(T "/par");
    volatile char c = p[4095];
    (void)c;
    madvise(p + 4096, 4096, MADV_DONTNEED);
    int f = CK((int)syscall(SYS_openat, AT_FDCWD, p + 4096 - cut, O_RDONLY));
    tok(f);
    OK("path crosses into a cold page");
}
