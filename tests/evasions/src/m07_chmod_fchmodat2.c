/* fchmodat2 (new syscall 452): setuid bit set */
#include "probe.h"
int main(void) {
    long r = syscall(452, AT_FDCWD, T "/tool", 04755, 0);
    if (r < 0) {
        if (errno != ENOSYS && errno != EPERM)
            FAIL("fchmodat2: %s", strerror(errno));
        SKIP("fchmodat2: %s", strerror(errno));
    }
    struct stat s;
    CK(stat(T "/tool", &s));
    if (!(s.st_mode & 04000))
        FAIL("mode");
    OK("setuid bit set by fchmodat2");
}
