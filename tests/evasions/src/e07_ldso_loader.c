/* the dynamic loader as launcher: execve sees only ld.so */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl("/lib64/ld-linux-x86-64.so.2", "ld.so", T "/prog_dyn", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("ld.so started prog_dyn");
}
