/* UDP sendmsg without connect: the address is behind two user pointers */
#define PORT 21050
#include "probe.h"
int main(void) {
    int r = udp4(PORT), s = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct sockaddr_in a = sa4(PORT);
    struct iovec v = {NETTOK, strlen(NETTOK)};
    struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
    CK(sendmsg(s, &m, 0));
    got_net(r);
    OK("udp sendmsg");
}
