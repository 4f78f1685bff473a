/* new mount namespace, bind mount real -> mask, open below mask */
#include "probe.h"
int main(void) {
    ENV_CK(unshare(CLONE_NEWNS));
    CK(mount(0, "/", 0, MS_REC | MS_PRIVATE, 0));
    CK(mount(T "/real", T "/mask", 0, MS_BIND, 0));
    int fd = CK(open(T "/mask/secret", O_RDONLY));
    tok(fd);
    OK("opened through a bind mount in a new mount namespace");
}
