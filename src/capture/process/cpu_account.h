/* capture/process/cpu_account.h - CPU time of processes that the target's own usage does not hold.
 *
 * What wait4 reports of the target includes those of its children that were waited for. A child that outlives the program, or
 * that was left to somebody else (a daemon), is in nobody's sum; yet it was sampled, and what that took would be held against
 * the time of the others. Used by one thread. */
#ifndef NUMALENS_CAPTURE_PROCESS_CPU_ACCOUNT_H
#define NUMALENS_CAPTURE_PROCESS_CPU_ACCOUNT_H

#include "capture/process/process_table.h"

struct cpu_account {
    struct map64 seen; /* process, to ns: as last looked at */
    unsigned rested;
};

/* Notes the CPU time of processes that have lost their parent; with `all` of every one that still runs: at the target's
 * end. To be called several times a second. */
void cpu_account_look(struct cpu_account *account, const struct process_table *processes, bool all);

/* What was noted, in ns. */
uint64_t cpu_account_total(const struct cpu_account *account);

void cpu_account_free(struct cpu_account *account);

#endif
