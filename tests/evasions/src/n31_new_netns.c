/* new network namespace with its own loopback */
#define PORT 21310
#include "probe.h"
int main(void) {
    ENV_CK(unshare(CLONE_NEWNET));
    int c = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct ifreq q;
    memset(&q, 0, sizeof q);
    strcpy(q.ifr_name, "lo");
    CK(ioctl(c, SIOCGIFFLAGS, &q));
    q.ifr_flags |= IFF_UP;
    CK(ioctl(c, SIOCSIFFLAGS, &q));
    int l = lst4(PORT), s = CK(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("connect in a new network namespace");
}
