/* 1500 fork+exec of a noise program (bounded to 3 s), the one interesting exec in the middle */
#include "probe.h"
int main(void) {
    char *v[] = {"x", 0};
    int n = 0, did = 0;
    double b = now(), e = b + 3;
    for (int i = 0; i < 1500 && now() < e; i++) {
        int mid = (i == 700) || (!did && now() > b + 1.5);
        pid_t c = CK(vfork());
        if (!c) {
            execve(mid ? T "/prog" : T "/noise", v, environ);
            _exit(127);
        }
        int x = wexit(c);
        if (mid) {
            if (x != 42)
                FAIL("exit %d", x);
            did = 1;
        } else
            n++;
    }
    if (!did)
        FAIL("no time");
    fact_i("noise_execs", n);
    OK("prog executed among %d noise execs", n);
}
