/* exec through a symlink named like another program */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl(T "/ls", "ls", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("exec through symlink");
}
