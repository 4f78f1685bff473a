/* the script reaches the shell through a pipe: no script path in any exec */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl("/bin/busybox", "sh", "-c", "/bin/busybox cat " T "/script.txt | /bin/busybox sh", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("script from stdin");
}
