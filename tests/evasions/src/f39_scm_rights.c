/* SCM_RIGHTS: process A opens, process B receives the fd and reads */
#include "probe.h"
int main(void) {
    int sp[2];
    CK(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
    pid_t c = CK(fork());
    char cb[CMSG_SPACE(sizeof(int))];
    char x = 'x';
    struct iovec io = {&x, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = cb, .msg_controllen = sizeof cb};
    if (!c) {
        prctl(PR_SET_NAME, "f39_receiver");
        if (recvmsg(sp[1], &m, 0) < 0)
            _exit(1);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        if (!h)
            _exit(2);
        int fd;
        memcpy(&fd, CMSG_DATA(h), sizeof fd);
        char b[128];
        ssize_t n = read(fd, b, sizeof b);
        _exit(n >= (ssize_t)strlen(TOKEN) && !memcmp(b, TOKEN, strlen(TOKEN)) ? 42 : 3);
    }
    int fd = CK(open(T "/secret", O_RDONLY));
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    CK(sendmsg(sp[0], &m, 0));
    want42(c);
    OK("fd passed by SCM_RIGHTS and read by the receiver");
}
