/* process A connects, hands the socket to B by SCM_RIGHTS, B sends the data */
#define PORT 21190
#include "probe.h"
int main(void) {
    int l = lst4(PORT), sp[2];
    CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
    pid_t c = CK(fork());
    char cb[CMSG_SPACE(sizeof(int))];
    char x = 'x';
    struct iovec io = {&x, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = cb, .msg_controllen = sizeof cb};
    if (!c) {
        prctl(PR_SET_NAME, "n19_sender");
        if (recvmsg(sp[1], &m, 0) < 0)
            _exit(1);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        int fd;
        memcpy(&fd, CMSG_DATA(h), sizeof fd);
        _exit(send(fd, NETTOK, strlen(NETTOK), 0) > 0 ? 42 : 2);
    }
    int s = CK(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(connect(s, (void *)&a, sizeof a));
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof s);
    memcpy(CMSG_DATA(h), &s, sizeof s);
    CK(sendmsg(sp[0], &m, 0));
    close(s);
    want42(c);
    got_net(got_conn(l));
    OK("connected socket passed to another process");
}
