/* script with #! : the kernel really starts the interpreter */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl(T "/script", "script", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("shebang script ran its interpreter");
}
