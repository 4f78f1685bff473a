/* O_TMPFILE (an unnamed file; only its directory is named) + linkat gives it a name later */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/dir", O_TMPFILE | O_RDWR, 0600));
    CK(write(fd, TOKEN, strlen(TOKEN)));
    char p[64];
    snprintf(p, sizeof p, "/proc/self/fd/%d", fd);
    CK(linkat(AT_FDCWD, p, AT_FDCWD, T "/dir/appeared", AT_SYMLINK_FOLLOW));
    struct stat s;
    CK(stat(T "/dir/appeared", &s));
    if (s.st_size != (off_t)strlen(TOKEN))
        FAIL("size");
    OK("unnamed file got its name by linkat");
}
