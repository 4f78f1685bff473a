/* file name that is not valid UTF-8 */
#include "probe.h"
int main(void) {
    int fd = CK(open(T "/bad\xff\xfe\xc3(name", O_RDONLY));
    tok(fd);
    OK("invalid utf-8 name");
}
