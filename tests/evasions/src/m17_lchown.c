/* owner changed by fchownat(AT_EMPTY_PATH) on an O_PATH fd: no path in the call */
#include "probe.h"
int main(void) {
    int d = CK(open(T "/file", O_PATH));
    CK(fchownat(d, "", 4242, 4242, AT_EMPTY_PATH));
    struct stat s;
    CK(stat(T "/file", &s));
    if (s.st_uid != 4242)
        FAIL("uid");
    OK("chown through O_PATH fd");
}
