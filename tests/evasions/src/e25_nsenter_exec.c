/* run by nsenter from the host into all namespaces of the container (driver): foreign cgroup */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl(T "/prog", "prog", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("exec from a foreign cgroup");
}
