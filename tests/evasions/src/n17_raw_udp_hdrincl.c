/* raw socket with a hand-made IP+UDP header: the UDP port is only in the payload of sendto */
#define PORT 21170
#include "probe.h"
#include <netinet/ip.h>
#include <netinet/udp.h>
int main(void) {
    int r = udp4(PORT);
    int s = ENV_CK(socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
    unsigned char b[256];
    memset(b, 0, sizeof b);
    struct iphdr *ip = (void *)b;
    struct udphdr *u = (void *)(b + 20);
    size_t n = strlen(NETTOK);
    ip->version = 4;
    ip->ihl = 5;
    ip->ttl = 64;
    ip->protocol = 17;
    ip->saddr = ip->daddr = htonl(INADDR_LOOPBACK);
    ip->tot_len = htons(28 + n);
    u->source = htons(PORT + 1);
    u->dest = htons(PORT);
    u->len = htons(8 + n);
    memcpy(b + 28, NETTOK, n);
    struct sockaddr_in a = sa4(0);
    CK(sendto(s, b, 28 + n, 0, (void *)&a, sizeof a));
    got_net(r);
    OK("raw IP packet delivered to the udp port");
}
