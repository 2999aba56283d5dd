/* lib/sampling/held_locks.h - which of the library's locks the calling thread holds, so that a call that runs out of memory
 * half-way (base/mem.h) can give them back. Locks are given in the opposite order of taking. */
#ifndef NUMALENS_LIB_SAMPLING_HELD_LOCKS_H
#define NUMALENS_LIB_SAMPLING_HELD_LOCKS_H

#include <pthread.h>

void held_take(pthread_mutex_t *lock);
void held_give(pthread_mutex_t *lock);

unsigned held_count(void);
void held_give_back(unsigned count); /* all but so many */

#endif
