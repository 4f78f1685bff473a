// Arguments whose upper half is not zero: the kernel takes the low half only.
//
//   dirty open      open /etc/asked with a number whose upper half is 1
//   dirty family    make a packet socket with a family whose upper half is 1
//   dirty icmp      make a datagram socket of ICMP, and send an echo request to 127.0.0.1
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

int main(int count, char **words) {
    const long dirt = 1L << 32;
    if (count != 2) return 2;
    if (!strcmp(words[1], "open")) return call(dirt | SYS_open, (long)"/etc/asked", O_RDONLY, 0) < 0;
    if (!strcmp(words[1], "family")) return call(SYS_socket, dirt | AF_PACKET, SOCK_RAW, 0) < 0;
    int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char echo[8] = {8};
    return fd < 0 || sendto(fd, echo, sizeof echo, 0, (struct sockaddr *)&to, sizeof to) < 0;
}
