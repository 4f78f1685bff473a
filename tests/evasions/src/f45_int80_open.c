/* 32-bit compat open (int 0x80, number 5) from a 64-bit process */
#include "probe.h"
int main(void) {
    char *p = low_page();
    strcpy(p, T "/secret");
    long fd = i80(5, (long)p, O_RDONLY, 0, 0);
    if (fd < 0)
        FAIL("int80 open: %ld", fd);
    tok(fd);
    OK("compat open");
}
