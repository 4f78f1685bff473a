/* splice a file into a connected TCP socket: the data leaves with neither send nor write nor sendfile */
#define PORT 21370
#include "probe.h"
int main(void) {
    int l = lst4(PORT), s = CK(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(connect(s, (void *)&a, sizeof a));
    int c = got_conn(l);
    int fd = CK(open(T "/secret", O_RDONLY)), pp[2];
    CK(pipe(pp));
    ssize_t n = CK(splice(fd, 0, pp[1], 0, 4096, 0));
    CK(splice(pp[0], 0, s, 0, n, 0));
    char b[256];
    ssize_t k = CK(recv(c, b, sizeof b, 0));
    is_tok_buf(b, k);
    OK("spliced %zd bytes into the socket", n);
}
