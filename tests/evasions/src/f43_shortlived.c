/* 100 processes that live for one open+read and vanish */
#include "probe.h"
int main(void) {
    int good = 0;
    for (int i = 0; i < 100; i++) {
        pid_t c = CK(vfork());
        if (!c) {
            int fd = syscall(SYS_openat, AT_FDCWD, T "/secret", O_RDONLY);
            char b[8];
            _exit(fd >= 0 && read(fd, b, 8) == 8 && b[0] == 'R' ? 42 : 1);
        }
        if (wexit(c) == 42)
            good++;
    }
    fact_i("opens", good);
    if (good != 100)
        FAIL("%d of 100", good);
    OK("100 short-lived openers");
}
