/* openat2 with RESOLVE_IN_ROOT: the argument "/inner/secret" is NOT relative to / but to the dirfd */
#include "probe.h"
struct how {
    uint64_t flags, mode, resolve;
};
int main(void) {
    int d = CK(open(T "/jail", O_PATH | O_DIRECTORY));
    struct how h = {O_RDONLY, 0, 0x10};
    int fd = ENV_CK((int)syscall(SYS_openat2, d, "/inner/secret", &h, sizeof h));
    tok(fd);
    OK("openat2 RESOLVE_IN_ROOT");
}
