/* rename of a prepared file over a configuration file: the config changes without being opened */
#include "probe.h"
int main(void) {
    CK(rename(T "/prepared", T "/config"));
    int fd = CK(open(T "/config", O_RDONLY));
    tok(fd);
    OK("config replaced by rename");
}
