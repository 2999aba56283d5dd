/* block_signals.c - all signals blocked, in the main thread and in others, now and then opened again; the masks must be
 * what the program set them to. Truth: ends with 0 and always the same line. */
#include "../example.h"

#include <signal.h>

static void check_blocked(int number, bool expected)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    example_need(sigismember(&mask, number) == expected, "keeping the signal mask");
}

static void *work(void *argument)
{
    volatile long *numbers = argument;
    sigset_t all, before;
    sigfillset(&all);
    long total = 0;
    for (int round = 0; round < 4000; round++) {
        pthread_sigmask(SIG_SETMASK, &all, &before);
        check_blocked(SIGUSR1, true);
        check_blocked(SIGTRAP, true);
        check_blocked(SIGSEGV, true);
        for (size_t i = 0; i < 20000; i++)
            total += numbers[i];
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        check_blocked(SIGUSR1, false);
        for (size_t i = 0; i < 20000; i++)
            total += numbers[i];
    }
    return (void *)total;
}

int main(void)
{
    long *numbers = malloc(20000 * sizeof *numbers);
    example_need(numbers, "malloc");
    for (long i = 0; i < 20000; i++)
        numbers[i] = i;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = example_thread(work, numbers);
    long total = (long)work(numbers);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        total += (long)result;
    }
    printf("total %ld\n", total);
    free(numbers);
    return 0;
}
