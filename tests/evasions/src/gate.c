/* gate - pid 1 of a probe container: waits for SIGUSR1 (so that an observer can attach first), then runs
 * argv[1..] as a child and returns its exit code. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int c, char **v) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_BLOCK, &s, 0);
    if (getenv("REI_GATE")) {
        if (write(2, "GATE-READY\n", 11) < 0) {
        }
        int n;
        sigwait(&s, &n);
    }
    sigprocmask(SIG_UNBLOCK, &s, 0);
    signal(SIGUSR1, SIG_IGN);
    if (c < 2)
        return 2;
    pid_t p = fork();
    if (!p) {
        signal(SIGUSR1, SIG_DFL);
        unsetenv("REI_GATE");
        execv(v[1], v + 1);
        _exit(127);
    }
    int st, code = 1;
    for (;;) {
        pid_t w = wait(&st);
        if (w < 0)
            break;
        if (w == p) {
            code = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
            break;
        }
    }
    /* reap whatever was reparented to us for a short while, so that daemonised grandchildren can finish */
    for (int i = 0; i < 100; i++) {
        pid_t w = waitpid(-1, &st, WNOHANG);
        if (w < 0)
            break;
        if (w == 0)
            usleep(10000);
    }
    return code;
}
