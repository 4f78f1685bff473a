/* argv[0] pretends to be a kernel thread */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        char *v[] = {"[kworker/u8:3]", 0};
        execve(T "/prog", v, environ);
        _exit(127);
    }
    want42(c);
    OK("argv0 spoofed");
}
