/* the page of the path argument is delivered by userfaultfd only when the kernel itself copies it */
#include "probe.h"
#include <linux/userfaultfd.h>
static int u;
static char *pg;
static char src[4096] __attribute__((aligned(4096)));
static void *h(void *x) {
    (void)x;
    struct uffd_msg m;
    struct pollfd p = {u, POLLIN, 0};
    if (poll(&p, 1, 1500) < 1)
        return 0;
    if (read(u, &m, sizeof m) < 0)
        return 0;
    strcpy(src, T "/secret");
    struct uffdio_copy c = {.dst = (uintptr_t)pg, .src = (uintptr_t)src, .len = 4096};
    ioctl(u, UFFDIO_COPY, &c);
    return 0;
}
int main(void) {
    u = ENV_CK((int)syscall(SYS_userfaultfd, O_CLOEXEC));
    struct uffdio_api a = {.api = UFFD_API};
    CK(ioctl(u, UFFDIO_API, &a));
    pg = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register r = {.range = {(uintptr_t)pg, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    CK(ioctl(u, UFFDIO_REGISTER, &r));
    pthread_t t;
    pthread_create(&t, 0, h, 0);
    int fd = CK((int)syscall(SYS_openat, AT_FDCWD, pg, O_RDONLY));
    tok(fd);
    OK("path delivered by userfaultfd");
}
