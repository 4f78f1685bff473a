/* another thread flips one byte of the path of unlink; which name vanished is the ground truth (it is linked
 * again each time) */
#include "probe.h"
static volatile char path[64] = T "/name_A";
static volatile int stop;
static void *flip(void *x) {
    (void)x;
    size_t i = strlen(T "/name_");
    while (!stop) {
        path[i] = 'B';
        for (volatile int k = 0; k < 20; k++)
            ;
        path[i] = 'A';
        for (volatile int k = 0; k < 20; k++)
            ;
    }
    return 0;
}
int main(void) {
    CK(link(T "/master", T "/name_A"));
    CK(link(T "/master", T "/name_B"));
    pthread_t t;
    pthread_create(&t, 0, flip, 0);
    long a = 0, b = 0;
    double e = now() + 1.5;
    for (int i = 0; i < 600 && now() < e; i++) {
        CK(syscall(SYS_unlink, (char *)path));
        struct stat s;
        if (stat(T "/name_A", &s) < 0) {
            a++;
            CK(link(T "/master", T "/name_A"));
        } else {
            b++;
            CK(link(T "/master", T "/name_B"));
        }
    }
    stop = 1;
    pthread_join(t, 0);
    fact_i("a_unlinks", a);
    fact_i("b_unlinks", b);
    if (!a || !b)
        FAIL("no race a=%ld b=%ld", a, b);
    OK("unlinked A %ld times and B %ld times", a, b);
}
