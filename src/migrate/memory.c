#include "migrate/memory.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "migrate/page_map.h"
#include "topology/home.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- the kernel --- */

/* Each call makes the kernel drain per-CPU lists on every CPU, which costs as much as moving hundreds of pages: few large
 * calls. Inside, the kernel takes the target's memory lock for short stretches only. */
enum { BATCH = 1 << 16, STUCK_MOST = 8, UNREPORTED = INT32_MIN, BLOCK_SHIFT = 21 };

static int kernel_locate(void *context, uint32_t pid, const uint64_t *pages, size_t count, int32_t *homes,
                         struct error *err)
{
    const struct topology *topology = context;
    int code = home_query((pid_t)pid, pages, count, homes, err);
    for (size_t i = 0; code == 0 && i < count; i++)
        if (homes[i] >= 0)
            homes[i] = topology_node_index(topology, homes[i]);
    return code;
}

static int explain(struct error *err, uint32_t pid, int cause)
{
    switch (cause) {
    case ESRCH:
    case EINVAL: /* it has no memory any more: it is just ending */
        return error_set(err, -ESRCH, "process %u has ended", pid);
    case EPERM:
        return error_set(err, -EPERM,
                         "the kernel refuses to move pages of process %u: it must belong to the same user; in a "
                         "container --cap-add SYS_NICE or a seccomp profile that allows move_pages is needed",
                         pid);
    default:
        return error_set(err, -cause, "move_pages on process %u: %s", pid, strerror(cause));
    }
}

struct batch { /* what is left of one, put together at its front */
    uint64_t *pages;
    int *nodes, *status, *now;
    size_t *place; /* in the caller's arrays */
    size_t count;
};

/* One call. The kernel (4.17 and later) gives up at the first page that it cannot move for the moment: it says how many
 * pages are not done, stores no status for that stretch and does not try those behind it. So pages without a status are
 * asked for; what is where it should be is done, the others remain. Returns 0 or why it gave up. */
static int call_kernel(struct batch *batch, uint32_t pid, int32_t *answers, struct error *err)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->status[i] = UNREPORTED;
    long unmoved =
        syscall(SYS_move_pages, (pid_t)pid, batch->count, batch->pages, batch->nodes, batch->status, MPOL_MF_MOVE);
    int cause = unmoved < 0 ? errno : unmoved > 0 ? EBUSY : 0;
    if (cause && home_query((pid_t)pid, batch->pages, batch->count, batch->now, err) < 0)
        return err ? err->code : -cause;
    if (cause == ESRCH || cause == EINVAL || cause == EPERM)
        return explain(err, pid, cause);
    size_t remain = 0;
    for (size_t i = 0; i < batch->count; i++) {
        int answer = batch->status[i];
        if (answer == UNREPORTED && cause)
            answer = batch->now[i] < 0 || batch->now[i] == batch->nodes[i] ? batch->now[i] : UNREPORTED;
        answers[batch->place[i]] = answer;
        if (answer != UNREPORTED)
            continue;
        batch->pages[remain] = batch->pages[i];
        batch->nodes[remain] = batch->nodes[i];
        batch->place[remain++] = batch->place[i];
    }
    batch->count = remain;
    return -cause;
}

/* Until nothing remains. When a call gets nowhere, its first page is what it stumbles over. */
static int move_batch(struct batch *batch, uint32_t pid, int32_t *answers, struct error *err)
{
    unsigned stuck = 0;
    while (batch->count) {
        size_t before = batch->count;
        int code = call_kernel(batch, pid, answers, err);
        if (code == -ESRCH || code == -EPERM)
            return code;
        if (batch->count < before) {
            stuck = 0;
            continue;
        }
        size_t give_up = ++stuck < STUCK_MOST ? 1 : batch->count;
        for (size_t i = 0; i < give_up; i++)
            answers[batch->place[i]] = code ? code : -EBUSY;
        batch->count -= give_up;
        memmove(batch->pages, batch->pages + give_up, batch->count * sizeof *batch->pages);
        memmove(batch->nodes, batch->nodes + give_up, batch->count * sizeof *batch->nodes);
        memmove(batch->place, batch->place + give_up, batch->count * sizeof *batch->place);
    }
    return 0;
}

static void batch_start(struct batch *batch, size_t room)
{
    batch->pages = mem_alloc(room * sizeof *batch->pages);
    batch->nodes = mem_alloc(room * sizeof *batch->nodes);
    batch->status = mem_alloc(room * sizeof *batch->status);
    batch->now = mem_alloc(room * sizeof *batch->now);
    batch->place = mem_alloc(room * sizeof *batch->place);
}

static void batch_end(struct batch *batch)
{
    free(batch->pages);
    free(batch->nodes);
    free(batch->status);
    free(batch->now);
    free(batch->place);
}

