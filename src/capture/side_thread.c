#include "capture/side_thread.h"

#include <signal.h>

enum { STACK_BYTES = 256 << 10 };

bool side_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, old;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    bool started = pthread_create(thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
