/* O_PATH open (no file_open hook), then a real open of /proc/self/fd/N */
#include "probe.h"
int main(void) {
    int d = CK(open(T "/secret", O_PATH));
    char p[64];
    snprintf(p, sizeof p, "/proc/self/fd/%d", d);
    int fd = CK(open(p, O_RDONLY));
    tok(fd);
    OK("reopened O_PATH fd");
}
