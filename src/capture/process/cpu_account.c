#include "capture/process/cpu_account.h"

#include "capture/process/procfs.h"

enum { LOOKS_MOST = 64 }; /* processes a look, on average: each costs a file of /proc */

static void look(struct cpu_account *account, bool all)
{
    const struct process_table *processes = account->processes;
    const struct map64 *map = &processes->by_pid;
    if (!all && ++account->rested * LOOKS_MOST < map->count)
        return;
    account->rested = 0;
    map64_each (map, i) {
        const struct capture_process *process = (const struct capture_process *)(uintptr_t)map->values[i];
        if (process->pid == processes->first || process->ended || process->image == 0)
            continue;
        uint32_t parent;
        uint64_t cpu = procfs_cpu_and_parent(process->pid, &parent);
        bool orphan = parent != processes->first && !process_find(processes, parent);
        if (cpu && (all || orphan))
            *map64_insert(&account->seen, process->pid, NULL) = cpu;
    }
}

uint64_t cpu_account_total(const struct cpu_account *account)
{
    uint64_t total = 0;
    map64_each (&account->seen, i)
        total += account->seen.values[i];
    return total;
}

static void tend(void *context, uint64_t now)
{
    (void)now;
    look(context, false);
}

static void finish(void *context)
{
    look(context, true);
}

static void close_account(void *context)
{
    struct cpu_account *account = context;
    map64_free(&account->seen);
}

struct source cpu_account_source(struct cpu_account *account)
{
    return (struct source){
        .kind = FROM_CPU_TIME, .context = account, .tend = tend, .finish = finish, .close = close_account};
}
