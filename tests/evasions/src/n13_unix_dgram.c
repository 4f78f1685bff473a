/* unix datagram sendto without connect */
#define PORT 21130
#include "probe.h"
int main(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = T "/d.sock"};
    int r = CK(socket(AF_UNIX, SOCK_DGRAM, 0));
    CK(bind(r, (void *)&a, sizeof a));
    tmo(r);
    int s = CK(socket(AF_UNIX, SOCK_DGRAM, 0));
    CK(sendto(s, NETTOK, strlen(NETTOK), 0, (void *)&a, sizeof a));
    got_net(r);
    OK("unix datagram");
}
