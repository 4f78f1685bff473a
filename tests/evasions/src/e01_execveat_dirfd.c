/* execveat(dirfd,"prog") with the cwd elsewhere */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        int d = open(T "/real", O_PATH | O_DIRECTORY);
        if (chdir(T "/decoy") < 0)
            _exit(1);
        char *v[] = {"prog", 0};
        syscall(SYS_execveat, d, "prog", v, environ, 0);
        _exit(127);
    }
    want42(c);
    OK("execveat dirfd-relative");
}
