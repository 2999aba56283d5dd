/* throughput.c - what moving pages costs: numalens' mover against a bare move_pages over the same pages.
 *     throughput PASSES
 * Prints "pages N from N to N bare_ns T mover_ns T": the minimum of PASSES, which alternate. For a machine with several
 * nodes; under an emulator that counts instructions a nanosecond is one. */
#include "base/clock.h"
#include "base/mem.h"
#include "migrate/mover.h"

#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 16384 };

static const size_t counts[] = {16, 64, 256, 1024, 4096, MOST};
static const uint32_t ways[][2] = {{0, 1}, {0, 3}, {3, 0}};

static void need(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static uint64_t move_bare(char *array, size_t count, uint32_t to)
{
    static void *pages[MOST];
    static int nodes[MOST], status[MOST];
    for (size_t i = 0; i < count; i++) {
        pages[i] = array + i * PAGE;
        nodes[i] = (int)to;
    }
    uint64_t start = clock_now_ns();
    long left = syscall(SYS_move_pages, 0, count, pages, nodes, status, MPOL_MF_MOVE);
    uint64_t took = clock_now_ns() - start;
    need(left == 0, "move_pages");
    return took;
}

static uint64_t move_planned(char *array, size_t count, uint32_t from, uint32_t to, const struct memory *memory)
{
    struct plan plan = {.items = mem_alloc(count * sizeof *plan.items), .count = count, .capacity = count};
    struct history *history = history_new(MOST);
    struct moved moved = {0};
    for (size_t i = 0; i < count; i++)
        plan.items[i] = (struct plan_move){
            .page = (uintptr_t)(array + i * PAGE), .bytes = PAGE, .pid = (uint32_t)getpid(), .from = from, .to = to};
    uint64_t start = clock_now_ns();
    mover_run(&moved, &plan, memory, history, 1);
    uint64_t took = clock_now_ns() - start;
    need(moved.pages == count, "mover_run");
    history_free(history);
    plan_free(&plan);
    return took;
}

/* The first calls after a boot wait for other CPUs to hand over pages they have just got. */
static void warm_up(void)
{
    enum { COUNT = 64, TIMES = 50 };
    static char array[COUNT * PAGE] __attribute__((aligned(PAGE))) = {1};
    memset(array, 1, sizeof array);
    for (uint32_t i = 0; i < TIMES; i++)
        move_bare(array, COUNT, i % 2);
}

static void measure(size_t count, uint32_t from, uint32_t to, const struct memory *memory, long rounds)
{
    uint64_t bare = UINT64_MAX, planned = UINT64_MAX;
    char *array = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(array != MAP_FAILED, "mmap");
    memset(array, 1, count * PAGE);
    for (long i = 0; i < rounds; i++) {
        move_bare(array, count, from);
        uint64_t took = move_bare(array, count, to);
        bare = took < bare ? took : bare;
        move_bare(array, count, from);
        took = move_planned(array, count, from, to, memory);
        planned = took < planned ? took : planned;
    }
    printf("pages %zu from %u to %u bare_ns %lu mover_ns %lu\n", count, from, to, (unsigned long)bare,
           (unsigned long)planned);
    munmap(array, count * PAGE);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    long rounds = argc > 1 ? atol(argv[1]) : 3;
    if (!topology || topology->node_count < 4) {
        fprintf(stderr, "throughput: %s\n", topology ? "four nodes are needed" : err.text);
        return 1;
    }
    struct memory memory = memory_kernel(topology);
    warm_up();
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            measure(counts[i], ways[way][0], ways[way][1], &memory, rounds);
    memory.close(memory.context);
    topology_free(topology);
    return 0;
}
