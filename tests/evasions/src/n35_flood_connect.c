/* flood of UDP datagrams to PORT+1, one TCP connect to PORT in the middle */
#define PORT 21350
#include "probe.h"
static volatile int stop;
static volatile long cnt;
static void *fl(void *x) {
    (void)x;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in a = sa4(PORT + 1);
    long n = 0;
    double e = now() + 1.8;
    while (!stop && now() < e) {
        sendto(s, "x", 1, 0, (void *)&a, sizeof a);
        n++;
    }
    cnt = n;
    return 0;
}
int main(void) {
    int l = lst4(PORT);
    pthread_t t;
    pthread_create(&t, 0, fl, 0);
    msleep(800);
    int s = CK(socket(AF_INET, SOCK_STREAM, 0));
    struct sockaddr_in a = sa4(PORT);
    CK(connect(s, (void *)&a, sizeof a));
    CK(send(s, NETTOK, strlen(NETTOK), 0));
    got_net(got_conn(l));
    msleep(300);
    stop = 1;
    pthread_join(t, 0);
    fact_i("noise_sends", cnt);
    OK("connect among %ld datagrams", cnt);
}
