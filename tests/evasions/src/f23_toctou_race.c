/* a second thread flips one byte of the path argument all the time; ground truth comes from the content that
 * was read */
#include "probe.h"
static volatile char path[64] = T "/file_A";
static volatile int stop;
static void *flip(void *x) {
    (void)x;
    size_t i = strlen(T "/file_");
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
    pthread_t t;
    pthread_create(&t, 0, flip, 0);
    long a = 0, b = 0;
    double e = now() + 1.5;
    for (int i = 0; i < 3000 && now() < e; i++) {
        int fd = open((char *)path, O_RDONLY);
        if (fd < 0)
            FAIL("open");
        char c[32];
        ssize_t n = read(fd, c, sizeof c);
        close(fd);
        if (n < 1)
            FAIL("read");
        if (c[0] == 'A')
            a++;
        else
            b++;
    }
    stop = 1;
    pthread_join(t, 0);
    fact_i("a_opens", a);
    fact_i("b_opens", b);
    if (!a || !b)
        FAIL("no race: a=%ld b=%ld", a, b);
    OK("opened A %ld times and B %ld times", a, b);
}
