/* AT_EXECVE_CHECK (Linux 6.14): the kernel only answers whether exec would be allowed; security_bprm_check
 * runs, nothing is executed */
#include "probe.h"
int main(void) {
    int d = CK(open(T "/prog", O_PATH | O_CLOEXEC));
    char *v[] = {"prog", 0};
    long r = syscall(SYS_execveat, d, "", v, environ, AT_EMPTY_PATH | 0x10000);
    if (r < 0) {
        if (errno == EINVAL)
            SKIP("kernel has no AT_EXECVE_CHECK");
        FAIL("errno %d", errno);
    }
    OK("check only, still the same program");
}
