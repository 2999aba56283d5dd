/* far_initialised.c - one grid of which each thread works on its own part.
 *
 * bad: the main thread fills the whole grid, so all of it is on the main thread's node.
 * good: each worker fills its part, so each part is on the node of the thread that works on it.
 *
 * The grid is on the heap; with --shm in shared memory, with --sysv in a segment of System V without a key, with --file in a file
 * that is mapped.
 *
 * Equal work does not take equal time on a machine that does other things too. With --cpu-ms=N each worker works for N ms of its
 * CPU time instead: then the workers' shares of the samples are equal by construction. */
#include "team.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { PART = 1 << 20 };

static long *grid;
static long cpu_ms;

/* Mapped from something that has a name. */
static long *map_grid(int fd, size_t bytes)
{
    example_need(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "making the grid");
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    example_need(mapped != MAP_FAILED, "mmap");
    close(fd);
    return mapped;
}

/* It ends with the process. */
static long *attach_grid(size_t bytes)
{
    int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    void *attached = shmat(id, NULL, 0); /* site: segment */
    example_need(attached != (void *)-1, "shmat");
    shmctl(id, IPC_RMID, NULL);
    return attached;
}

static long compute(size_t number)
{
    long *part = grid + (number - 1) * PART;
    if (team_mode("good"))
        team_fill(part, PART);
    if (cpu_ms) {
        team_use_for(cpu_ms, part, PART, number);
        return 0;
    }
    return team_use(part, PART, team.rounds, number);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 12000000);
    cpu_ms = example_work(argc, argv, "cpu-ms", 0);
    size_t bytes = team.size * PART * sizeof *grid;
    bool shared = example_flag(argc, argv, "shm"), mapped = example_flag(argc, argv, "file");
    bool segment = example_flag(argc, argv, "sysv");
    if (shared)
        grid = map_grid(shm_open("/far_initialised", O_RDWR | O_CREAT, 0600), bytes);
    else if (mapped)
        grid = map_grid(open("far_initialised.bin", O_RDWR | O_CREAT, 0600), bytes);
    else if (segment)
        grid = attach_grid(bytes);
    else
        grid = malloc(bytes); /* site: grid */
    example_need(grid, "malloc");
    if (team_mode("bad"))
        team_fill(grid, team.size * PART);
    team_run(compute);
    if (shared)
        shm_unlink("/far_initialised");
    else if (mapped)
        unlink("far_initialised.bin");
    else if (!segment)
        free(grid);
    return 0;
}
