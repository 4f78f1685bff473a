/* fileless: memfd_create + execveat */
#include "probe.h"
int main(void) {
    int i = CK(open(T "/blob", O_RDONLY));
    int m = CK((int)syscall(SYS_memfd_create, "rei-" PROBE_ID, 1));
    char b[65536];
    ssize_t n;
    while ((n = read(i, b, sizeof b)) > 0)
        CK(write(m, b, n));
    close(i);
    pid_t c = CK(fork());
    if (!c) {
        char *v[] = {"[kworker]", 0};
        syscall(SYS_execveat, m, "", v, environ, AT_EMPTY_PATH);
        _exit(127);
    }
    want42(c);
    OK("memfd executed");
}