static int kernel_move(void *context, uint32_t pid, const uint64_t *pages, const uint32_t *nodes, size_t count,
                       int32_t *answers, struct error *err)
{
    const struct topology *topology = context;
    struct batch batch;
    int code = 0;
    batch_start(&batch, count < BATCH ? count + 1 : BATCH);
    for (size_t done = 0; done < count && code == 0;) {
        batch.count = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < batch.count; i++) {
            batch.pages[i] = pages[done + i];
            batch.nodes[i] = topology->nodes[nodes[done + i]].os_index;
            batch.place[i] = done + i;
        }
        size_t ends = done + batch.count;
        code = move_batch(&batch, pid, answers, err);
        for (size_t i = done; code < 0 && i < count; i++)
            answers[i] = code;
        for (; code == 0 && done < ends; done++)
            if (answers[done] >= 0)
                answers[done] = topology_node_index(topology, answers[done]);
    }
    batch_end(&batch);
    return code;
}

static void kernel_close(void *context)
{
    (void)context;
}

struct memory memory_kernel(const struct topology *topology)
{
    return (struct memory){(void *)topology, kernel_locate, kernel_move, kernel_close};
}

/* --- a simulated machine --- */

struct simulated_process {
    uint32_t pid;
    struct map64 homes;  /* page number, to node */
    struct map64 blocks; /* number of 2 MiB, to the home of the page that faulted there last */
};

struct simulated {
    const struct topology *topology;
    unsigned shift;
    pthread_mutex_t lock;
    array_of(struct simulated_process) processes;
};

static struct simulated_process *simulated_process(struct simulated *machine, uint32_t pid)
{
    array_each (&machine->processes, struct simulated_process, process)
        if (process->pid == pid)
            return process;
    array_push(&machine->processes, (struct simulated_process){.pid = pid});
    return &machine->processes.items[machine->processes.count - 1];
}

/* A fault may bring in a whole huge page: pages beside one that faulted have its home node, as `report` has it. */
static int32_t simulated_home(const struct simulated_process *process, const struct simulated *machine, uint64_t page)
{
    const uint64_t *home = map64_find(&process->homes, page);
    if (!home)
        home = map64_find(&process->blocks, page >> (BLOCK_SHIFT - machine->shift));
    return home ? (int32_t)*home : -ENOENT;
}

static int simulated_locate(void *context, uint32_t pid, const uint64_t *pages, size_t count, int32_t *homes,
                            struct error *err)
{
    struct simulated *machine = context;
    (void)err;
    pthread_mutex_lock(&machine->lock);
    const struct simulated_process *process = simulated_process(machine, pid);
    for (size_t i = 0; i < count; i++)
        homes[i] = simulated_home(process, machine, pages[i] >> machine->shift);
    pthread_mutex_unlock(&machine->lock);
    return 0;
}

static int simulated_move(void *context, uint32_t pid, const uint64_t *pages, const uint32_t *nodes, size_t count,
                          int32_t *answers, struct error *err)
{
    struct simulated *machine = context;
    (void)err;
    pthread_mutex_lock(&machine->lock);
    struct simulated_process *process = simulated_process(machine, pid);
    for (size_t i = 0; i < count; i++) {
        *map64_insert(&process->homes, pages[i] >> machine->shift, NULL) = nodes[i];
        answers[i] = (int32_t)nodes[i];
    }
    pthread_mutex_unlock(&machine->lock);
    return 0;
}

static void simulated_close(void *context)
{
    struct simulated *machine = context;
    array_each (&machine->processes, struct simulated_process, process) {
        map64_free(&process->homes);
        map64_free(&process->blocks);
    }
    array_free(&machine->processes);
    pthread_mutex_destroy(&machine->lock);
    free(machine);
}

struct memory memory_simulated(const struct topology *topology)
{
    struct simulated *machine = mem_zalloc(sizeof *machine);
    machine->topology = topology;
    machine->shift = page_shift();
    pthread_mutex_init(&machine->lock, NULL);
    return (struct memory){machine, simulated_locate, simulated_move, simulated_close};
}

void memory_touch(const struct memory *memory, uint32_t pid, uint64_t addr, uint32_t node, bool fault)
{
    if (memory->close != simulated_close)
        return;
    struct simulated *machine = memory->context;
    pthread_mutex_lock(&machine->lock);
    uint64_t page = addr >> machine->shift;
    struct simulated_process *process = simulated_process(machine, pid);
    if (fault || simulated_home(process, machine, page) < 0) {
        uint64_t home = (uint64_t)topology_home_of_page(machine->topology, page << machine->shift, (int)node);
        *map64_insert(&process->homes, page, NULL) = home;
        if (fault && machine->topology->home == HOME_FIRST_TOUCH)
            *map64_insert(&process->blocks, page >> (BLOCK_SHIFT - machine->shift), NULL) = home;
    }
    pthread_mutex_unlock(&machine->lock);
}

void memory_forget(const struct memory *memory, uint32_t pid)
{
    if (memory->close != simulated_close)
        return;
    struct simulated *machine = memory->context;
    pthread_mutex_lock(&machine->lock);
    struct simulated_process *process = simulated_process(machine, pid);
    map64_free(&process->homes);
    map64_free(&process->blocks);
    pthread_mutex_unlock(&machine->lock);
}
