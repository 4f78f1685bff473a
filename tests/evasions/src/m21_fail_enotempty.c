/* rmdir of a non-empty directory fails: nothing changed */
#include "probe.h"
int main(void) {
    if (rmdir(T "/full") == 0)
        FAIL("removed");
    if (errno != ENOTEMPTY)
        FAIL("errno %d", errno);
    fact_i("errno", errno);
    OK("ENOTEMPTY");
}
