/* open refused by file permissions (after setuid): nothing was read */
#include "probe.h"
int main(void) {
    CK(setgid(4242));
    CK(setuid(4242));
    int fd = open(T "/rootonly", O_RDONLY);
    if (fd >= 0)
        FAIL("opened");
    if (errno != EACCES)
        FAIL("errno %d", errno);
    fact_i("errno", errno);
    OK("EACCES");
}
