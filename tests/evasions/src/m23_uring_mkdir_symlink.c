/* IORING_OP_MKDIRAT and IORING_OP_SYMLINKAT */
#include "uring.h"
int main(void) {
    struct ring r = ring_new(0);
    struct io_uring_sqe s = {.opcode = 37, .fd = AT_FDCWD, .addr = (uintptr_t)T "/newdir", .len = 0700};
    int e = ring_do(&r, &s);
    if (e < 0)
        FAIL("mkdirat res %d", e);
    struct io_uring_sqe q = {
        .opcode = 38, .fd = AT_FDCWD, .addr = (uintptr_t) "/etc/hostname", .off = (uintptr_t)T "/newlink"};
    e = ring_do(&r, &q);
    if (e < 0)
        FAIL("symlinkat res %d", e);
    struct stat st;
    CK(lstat(T "/newlink", &st));
    CK(stat(T "/newdir", &st));
    OK("mkdir and symlink by io_uring");
}
