/* secret is renamed to an innocent name, opened there, read, and renamed back: late path resolution is wrong
 */
#include "probe.h"
int main(void) {
    CK(rename(T "/secret", T "/innocent"));
    int fd = CK(open(T "/innocent", O_RDONLY));
    CK(rename(T "/innocent", T "/secret"));
    tok(fd);
    OK("opened under its temporary name");
}
