/* non-blocking connect: the syscall returns EINPROGRESS, yet the connection succeeds */
#define PORT 21210
#include "probe.h"
int main(void) {
    int l = lst4(PORT);
    int one = 0;
    (void)one;
    int s = CK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    struct sockaddr_in a = sa4(PORT);
    int r = connect(s, (void *)&a, sizeof a);
    if (r == 0)
        fact_s("note", "connected at once");
    else if (errno != EINPROGRESS)
        FAIL("errno %d", errno);
    struct pollfd p = {s, POLLOUT, 0};
    if (poll(&p, 1, 1000) < 1)
        FAIL("poll");
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("EINPROGRESS then connected");
}
