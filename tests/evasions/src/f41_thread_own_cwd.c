/* a thread created without CLONE_FS has its own cwd: /proc/<tgid>/cwd is the decoy directory */
#include "probe.h"
static char stk[65536] __attribute__((aligned(16)));
static volatile int res = -1000;
static volatile int done;
static int th(void *x) {
    (void)x;
    if (syscall(SYS_chdir, T "/real") < 0) {
        res = -errno;
        done = 1;
        return 0;
    }
    int fd = syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY);
    res = fd < 0 ? -errno : fd;
    done = 1;
    syscall(SYS_exit, 0);
    return 0;
}
int main(void) {
    CK(chdir(T "/decoy"));
    CK(clone(th, stk + sizeof stk, CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, 0));
    double e = now() + 1.5;
    while (!done && now() < e)
        msleep(1);
    if (res < 0)
        FAIL("res %d", res);
    tok(res);
    OK("relative open by a thread with its own cwd");
}
