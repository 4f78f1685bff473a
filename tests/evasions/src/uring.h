/* uring.h - minimal raw io_uring (no liburing), one SQE at a time */
#ifndef URING_H
#define URING_H
#include "probe.h"
#include <linux/io_uring.h>
#ifndef IORING_SETUP_SQPOLL
#define IORING_SETUP_SQPOLL (1U << 1)
#endif
#ifndef IORING_FILE_INDEX_ALLOC
#define IORING_FILE_INDEX_ALLOC (~0U)
#endif
#define OP_SOCKET 45
struct ring {
    int fd;
    unsigned flags;
    struct io_uring_params p;
    char *sq, *cq;
    struct io_uring_sqe *sqes;
    unsigned *sqt, *sqm, *sqa, *cqh, *cqt, *cqm, *sqf;
    struct io_uring_cqe *cqes;
};
static struct ring ring_new(unsigned flags) {
    struct ring r;
    memset(&r, 0, sizeof r);
    r.flags = flags;
    r.p.flags = flags;
    r.p.sq_thread_idle = 2000;
    r.fd = syscall(SYS_io_uring_setup, 8, &r.p);
    if (r.fd < 0) {
        if (errno == EPERM || errno == ENOSYS)
            SKIP("io_uring_setup: %s", strerror(errno));
        FAIL("io_uring_setup: %s", strerror(errno));
    }
    size_t sz = r.p.sq_off.array + r.p.sq_entries * 4,
           cz = r.p.cq_off.cqes + r.p.cq_entries * sizeof(struct io_uring_cqe);
    if (cz > sz)
        sz = cz;
    r.sq = mmap(0, sz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r.fd, IORING_OFF_SQ_RING);
    r.cq = r.sq;
    r.sqes = mmap(0, r.p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, r.fd, IORING_OFF_SQES);
    if (r.sq == MAP_FAILED || (void *)r.sqes == MAP_FAILED)
        FAIL("ring mmap");
    r.sqt = (void *)(r.sq + r.p.sq_off.tail);
    r.sqm = (void *)(r.sq + r.p.sq_off.ring_mask);
    r.sqa = (void *)(r.sq + r.p.sq_off.array);
    r.sqf = (void *)(r.sq + r.p.sq_off.flags);
    r.cqh = (void *)(r.cq + r.p.cq_off.head);
    r.cqt = (void *)(r.cq + r.p.cq_off.tail);
    r.cqm = (void *)(r.cq + r.p.cq_off.ring_mask);
    r.cqes = (void *)(r.cq + r.p.cq_off.cqes);
    return r;
}
static int ring_do(struct ring *r, struct io_uring_sqe *s) {
    unsigned t = *r->sqt, i = t & *r->sqm;
    r->sqes[i] = *s;
    r->sqa[i] = i;
    __atomic_store_n(r->sqt, t + 1, __ATOMIC_RELEASE);
    if (r->flags & IORING_SETUP_SQPOLL) {
        if (__atomic_load_n(r->sqf, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
            syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, 0, 0);
        double e = now() + 1.5;
        while (__atomic_load_n(r->cqt, __ATOMIC_ACQUIRE) == *r->cqh) {
            if (now() > e)
                FAIL("cqe timeout");
            sched_yield();
        }
    } else {
        long n = syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0);
        if (n < 0)
            FAIL("io_uring_enter: %s", strerror(errno));
    }
    unsigned h = *r->cqh;
    int res = r->cqes[h & *r->cqm].res;
    __atomic_store_n(r->cqh, h + 1, __ATOMIC_RELEASE);
    return res;
}
static inline void ring_files(struct ring *r, int n) {
    int fds[16];
    for (int i = 0; i < n; i++)
        fds[i] = -1;
    if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, fds, n) < 0)
        FAIL("register files: %s", strerror(errno));
}
#endif
