/* a file whose absolute path is longer than PATH_MAX: reached through a chain of dirfds (30 x 200 bytes) */
#include "probe.h"
int main(void) {
    char n[201];
    memset(n, 'd', 200);
    n[200] = 0;
    int d = CK(open(T "/base", O_PATH | O_DIRECTORY));
    for (int i = 0; i < 30; i++) {
        n[0] = 'A' + i;
        CK(mkdirat(d, n, 0700));
        int e = CK(openat(d, n, O_PATH | O_DIRECTORY));
        close(d);
        d = e;
    }
    CK(renameat(AT_FDCWD, T "/secret", d, "secret"));
    int fd = CK(openat(d, "secret", O_RDONLY));
    tok(fd);
    fact_i("path_len", strlen(T "/base") + 30 * 201 + strlen("/secret"));
    OK("opened below a %d byte directory path", (int)strlen(T "/base") + 30 * 201);
}
