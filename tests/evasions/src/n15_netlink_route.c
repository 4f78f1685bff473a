/* AF_NETLINK request: link dump */
#define PORT 21150
#include "probe.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
int main(void) {
    int s = CK(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    tmo(s);
    struct {
        struct nlmsghdr h;
        struct rtgenmsg g;
    } q = {{.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
            .nlmsg_type = RTM_GETLINK,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            .nlmsg_seq = 1},
           {.rtgen_family = AF_UNSPEC}};
    CK(send(s, &q, q.h.nlmsg_len, 0));
    char b[8192];
    if (recv(s, b, sizeof b, 0) <= 0)
        FAIL("no answer");
    OK("netlink route dump");
}
