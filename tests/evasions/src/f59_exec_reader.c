/* run by `docker exec` (driver): opens the secret inside the container */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/secret", O_RDONLY));
    tok(fd);
    OK("opened by docker exec");
}
