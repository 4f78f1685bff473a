/* another thread flips the low byte of the port all the time (PORT <-> PORT+1); getpeername is the ground
 * truth */
#define PORT 21230
#include "probe.h"
static struct sockaddr_in a;
static volatile int stop;
static void *flip(void *x) {
    (void)x;
    volatile unsigned char *p = (void *)&a.sin_port;
    while (!stop) {
        p[1] = (PORT + 1) & 255;
        for (volatile int k = 0; k < 20; k++)
            ;
        p[1] = PORT & 255;
        for (volatile int k = 0; k < 20; k++)
            ;
    }
    return 0;
}
int main(void) {
    a = sa4(PORT);
    pthread_t t;
    pthread_create(&t, 0, flip, 0);
    long n0 = 0, n1 = 0;
    double e = now() + 1.5;
    for (int i = 0; i < 3000 && now() < e; i++) {
        int s = CK(socket(AF_INET, SOCK_DGRAM, 0));
        CK(connect(s, (void *)&a, sizeof a));
        struct sockaddr_in g;
        socklen_t l = sizeof g;
        CK(getpeername(s, (void *)&g, &l));
        if (ntohs(g.sin_port) == PORT)
            n0++;
        else if (ntohs(g.sin_port) == PORT + 1)
            n1++;
        else
            FAIL("port");
        close(s);
    }
    stop = 1;
    pthread_join(t, 0);
    fact_i("p0_connects", n0);
    fact_i("p1_connects", n1);
    if (!n0 || !n1)
        FAIL("no race %ld %ld", n0, n1);
    OK("connected %ld times to PORT, %ld times to PORT+1", n0, n1);
}
