/* exec by a non-leader thread: the tid changes to the tgid in the middle */
#include "probe.h"
static void *th(void *x) {
    (void)x;
    msleep(20);
    execl(T "/prog", "prog", (char *)0);
    _exit(127);
    return 0;
}
int main(void) {
    pid_t c = CK(fork());
    if (!c) {
        pthread_t t;
        pthread_create(&t, 0, th, 0);
        for (;;)
            pause();
    }
    want42(c);
    fact_i("pid", c);
    OK("exec by a non-leader thread");
}
