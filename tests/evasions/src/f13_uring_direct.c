/* IORING_OP_OPENAT2 into a direct descriptor: no entry in the process fd table ever exists; read through the
 * ring */
#include "uring.h"
struct how {
    uint64_t flags, mode, resolve;
};
int main(void) {
    struct ring r = ring_new(0);
    ring_files(&r, 4);
    struct how h = {O_RDONLY, 0, 0};
    struct io_uring_sqe s = {.opcode = IORING_OP_OPENAT2,
                             .fd = AT_FDCWD,
                             .addr = (uintptr_t)T "/secret",
                             .len = sizeof h,
                             .off = (uintptr_t)&h,
                             .file_index = 1};
    int e = ring_do(&r, &s);
    if (e < 0)
        FAIL("openat2 res %d", e);
    char b[256];
    struct io_uring_sqe q = {
        .opcode = IORING_OP_READ, .flags = IOSQE_FIXED_FILE, .fd = 0, .addr = (uintptr_t)b, .len = sizeof b};
    e = ring_do(&r, &q);
    if (e < 0)
        FAIL("read res %d", e);
    is_tok_buf(b, e);
    OK("io_uring direct descriptor");
}
