/* userland exec: machine code read from a file into anonymous memory and called; no exec, no file-backed
 * executable mapping */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/code", O_RDONLY));
    char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CK(read(fd, p, 4096));
    CK(mprotect(p, 4096, PROT_READ | PROT_EXEC));
    pid_t c = CK(fork());
    if (!c) {
        ((void (*)(void))p)();
        _exit(1);
    }
    want42(c);
    OK("anonymous code ran");
}
