/* UDP: connect PORT+1, dissolve by AF_UNSPEC, connect PORT, send() without address */
#define PORT 21270
#include "probe.h"
int main(void) {
    int r = udp4(PORT), s = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct sockaddr_in a = sa4(PORT), b = sa4(PORT + 1);
    struct sockaddr u = {.sa_family = AF_UNSPEC};
    CK(connect(s, (void *)&b, sizeof b));
    CK(connect(s, &u, sizeof u));
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(r);
    OK("udp association changed");
}
