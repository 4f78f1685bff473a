/* TCP fast open: sendto(MSG_FASTOPEN) connects without connect(2) */
#define PORT 21070
#include "probe.h"
int main(void) {
    int l = lst4(PORT), s = CK(socket(AF_INET, SOCK_STREAM, 0));
    tmo(s);
    struct sockaddr_in a = sa4(PORT);
    CK(sendto(s, NETTOK, strlen(NETTOK), MSG_FASTOPEN, (void *)&a, sizeof a));
    got_net(got_conn(l));
    OK("tcp fast open");
}
