/* unix stream connect by a relative path through a symlinked directory */
#define PORT 21110
#include "probe.h"
int main(void) {
    int l = CK(socket(AF_UNIX, SOCK_STREAM, 0));
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = T "/real/s.sock"};
    CK(bind(l, (void *)&a, sizeof a));
    CK(listen(l, 2));
    tmo(l);
    CK(chdir(T));
    int s = CK(socket(AF_UNIX, SOCK_STREAM, 0));
    struct sockaddr_un b = {.sun_family = AF_UNIX, .sun_path = "link/s.sock"};
    CK(connect(s, (void *)&b, sizeof b));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    OK("unix connect by relative symlinked path");
}
