#include "topology/hwloc_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The largest machines make some 10 MiB of XML. A CPU's number alone can make hwloc take 512 MiB. */
enum { FILE_MOST = 64 << 20, CHILD_MEMORY = 1 << 30, CHILD_SECONDS = 30 };

static const char remedy[] = "write one with 'lstopo FILE.xml'";

char *hwloc_file_read(FILE *in, const char *path, struct error *err)
{
    size_t size = 1 << 16, length = 0, got;
    char *text = mem_alloc(size);
    while ((got = fread(text + length, 1, size - length - 1, in)) > 0 && length + got < FILE_MOST) {
        length += got;
        if (length == size - 1)
            text = mem_resize(text, size *= 2);
    }
    text[length] = '\0';
    if (got == 0 && !ferror(in) && strlen(text) == length)
        return text;
    if (ferror(in))
        error_set(err, -errno, "cannot read %.300s: %s", path, strerror(errno));
    else
        error_set(err, -EINVAL, "%.300s: %s", path,
                  got ? "larger than 64 MiB, and no topology is" : "not a text: it has bytes of 0");
    free(text);
    return NULL;
}

static hwloc_topology_t load(const char *text, enum hwloc_type_filter_e caches)
{
    hwloc_topology_t hwloc;
    if (hwloc_topology_init(&hwloc) != 0)
        return NULL;
    hwloc_topology_set_cache_types_filter(hwloc, caches);
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_set_xmlbuffer(hwloc, text, (int)strlen(text) + 1) == 0 && hwloc_topology_load(hwloc) == 0)
        return hwloc;
    hwloc_topology_destroy(hwloc);
    return NULL;
}

/* In the child: nothing of the caller's gets in the way of the limits, and hwloc's own messages are not seen. */
static void confine(void)
{
    static const int deadly[] = {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(CHILD_SECONDS);
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    unsigned long pages; /* mapped already: more than any limit with a sanitizer */
    FILE *own = fopen("/proc/self/statm", "re");
    if (own && fscanf(own, "%lu", &pages) == 1) {
        rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + CHILD_MEMORY;
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
}

/* Whether a child loaded it: true or false; negative when it did not live to say so. */
static int try_in_child(const char *text, enum hwloc_type_filter_e caches)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        confine();
        char loaded = load(text, caches) != NULL;
        _exit(write(ends[1], &loaded, 1) != 1);
    }
    close(ends[1]);
    char loaded = 0;
    ssize_t got;
    while ((got = read(ends[0], &loaded, 1)) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return got == 1 ? loaded : -EIO;
}

/* hwloc's own reader takes some files that end early. */
static bool ends_whole(const char *text)
{
    static const char last[] = "</topology>";
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    return length >= sizeof last - 1 && memcmp(text + length - (sizeof last - 1), last, sizeof last - 1) == 0;
}

hwloc_topology_t hwloc_file_load(const char *text, const char *path, enum hwloc_type_filter_e caches, struct error *err)
{
    if (!ends_whole(text)) {
        error_set(err, -EINVAL,
                  "%.300s: no topology of hwloc, or one that ends early: </topology> is not at its end; %s", path,
                  remedy);
        return NULL;
    }
    int loaded = try_in_child(text, caches);
    hwloc_topology_t hwloc = loaded > 0 ? load(text, caches) : NULL;
    if (!hwloc)
        error_set(err, -EINVAL, "%.300s: %s; %s", path,
                  loaded < 0 ? "hwloc crashed on it, or took more than 1 GiB or 30 s: it is damaged"
                             : "hwloc does not understand it: it is damaged, or no topology",
                  remedy);
    return hwloc;
}
