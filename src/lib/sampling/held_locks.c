#include "lib/sampling/held_locks.h"

enum { MOST = 16 }; /* four kinds, and a callback may call in again */

static __thread struct {
    unsigned count;
    pthread_mutex_t *locks[MOST];
} held __attribute__((tls_model("initial-exec")));

void held_take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    if (held.count < MOST)
        held.locks[held.count] = lock;
    held.count++;
}

void held_give(pthread_mutex_t *lock)
{
    held.count--;
    pthread_mutex_unlock(lock);
}

unsigned held_count(void)
{
    return held.count;
}

void held_give_back(unsigned count)
{
    while (held.count > count) {
        held.count--;
        if (held.count < MOST)
            pthread_mutex_unlock(held.locks[held.count]);
    }
}
