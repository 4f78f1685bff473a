/* ftruncate on an fd opened by another program (inherited over exec): only the size changes */
#include "probe.h"
int main(int c, char **v) {
    (void)v;
    if (c > 1) {
        if (ftruncate(9, 5) < 0)
            _exit(1);
        _exit(42);
    }
    int fd = CK(open(T "/data", O_RDWR));
    CK(dup2(fd, 9));
    pid_t p = CK(fork());
    if (!p) {
        execl("/probes/" PROBE_ID, "second", "child", (char *)0);
        _exit(127);
    }
    want42(p);
    struct stat s;
    CK(stat(T "/data", &s));
    if (s.st_size != 5)
        FAIL("size");
    OK("ftruncate by the second program");
}
