/* overlayfs copy-up: read fd first, then write the same path: the real inode changes, path and (here) st_ino
 * do not */
#include "probe.h"
int main(void) {
    int r = CK(open(T "/data", O_RDONLY));
    struct stat a, b;
    CK(fstat(r, &a));
    int w = CK(open(T "/data", O_WRONLY | O_APPEND));
    CK(write(w, "more", 4));
    CK(fstat(w, &b));
    tok(r);
    fact_i("ino_before", a.st_ino);
    fact_i("ino_after", b.st_ino);
    OK("read then appended (copy-up)");
}
