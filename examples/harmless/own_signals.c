/* own_signals.c - the program's own use of signals that a profiler might want too: SIGTRAP, SIGALRM, SIGPROF, SIGVTALRM,
 * every real-time signal, timers. Truth: each signal raised reaches its handler exactly once, with its value. */
#include "../example.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t counts[65], values, alarms;

static void count(int number, siginfo_t *info, void *context)
{
    (void)context;
    counts[number]++;
    if (info->si_code == SI_QUEUE)
        values += info->si_value.sival_int;
}

static void tick(int number)
{
    (void)number;
    alarms++;
}

static long compute(volatile long *numbers, size_t size)
{
    long total = 0;
    for (size_t i = 0; i < size; i++)
        total += numbers[i];
    return total;
}

int main(void)
{
    size_t size = 30000;
    long *numbers = malloc(size * sizeof *numbers), total = 0;
    example_need(numbers, "malloc");
    for (size_t i = 0; i < size; i++)
        numbers[i] = (long)i;
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    int wanted[64], wanted_count = 0;
    wanted[wanted_count++] = SIGTRAP;
    wanted[wanted_count++] = SIGPROF;
    wanted[wanted_count++] = SIGVTALRM;
    wanted[wanted_count++] = SIGUSR1;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        wanted[wanted_count++] = number;
    for (int i = 0; i < wanted_count; i++)
        example_need(sigaction(wanted[i], &action, NULL) == 0, "sigaction");
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < wanted_count; i++) {
            raise(wanted[i]);
            if (wanted[i] >= SIGRTMIN)
                sigqueue(getpid(), wanted[i], (union sigval){.sival_int = 3});
        }
        total += compute(numbers, size);
    }
    long wrong = 0;
    for (int i = 0; i < wanted_count; i++)
        wrong += counts[wanted[i]] != (wanted[i] >= SIGRTMIN ? 200 : 100);
    printf("signals with a wrong count: %ld, values %d\n", wrong, values - 300 * (SIGRTMAX - SIGRTMIN + 1));

    /* Timers of the program's own, while it computes. */
    signal(SIGALRM, tick);
    struct itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, NULL);
    while (alarms < 50)
        total += compute(numbers, size) & 1;
    (void)total;
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);

    /* A signal that is waited for rather than handled. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGRTMIN + 5);
    siginfo_t info;
    printf("waited for %d\n", sigwaitinfo(&set, &info) - SIGRTMIN);

    /* Ignored and default again. */
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    printf("handlers back: %d\n", signal(SIGTRAP, SIG_DFL) == SIG_IGN && signal(SIGSEGV, SIG_DFL) == SIG_DFL);
    free(numbers);
    return 0;
}
