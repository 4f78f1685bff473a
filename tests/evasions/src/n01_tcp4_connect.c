/* plain connect: the baseline everybody sees */
#define PORT 21010
#include "probe.h"
int main(void) {
    int l = lst4(PORT), s = CK(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("tcp connect");
}
