#include "capture/heartbeat.h"

#include "base/clock.h"

#include <signal.h>
#include <time.h>

enum { BEAT_NS = 50000000 };

static void *beat(void *argument)
{
    struct heartbeat *heartbeat = argument;
    pthread_mutex_lock(&heartbeat->lock);
    while (!heartbeat->stop) {
        atomic_store_explicit(&heartbeat->region->heartbeat_ns, clock_now_ns(), memory_order_relaxed);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += BEAT_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&heartbeat->stopped, &heartbeat->lock, &until);
    }
    pthread_mutex_unlock(&heartbeat->lock);
    return NULL;
}

bool heartbeat_start(struct heartbeat *heartbeat, struct wire_region *region)
{
    *heartbeat = (struct heartbeat){.region = region};
    pthread_mutex_init(&heartbeat->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&heartbeat->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Signals are for the recorder's first thread, which they must wake. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    heartbeat->running = pthread_create(&heartbeat->thread, NULL, beat, heartbeat) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return heartbeat->running;
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
    if (!heartbeat->running)
        return;
    pthread_mutex_lock(&heartbeat->lock);
    heartbeat->stop = true;
    pthread_cond_signal(&heartbeat->stopped);
    pthread_mutex_unlock(&heartbeat->lock);
    pthread_join(heartbeat->thread, NULL);
    heartbeat->running = false;
}
