/* handle FILE: prints the file handle of FILE as hexadecimal digits and its type, for a probe that opens it
 * without a path */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv) {
    union {
        struct file_handle head;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle;
    int mount;
    handle.head.handle_bytes = MAX_HANDLE_SZ;
    if (argc != 2 || name_to_handle_at(AT_FDCWD, argv[1], &handle.head, &mount, 0)) {
        perror("handle");
        return 1;
    }
    for (unsigned i = 0; i < handle.head.handle_bytes; i++)
        printf("%02x", handle.head.f_handle[i]);
    printf(" %d\n", handle.head.handle_type);
    return 0;
}
