/* capture/process/cpu_account.h - CPU time of processes that the target's own usage does not hold.
 *
 * What wait4 reports of the target includes those of its children that were waited for. A child that outlives the program, or
 * that was left to somebody else (a daemon), is in nobody's sum; yet it was sampled, and what that took would be held against
 * the time of the others. Used by one thread. */
#pragma once

#include "capture/process/process_table.h"
#include "capture/source.h"

struct cpu_account {
    const struct process_table *processes;
    struct map64 seen; /* process, to ns: as last looked at */
    unsigned rested;
};

/* Tended, it notes the CPU time of processes that have lost their parent; finished, at the target's end, that of every one
 * that still runs. account->processes is set; what was noted can be asked for until it is closed. */
struct source cpu_account_source(struct cpu_account *account);

/* What was noted, in ns. */
uint64_t cpu_account_total(const struct cpu_account *account);
