/* IORING_OP_SENDMSG on an unconnected UDP socket */
#define PORT 21090
#include "uring.h"
int main(void) {
    int u = udp4(PORT), s = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct ring r = ring_new(0);
    struct sockaddr_in a = sa4(PORT);
    struct iovec v = {NETTOK, strlen(NETTOK)};
    struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
    struct io_uring_sqe q = {.opcode = IORING_OP_SENDMSG, .fd = s, .addr = (uintptr_t)&m, .len = 1};
    int e = ring_do(&r, &q);
    if (e < 0)
        FAIL("sendmsg res %d", e);
    got_net(u);
    OK("io_uring sendmsg");
}
