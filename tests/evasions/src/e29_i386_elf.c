/* a real 32-bit ELF that opens a file by int 0x80 */
#include "probe.h"
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        execl(T "/prog32", "prog32", (char *)0);
        _exit(127);
    }
    want42(c);
    OK("32-bit program opened the secret");
}
