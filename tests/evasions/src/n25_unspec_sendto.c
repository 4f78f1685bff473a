/* UDP sendto with sa_family AF_UNSPEC: the kernel treats it as AF_INET, tracers that switch on the family
 * drop it */
#define PORT 21250
#include "probe.h"
int main(void) {
    int r = udp4(PORT), s = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct sockaddr_in a = sa4(PORT);
    a.sin_family = AF_UNSPEC;
    CK(sendto(s, NETTOK, strlen(NETTOK), 0, (void *)&a, sizeof a));
    got_net(r);
    OK("AF_UNSPEC sendto");
}
