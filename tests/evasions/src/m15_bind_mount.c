/* bind mount over a file: the path shows other content afterwards */
#include "probe.h"
int main(void) {
    ENV_CK(mount(T "/fake", T "/config", 0, MS_BIND, 0));
    int fd = CK(open(T "/config", O_RDONLY));
    tok(fd);
    close(fd);
    CK(umount2(T "/config", MNT_DETACH));
    OK("config hidden by a bind mount");
}
