// What a static program with a runtime of its own does before and while it works: it asks the machine how
// large a huge page is and how many processors there are, reads its own memory map, cgroup and mounts,
// reserves a large arena, runs threads that wait in epoll, and takes random numbers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4

static int poller, wakeup;

static long slurp(const char *path)
{
    char page[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    long total = 0, got;
    while ((got = read(fd, page, sizeof page)) > 0)
        total += got;
    close(fd);
    return total;
}

static void *worker(void *unused)
{
    (void)unused;
    stack_t alternate = { .ss_size = 32768 };
    int how = MAP_PRIVATE | MAP_ANONYMOUS;
    alternate.ss_sp = mmap(NULL, alternate.ss_size, PROT_READ | PROT_WRITE, how, -1, 0);
    sigaltstack(&alternate, NULL);
    struct epoll_event event;
    while (epoll_pwait(poller, &event, 1, -1, NULL) < 0 && errno == EINTR)
        ;
    uint64_t one = 1;
    // The next one's turn.
    if (write(wakeup, &one, sizeof one) != sizeof one)
        return "cannot wake";
    return NULL;
}

int main(void)
{
    const char *asked[] = {
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        "/proc/self/auxv",
        "/proc/self/maps",
        "/proc/self/cgroup",
        "/proc/self/mountinfo",
        "/sys/fs/cgroup/cpu.max",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
        "/etc/localtime",
    };
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++)
        slurp(asked[i]);
    if (slurp("/proc/self/maps") <= 0)
        return 2;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    void *arena = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED || mprotect(arena, 4 << 20, PROT_READ | PROT_WRITE))
        return 3;
    madvise(arena, 4 << 20, MADV_NOHUGEPAGE);
    memset(arena, 1, 4 << 20);

    poller = epoll_create1(EPOLL_CLOEXEC);
    wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE };
    if (poller < 0 || wakeup < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, wakeup, &event))
        return 4;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL))
            return 5;
    uint64_t one = 1;
    if (write(wakeup, &one, sizeof one) != sizeof one)
        return 6;
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        if (pthread_join(threads[i], &wrong) || wrong)
            return 7;
    }
    unsigned char random[8];
    struct timespec pause = { 0, 1000000 };
    nanosleep(&pause, NULL);
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return 8;
    // Preemption by a signal to oneself.
    signal(SIGURG, SIG_IGN);
    syscall(SYS_tgkill, getpid(), gettid(), SIGURG);
    puts("worked");
    return 0;
}
