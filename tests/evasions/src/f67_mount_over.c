/* a tmpfs is mounted over the directory: the same path names another file than before; the old file stays
 * reachable by dirfd */
#include "probe.h"
int main(void) {
    int d = CK(open(T "/dir", O_PATH | O_DIRECTORY));
    ENV_CK(unshare(CLONE_NEWNS));
    CK(mount(0, "/", 0, MS_REC | MS_PRIVATE, 0));
    CK(mount("none", T "/dir", "tmpfs", 0, 0));
    int w = CK(open(T "/dir/secret", O_WRONLY | O_CREAT, 0600));
    CK(write(w, "other\n", 6));
    int fd = CK(openat(d, "secret", O_RDONLY));
    tok(fd);
    OK("file under an overmounted directory");
}
