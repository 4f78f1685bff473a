/* 32-bit compat execve (int 0x80 number 11) from a 64-bit process */
#include "probe.h"
int main(void) {
    char *p = low_page();
    strcpy(p, T "/prog");
    uint32_t *v = (void *)(p + 1024);
    v[0] = (uint32_t)(uintptr_t)p;
    v[1] = 0;
    uint32_t *e = (void *)(p + 2048);
    e[0] = 0;
    pid_t c = CK(fork());
    if (!c) {
        i80(11, (long)p, (long)v, (long)e, 0);
        _exit(127);
    }
    want42(c);
    OK("compat execve");
}
