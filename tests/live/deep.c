/* deep COUNT LENGTH: makes COUNT nested directories below /deep, each with a name of LENGTH bytes, and opens the file
 * "end" in the last one. Each step starts from the directory before it, so no text is ever longer than one name. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int count = atoi(argv[1]);
    char name[256] = "";
    memset(name, 'd', atoi(argv[2]) & 255);
    int at = open("/deep", O_PATH | O_DIRECTORY);
    for (int i = 0; i < count && at >= 0; i++) {
        mkdirat(at, name, 0700);
        int next = openat(at, name, O_PATH | O_DIRECTORY);
        close(at);
        at = next;
    }
    if (at < 0 || openat(at, "end", O_CREAT | O_RDWR, 0600) < 0) {
        perror("deep");
        return 1;
    }
    return 0;
}
