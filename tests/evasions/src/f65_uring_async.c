/* IOSQE_ASYNC: the open is executed by a kernel worker thread iou-wrk-PID */
#include "uring.h"
int main(void) {
    struct ring r = ring_new(0);
    struct io_uring_sqe s = {.opcode = IORING_OP_OPENAT,
                             .flags = IOSQE_ASYNC,
                             .fd = AT_FDCWD,
                             .addr = (uintptr_t)T "/secret",
                             .open_flags = O_RDONLY};
    int fd = ring_do(&r, &s);
    if (fd < 0)
        FAIL("openat res %d", fd);
    tok(fd);
    OK("io_uring openat in a worker");
}
