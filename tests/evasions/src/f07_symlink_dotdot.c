/* link/../secret : lexical normalisation gives T/secret (a decoy), the kernel goes through the link target's
 * parent */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/link/../secret", O_RDONLY));
    tok(fd);
    OK("link/../secret");
}
