// A system call that seccomp answers: the kernel opens nothing, yet the caller gets a descriptor number.
//
// The child asks for /etc/asked; the parent, its seccomp supervisor, answers with the number of a descriptor that the
// child had before, of /etc/decoy.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void send_descriptor(int channel, int fd) {
    char room[CMSG_SPACE(sizeof fd)] = {0}, byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    if (sendmsg(channel, &message, 0) < 0) die("sendmsg");
}

static int receive_descriptor(int channel) {
    char room[CMSG_SPACE(sizeof(int))], byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    int fd;
    if (recvmsg(channel, &message, 0) != 1) die("recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void ask(int channel) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    int decoy = open("/etc/decoy", O_RDONLY);
    if (decoy != 20 && dup2(decoy, 20) != 20) die("dup2");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die("prctl");
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) die("seccomp");
    send_descriptor(channel, listener);
    _exit(syscall(SYS_openat, AT_FDCWD, "/etc/asked", O_RDONLY) == 20 ? 0 : 1);
}

int main(void) {
    int channel[2], status;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel)) die("socketpair");
    if (fork() == 0) ask(channel[1]);
    int listener = receive_descriptor(channel[0]);
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) die("receive");
    struct seccomp_notif_resp answer = {.id = call.id, .val = 20};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer)) die("answer");
    wait(&status);
    return status != 0;
}
