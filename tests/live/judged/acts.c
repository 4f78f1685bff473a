// Opens what a list says, one after the other, and prints how each ended: `acts LIST`. A line of the list is
// flags (r and w for reading and writing, c create, t truncate, a append, d directory) and a path. `fd:pipe`
// reopens a pipe by its descriptor; `/proc/child` stands for a child that does nothing, whose number is the
// first line of the output.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int flags_of(const char *letters)
{
    int reads = strchr(letters, 'r') != NULL, writes = strchr(letters, 'w') != NULL;
    int flags = O_NONBLOCK | O_NOCTTY | (reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY);
    if (strchr(letters, 'c'))
        flags |= O_CREAT;
    if (strchr(letters, 't'))
        flags |= O_TRUNC;
    if (strchr(letters, 'a'))
        flags |= O_APPEND;
    if (strchr(letters, 'd'))
        flags |= O_DIRECTORY;
    return flags;
}

static const char *name_of(int error)
{
    static char other[16];
    switch (error) {
    case 0: return "ok";
    case EACCES: return "EACCES";
    case EBUSY: return "EBUSY";
    case EINVAL: return "EINVAL";
    case EISDIR: return "EISDIR";
    case ENOENT: return "ENOENT";
    case ENOTDIR: return "ENOTDIR";
    case ENXIO: return "ENXIO";
    case EPERM: return "EPERM";
    case EROFS: return "EROFS";
    }
    snprintf(other, sizeof other, "E%d", error);
    return other;
}

int main(int argc, char **argv)
{
    char letters[16], shown[512], path[640];
    int ends[2];
    FILE *list = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!list || pipe(ends))
        return 1;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    if (child < 0)
        return 2;
    printf("%d\n", child);
    // So that /dev/stdin leads nowhere.
    close(0);
    while (fscanf(list, "%15s %511s", letters, shown) == 2) {
        strcpy(path, shown);
        if (strcmp(shown, "fd:pipe") == 0)
            snprintf(path, sizeof path, "/proc/self/fd/%d", strchr(letters, 'w') ? ends[1] : ends[0]);
        if (strncmp(shown, "/proc/child", 11) == 0)
            snprintf(path, sizeof path, "/proc/%d%s", child, shown + 11);
        int fd = open(path, flags_of(letters), 0644);
        printf("%s %s %s\n", fd < 0 ? name_of(errno) : "ok", letters, shown);
        if (fd >= 0)
            close(fd);
    }
    kill(child, SIGKILL);
    return 0;
}
