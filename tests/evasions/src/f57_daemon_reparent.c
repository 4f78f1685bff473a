/* double fork + setsid: the opener is reparented, its parent and grandparent are gone */
#include "probe.h"
int main(void) {
    int pp[2];
    CK(pipe(pp));
    pid_t c = CK(fork());
    if (!c) {
        setsid();
        pid_t g = fork();
        if (g)
            _exit(0);
        msleep(80);
        int fd = open(T "/secret", O_RDONLY);
        char b[128];
        ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof b);
        if (write(pp[1], n > 0 && !memcmp(b, TOKEN, strlen(TOKEN)) ? "y" : "n", 1) < 0) {
        }
        _exit(0);
    }
    waitpid(c, 0, 0);
    char r = 0;
    close(pp[1]);
    if (read(pp[0], &r, 1) != 1 || r != 'y')
        FAIL("daemon did not read");
    OK("opened by a reparented daemon");
}
