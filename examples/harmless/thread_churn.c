/* thread_churn.c - threads that begin and end all the time and in every way: return, pthread_exit, cancelled, detached;
 * with thread-local destructors that allocate and free. Truth: every thread's work is counted once. */
#include "../example.h"

#include <stdatomic.h>
#include <unistd.h>

static pthread_key_t key;
static atomic_long done, destroyed;

static void destroy(void *value)
{
    char *more = malloc(500);
    more[0] = ((char *)value)[0];
    free(value);
    free(more);
    atomic_fetch_add(&destroyed, 1);
}

static void *work(void *argument)
{
    size_t number = (size_t)argument;
    char *value = malloc(64 + number % 1000);
    value[0] = 1;
    pthread_setspecific(key, value);
    volatile long *numbers = calloc(2000, sizeof *numbers);
    for (size_t i = 0; i < 2000; i++)
        numbers[i] += (long)i;
    free((void *)numbers);
    atomic_fetch_add(&done, 1);
    if (number % 3 == 0)
        pthread_exit(NULL);
    if (number % 3 == 1) {
        for (;;)
            pause(); /* until cancelled */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 1500);
    pthread_key_create(&key, destroy);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (long round = 0; round < rounds; round++) {
        pthread_t threads[4], loose;
        for (size_t i = 0; i < 4; i++)
            threads[i] = example_thread(work, (void *)(4 * (size_t)round + i));
        example_need(pthread_create(&loose, &detached, work, (void *)(size_t)2) == 0, "pthread_create");
        for (size_t i = 0; i < 4; i++) {
            if ((4 * (size_t)round + i) % 3 == 1)
                pthread_cancel(threads[i]);
            pthread_join(threads[i], NULL);
        }
        while (atomic_load(&destroyed) < 5 * (round + 1) && atomic_load(&done) < 5 * (round + 1))
            usleep(50);
    }
    puts("all ended");
    return 0;
}
