/* probe.h - what every probe needs.
 * Every probe: does ONE identifiable thing, checks itself that it really happened,
 * prints one JSON line and exits 0 (happened), 77 (not available here), other (failed). */
#ifndef PROBE_H
#define PROBE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <poll.h>
#include <pthread.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#ifndef PROBE_ID
#define PROBE_ID "unnamed"
#endif
#ifndef PORT
#define PORT 0
#endif
#define T "/t/" PROBE_ID /* this probe's own fixture directory */
#define TOKEN "REI-TOKEN " PROBE_ID "\n"
#define NETTOK "REI-NET " PROBE_ID

static char P_facts[1024]; /* extra JSON members: ,"k":v */
static void fact_i(const char *k, long v) {
    size_t n = strlen(P_facts);
    snprintf(P_facts + n, sizeof P_facts - n, ",\"%s\":%ld", k, v);
}
static void fact_s(const char *k, const char *v) {
    size_t n = strlen(P_facts);
    snprintf(P_facts + n, sizeof P_facts - n, ",\"%s\":\"%s\"", k, v);
}
static void finish(int code, const char *st, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
static void finish(int code, const char *st, const char *fmt, ...) {
    char d[512];
    va_list a;
    va_start(a, fmt);
    vsnprintf(d, sizeof d, fmt, a);
    va_end(a);
    for (char *p = d; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 32)
            *p = '\'';
    char o[2048];
    int n = snprintf(o, sizeof o, "{\"id\":\"%s\",\"status\":\"%s\",\"detail\":\"%s\"%s}\n", PROBE_ID, st, d,
                     P_facts);
    if (write(1, o, n) < 0) {
    }
    _exit(code);
}
#define OK(...) finish(0, "ok", __VA_ARGS__)
#define SKIP(...) finish(77, "skip", __VA_ARGS__)
#define FAIL(...) finish(1, "fail", __VA_ARGS__)
#define CK(x)                                                      \
    ({                                                             \
        __typeof__(x) _r = (x);                                    \
        if ((long)_r < 0)                                          \
            FAIL("%s: errno %d (%s)", #x, errno, strerror(errno)); \
        _r;                                                        \
    })
#define ENV_CK(x)                                                                              \
    ({                                                                                         \
        __typeof__(x) _r = (x);                                                                \
        if ((long)_r < 0) {                                                                    \
            if (errno == EPERM || errno == ENOSYS || errno == EACCES || errno == EOPNOTSUPP || \
                errno == EAFNOSUPPORT)                                                         \
                SKIP("%s: errno %d (%s)", #x, errno, strerror(errno));                         \
            FAIL("%s: errno %d (%s)", #x, errno, strerror(errno));                             \
        }                                                                                      \
        _r;                                                                                    \
    })

static inline void is_tok_buf(const char *b, ssize_t n) {
    if (n < (ssize_t)strlen(TOKEN) || memcmp(b, TOKEN, strlen(TOKEN)))
        FAIL("token mismatch (%zd bytes)", n);
}
static inline void tok(int fd) {
    char b[256];
    ssize_t n = read(fd, b, sizeof b);
    if (n < 0)
        FAIL("read: %s", strerror(errno));
    is_tok_buf(b, n);
}
static inline void msleep(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, 0);
}
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
/* hard bound: no probe outlives this, whatever an observer does to it */
__attribute__((constructor)) static void P_bound(void) { alarm(10); }
static inline int wait_usr2(void) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigprocmask(SIG_BLOCK, &s, 0);
    alarm(70);
    if (write(2, "PRE-READY\n", 10) < 0) {
    }
    double e = now() + 60;
    for (;;) {
        double l = e - now();
        if (l <= 0)
            return -1;
        struct timespec t = {(time_t)l, 0};
        int r = sigtimedwait(&s, 0, &t);
        if (r > 0)
            return r;
        if (errno != EINTR)
            return -1;
    }
}
static inline int wexit(pid_t p) {
    int s;
    if (waitpid(p, &s, 0) < 0)
        FAIL("waitpid: %s", strerror(errno));
    return WIFEXITED(s) ? WEXITSTATUS(s) : -WTERMSIG(s);
}
static inline void want42(pid_t p) {
    int e = wexit(p);
    if (e != 42)
        FAIL("target program did not run: exit %d", e);
}
extern char **environ;

/* network helpers: loopback only */
static inline struct sockaddr_in sa4(int port) {
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return a;
}
static inline void tmo(int fd) {
    struct timeval tv = {1, 500000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
}
static inline int lst4(int port) {
    int s = CK(socket(AF_INET, SOCK_STREAM, 0));
    int one = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in a = sa4(port);
    CK(bind(s, (void *)&a, sizeof a));
    CK(listen(s, 16));
    tmo(s);
    return s;
}
static inline int udp4(int port) {
    int s = CK(socket(AF_INET, SOCK_DGRAM, 0));
    struct sockaddr_in a = sa4(port);
    CK(bind(s, (void *)&a, sizeof a));
    tmo(s);
    return s;
}
static inline void got_net(int s) {
    char b[128];
    ssize_t n = recv(s, b, sizeof b, 0);
    if (n < (ssize_t)strlen(NETTOK) || memcmp(b, NETTOK, strlen(NETTOK)))
        FAIL("peer did not receive the token (%zd, errno %d)", n, errno);
}
static inline int got_conn(int l) {
    int c = accept(l, 0, 0);
    if (c < 0)
        FAIL("accept: %s", strerror(errno));
    tmo(c);
    return c;
}

/* a path (or any blob) placed in a file-backed page that is NOT resident: a non-sleeping BPF
 * probe_read_user at sys_enter cannot read it, the kernel's own copy faults it in and can. */
static inline char *cold_page(const char *file) {
    int fd = CK(open(file, O_RDONLY));
    char *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        FAIL("mmap cold page");
    close(fd);
    madvise(p, 4096, MADV_DONTNEED);
    return p;
}
static inline long i80(long n, long a, long b, long c, long d) {
    long r;
    __asm__ volatile("int $0x80"
                     : "=a"(r)
                     : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d)
                     : "memory", "r8", "r9", "r10", "r11");
    return r;
}
static inline void *low_page(void) {
    void *p = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (p == MAP_FAILED)
        FAIL("low mmap");
    return p;
}
#endif
