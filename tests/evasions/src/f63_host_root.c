/* host pid namespace + CAP_SYS_PTRACE: /proc/<host pid>/root reaches a host file (REI_HOSTPID, a sleep
 * started by the driver) */
#include "probe.h"
int main(void) {
    char *e = getenv("REI_HOSTPID");
    if (!e)
        SKIP("no REI_HOSTPID");
    char p[256];
    snprintf(p, sizeof p, "/proc/%s/root/tmp/rei-ev-host/" PROBE_ID "/secret", e);
    int fd = ENV_CK(open(p, O_RDONLY));
    tok(fd);
    OK("host file read through /proc/PID/root");
}
