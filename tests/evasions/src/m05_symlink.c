/* symlink creation with a misleading target */
#include "probe.h"
int main(void) {
    CK(syscall(SYS_symlink, "/etc/hostname", T "/newlink"));
    char b[64];
    if (readlink(T "/newlink", b, 64) != 13)
        FAIL("readlink");
    OK("symlink made");
}
