/* timestamps forged by utimensat */
#include "probe.h"
int main(void) {
    struct timespec t[2] = {{1000000000, 0}, {1000000000, 0}};
    CK(utimensat(AT_FDCWD, T "/file", t, 0));
    struct stat s;
    CK(stat(T "/file", &s));
    if (s.st_mtime != 1000000000)
        FAIL("mtime");
    OK("mtime forged");
}
