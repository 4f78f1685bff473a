/* comm set to another name by prctl, argv overwritten, then the open */
#include "probe.h"
int main(int c, char **v) {
    (void)c;
    prctl(PR_SET_NAME, "sshd");
    memset(v[0], 0, strlen(v[0]));
    strcpy(v[0], "sshd");
    int fd = CK(open(T "/secret", O_RDONLY));
    tok(fd);
    OK("comm and argv spoofed");
}
