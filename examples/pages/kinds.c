/* Memory of every kind, each written for a while by one thread: shared without a name, a memfd, a file that is shared, a
 * file of one's own, and private memory that a child inherits. The child writes the second half of that and of what is
 * shared, while its parent waits; then a file that may only be read is read. */
#include "pages.h"

#include <sys/wait.h>

static volatile char *map(const char *name, size_t pages, int prot, int flags, int fd)
{
    char *start = mmap(NULL, pages * PAGE, prot, flags, fd, 0);
    example_need(start != MAP_FAILED, name);
    if (fd < 0)
        madvise(start, pages * PAGE, MADV_NOHUGEPAGE);
    printf("truth array=%s start=%#lx pages=%zu\n", name, (unsigned long)(uintptr_t)start, pages);
    return start;
}

int main(int argc, char **argv)
{
    size_t pages = (size_t)example_option(argc, argv, "pages", 64), half = pages / 2;
    uint64_t ms = (uint64_t)example_option(argc, argv, "ms", 300);
    char path[] = "pages_kinds.XXXXXX";
    pages_idle(argc, argv);
    int file = mkstemp(path), memfd = memfd_create("kinds", 0);
    unlink(path);
    example_need(file >= 0 && ftruncate(file, (off_t)(pages * PAGE)) == 0, path);
    example_need(memfd >= 0 && ftruncate(memfd, (off_t)(pages * PAGE)) == 0, "memfd");
    const int both = PROT_READ | PROT_WRITE;
    struct {
        const char *name;
        volatile char *start;
    } arrays[] = {{"shared", map("shared", pages, both, MAP_SHARED | MAP_ANONYMOUS, -1)},
                  {"memfd", map("memfd", pages, both, MAP_SHARED, memfd)},
                  {"file", map("file", pages, both, MAP_SHARED, file)},
                  {"own_file", map("own_file", pages, both, MAP_PRIVATE, file)},
                  {"inherited", map("inherited", pages, both, MAP_PRIVATE | MAP_ANONYMOUS, -1)}};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    for (int i = 0; i < ARRAYS; i++)
        pages_run(&(struct pages_use){arrays[i].name, arrays[i].start, 0, half, false, true, pages_now_ms() + ms, i});
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < ARRAYS; i++)
            pages_run(&(struct pages_use){arrays[i].name, arrays[i].start, half, pages - half, false, true,
                                          pages_now_ms() + ms, ARRAYS + i});
        fflush(stdout);
        _exit(0);
    }
    int status;
    example_need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    volatile char *read_only = map("read_only", pages, PROT_READ, MAP_PRIVATE, file);
    usleep(120000); /* so that the recorder knows it */
    pages_run(&(struct pages_use){"read_only", read_only, 0, pages, true, false, pages_now_ms() + ms, 2 * ARRAYS});
    return 0;
}
