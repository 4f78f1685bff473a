/* setxattr by path */
#include "probe.h"
int main(void) {
    if (setxattr(T "/file", "user.rei", "1", 1, 0) < 0) {
        if (errno == EOPNOTSUPP)
            SKIP("no user xattr");
        FAIL("setxattr: %s", strerror(errno));
    }
    char b[4];
    if (getxattr(T "/file", "user.rei", b, 4) != 1)
        FAIL("getxattr");
    OK("xattr set");
}
