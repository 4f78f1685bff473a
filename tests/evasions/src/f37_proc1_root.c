/* magic link through another process: /proc/1/root */
#include "probe.h"
int main(void) {
    if (getpid() == 1)
        FAIL("must not be pid 1");
    int fd = CK(open("/proc/1/root" T "/secret", O_RDONLY));
    tok(fd);
    OK("/proc/1/root");
}
