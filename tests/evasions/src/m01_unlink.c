/* unlink(2) */
#include "probe.h"
int main(void) {
    CK(syscall(SYS_unlink, T "/victim"));
    struct stat s;
    if (stat(T "/victim", &s) == 0)
        FAIL("still there");
    OK("unlinked");
}
