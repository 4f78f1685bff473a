/* magic link /proc/self/root */
#include "probe.h"
int main(void) {
    int fd = CK(open("/proc/self/root" T "/secret", O_RDONLY));
    tok(fd);
    OK("/proc/self/root");
}
