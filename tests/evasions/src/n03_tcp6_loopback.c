/* IPv6 loopback ::1 */
#define PORT 21030
#include "probe.h"
int main(void) {
    int l = ENV_CK(socket(AF_INET6, SOCK_STREAM, 0));
    struct sockaddr_in6 a = {
        .sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (bind(l, (void *)&a, sizeof a) < 0) {
        if (errno == EADDRNOTAVAIL)
            SKIP("no ::1 here");
        FAIL("bind: %s", strerror(errno));
    }
    CK(listen(l, 4));
    tmo(l);
    int s = CK(socket(AF_INET6, SOCK_STREAM, 0));
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("tcp6 connect");
}
