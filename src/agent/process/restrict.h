/* agent/process/restrict.h - programs that forbid themselves what the agent needs: system calls (seccomp), the processor's counter
 * (PR_SET_TSC).
 *
 * A filter may kill for any system call, and without the counter every record would be a fault. So before such a call of
 * the program takes effect, recording ends in its process: no tick, no hook and no handler of ours makes a system call or
 * reads the counter from then on. The report counts the process, with the cause. Without a recorder, placement ends there. */
#pragma once

#include "agent/agent.h"

/* Before the agent attaches: whether this process is restricted already; filters, more than the recorder is. Up to then no
 * system call is made but openat, read and close, where there is a /proc. */
bool restrict_found(uint64_t recorders_filters, enum loss_cause *cause);

/* System call filters on this process; UINT32_MAX when that cannot be known. And whether there are, or may be, more than so many. */
uint32_t restrict_filters(void);
bool restrict_beyond(uint64_t filters);

/* The program is about to make this call. */
void restrict_prctl(unsigned long option, unsigned long value, unsigned long more);
void restrict_seccomp(unsigned long operation, unsigned long filter);
