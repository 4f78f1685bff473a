// Two threads on two CPUs, one acts and the other changes what it acts on.
//
//   races descriptor   opens /etc/asked while the other puts /etc/decoy under the same number
//   races datagram     both connect one UDP socket, to port 1111 and to port 2222
//   races rename       opens f in a directory while the other moves it between /tmp/a/x and /tmp/b/y
//
// Prints how often each happened: "FIRST SECOND".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20000, NUMBER = 10 };
static volatile int stop, round_now;
static int decoy, shared_socket;
static long second;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int connect_to(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(shared_socket, (struct sockaddr *)&to, sizeof to);
}

static void *swap(void *unused) {
    pin(1);
    for (int seen = 0; !stop;) {
        if (round_now == seen) continue;
        seen = round_now;
        for (volatile int wait = 0; wait < seen % 2000; wait++) {}
        dup2(decoy, NUMBER);
    }
    return unused;
}

static void *reconnect(void *unused) {
    pin(1);
    for (int i = 0; i < ROUNDS; i++)
        if (connect_to(2222) == 0) second++;
    return unused;
}

static void *move(void *unused) {
    pin(1);
    while (!stop) {
        if (rename("/tmp/a/x", "/tmp/b/y") || rename("/tmp/b/y", "/tmp/a/x")) die("rename");
        second++;
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t other;
    long first = 0;
    if (count != 2) return 2;
    pin(0);
    if (!strcmp(words[1], "descriptor")) {
        decoy = open("/etc/decoy", O_RDONLY);
        for (int fd = decoy; fd < NUMBER - 1;) fd = dup(decoy);
        pthread_create(&other, NULL, swap, NULL);
        for (int i = 0; i < ROUNDS; i++) {
            round_now++;
            int fd = open("/etc/asked", O_RDONLY);
            if (fd < 0) die("open");
            first += fd == NUMBER;
            for (volatile int wait = 0; wait < 2500; wait++) {}
            close(fd);
            close(NUMBER);
        }
    } else if (!strcmp(words[1], "datagram")) {
        shared_socket = socket(AF_INET, SOCK_DGRAM, 0);
        pthread_create(&other, NULL, reconnect, NULL);
        for (int i = 0; i < ROUNDS; i++)
            if (connect_to(1111) == 0) first++;
    } else {
        mkdir("/tmp/a", 0755), mkdir("/tmp/b", 0755), mkdir("/tmp/a/x", 0755);
        int folder = open("/tmp/a/x", O_PATH | O_DIRECTORY);
        close(openat(folder, "f", O_CREAT | O_WRONLY, 0644));
        pthread_create(&other, NULL, move, NULL);
        for (int i = 0; i < ROUNDS; i++, first++) close(openat(folder, "f", O_RDONLY));
    }
    stop = 1;
    pthread_join(other, NULL);
    printf("%ld %ld\n", first, second);
    return 0;
}
