/* AF_INET6 UDP socket, destination given as an AF_INET sockaddr */
#define PORT 21330
#include "probe.h"
int main(void) {
    int r = udp4(PORT), s = ENV_CK(socket(AF_INET6, SOCK_DGRAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(sendto(s, NETTOK, strlen(NETTOK), 0, (void *)&a, sizeof a));
    got_net(r);
    OK("ipv4 address on an ipv6 socket");
}
