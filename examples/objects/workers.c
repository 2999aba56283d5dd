/* workers.c - one program in several processes, as a server forks its workers or MPI starts its ranks.
 *     workers --fork [--count=N]        forks N workers (4)
 *     workers --exec [--count=N]        starts itself N times, each with --rank=I, and /bin/true once
 * Truth: each worker I walks a block of its own (`private`) and memory that all share (`shared`, anonymous when forked,
 * the file /dev/shm/numalens-workers-PID when executed), both equally often, and ends with status I; the parent only waits.
 * So each worker gets 1/N of the accesses, and over all of them `private` and `shared` get half each. */
#include "../example.h"
#include "walk.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ITEMS = 32768, PASSES = 2000, MOST = 16 };

static long passes;

static int work(const volatile long *shared, int rank)
{
    long *private = malloc(ITEMS * sizeof *private); /* site: private */
    example_need(private, "malloc");
    memset(private, 1, ITEMS * sizeof *private);
    long total = 0;
    for (long pass = 0; pass < passes; pass++)
        total += walk(private, ITEMS, 1) + walk(shared, ITEMS, 1);
    free(private);
    return total ? rank : 99;
}

static const volatile long *map_shared(int file)
{
    size_t size = ITEMS * sizeof(long);
    int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    long *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0); /* site: shared */
    example_need(shared != MAP_FAILED, "mmap");
    return shared;
}

static pid_t start(const char *program, char **arguments)
{
    pid_t child;
    example_need(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0, "posix_spawn");
    return child;
}

static void execute(char **argv, pid_t *children, int count)
{
    char name[64], rank[32], share[80], *self = realpath("/proc/self/exe", NULL);
    example_need(self, "realpath");
    snprintf(name, sizeof name, "/dev/shm/numalens-workers-%d", (int)getpid());
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    example_need(file >= 0 && ftruncate(file, ITEMS * sizeof(long)) == 0, name);
    close(file);
    snprintf(share, sizeof share, "%s", name);
    for (int i = 0; i < count; i++) {
        snprintf(rank, sizeof rank, "--rank=%d", i);
        children[i] = start(self, (char *[]){argv[0], rank, share, NULL});
    }
    pid_t other = start("/bin/true", (char *[]){"true", NULL});
    waitpid(other, NULL, 0);
    free(self);
}

int main(int argc, char **argv)
{
    int count = (int)example_option(argc, argv, "count", 4), rank = (int)example_option(argc, argv, "rank", -1);
    passes = example_work(argc, argv, "passes", PASSES);
    if (rank >= 0) {
        int file = open(argv[2], O_RDWR | O_CLOEXEC);
        example_need(file >= 0, argv[2]);
        return work(map_shared(file), rank);
    }
    pid_t children[MOST];
    count = count < MOST ? count : MOST;
    if (example_flag(argc, argv, "exec")) {
        execute(argv, children, count);
    } else {
        const volatile long *shared = map_shared(-1);
        for (int i = 0; i < count; i++) {
            children[i] = fork();
            if (children[i] == 0)
                _exit(work(shared, i));
        }
    }
    for (int i = 0; i < count; i++) {
        int status = -1;
        waitpid(children[i], &status, 0);
        printf("worker %d ended with %d\n", i, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    char name[64];
    snprintf(name, sizeof name, "/dev/shm/numalens-workers-%d", (int)getpid());
    unlink(name);
    return 0;
}
