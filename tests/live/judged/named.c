// Copies itself under the names that it is given, runs each copy, from the image and from where it was
// written, and each copy reads a file that the engine mounts: `named NAME...`. A copy is called with one
// argument, `act`.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int act(void)
{
    return open("/etc/hostname", O_RDONLY) < 0;
}

static int run(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, "act", (char *)NULL);
        _exit(127);
    }
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static int copy(const char *path)
{
    static char page[65536];
    int from = open("/app/named", O_RDONLY);
    // Executable at once: nothing else has to be changed later.
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
    ssize_t got;
    while ((got = read(from, page, sizeof page)) > 0)
        if (write(to, page, got) != got)
            return 1;
    return from < 0 || to < 0 || got < 0 || close(from) || close(to);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "act") == 0)
        return act();
    for (int i = 1; i < argc; i++) {
        char image[256], written[256];
        snprintf(image, sizeof image, "/app/%s", argv[i]);
        snprintf(written, sizeof written, "/tmp/%s", argv[i]);
        if (run(image) || copy(written) || run(written))
            return 1;
    }
    puts("ran");
    return 0;
}
