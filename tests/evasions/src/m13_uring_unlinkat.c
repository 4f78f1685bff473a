/* IORING_OP_UNLINKAT */
#include "uring.h"
int main(void) {
    struct ring r = ring_new(0);
    struct io_uring_sqe s = {.opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = (uintptr_t)T "/victim"};
    int e = ring_do(&r, &s);
    if (e < 0)
        FAIL("res %d", e);
    struct stat st;
    if (stat(T "/victim", &st) == 0)
        FAIL("still there");
    OK("unlinked by io_uring");
}
