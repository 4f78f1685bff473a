/* the driver moves this process into a child cgroup of the container, then SIGUSR2: opens the secret */
#include "probe.h"
int main(void) {
    if (wait_usr2() < 0)
        FAIL("never triggered");
    int fd = CK(open(T "/secret", O_RDONLY));
    tok(fd);
    OK("opened from a child cgroup");
}
