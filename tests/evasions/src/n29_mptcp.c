/* MPTCP socket: the visible TCP subflow is made by the kernel */
#define PORT 21290
#include "probe.h"
int main(void) {
    int l = ENV_CK(socket(AF_INET, SOCK_STREAM, 262));
    struct sockaddr_in a = sa4(PORT);
    CK(bind(l, (void *)&a, sizeof a));
    CK(listen(l, 4));
    tmo(l);
    int s = CK(socket(AF_INET, SOCK_STREAM, 262));
    tmo(s);
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("mptcp connect");
}
