/* small_stack.c - handlers on an alternate stack that has room for one signal's frame and little more: a timer's, many
 * times, and one that recovers from faults. Below it is a page that may not be touched. Threads with the smallest stacks
 * that there are work meanwhile.
 * Truth: every signal comes, every fault is caught, and handlers are found as they were set. */
#include "../example.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define PAGE    4096
#define HANDLER 700 /* bytes for the handlers themselves */
#define THREADS 2
#define NUMBERS (1 << 16)

static sigjmp_buf back;
static char *wall;
static volatile long alarms, odd_masks;
static volatile int done;
static long numbers[NUMBERS];

static void on_alarm(int signal)
{
    sigset_t mask;
    (void)signal;
    alarms++;
    if (alarms % 64 == 0)
        odd_masks +=
            pthread_sigmask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, SIGTRAP) || !sigismember(&mask, SIGALRM);
}

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void *work(void *seed)
{
    volatile unsigned long at = (unsigned long)seed;
    while (!done)
        for (int i = 0; i < 1000; i++) {
            at = at * 6364136223846793005ul + 1442695040888963407ul;
            numbers[at >> 48] += 1;
        }
    return NULL;
}

static char *frame_end;

static void on_first(int signal)
{
    sigset_t mask;
    (void)signal;
    frame_end = __builtin_frame_address(0);
    pthread_sigmask(SIG_BLOCK, NULL, &mask); /* bound here: there is no room for that later */
    sigismember(&mask, SIGTRAP);
    siglongjmp(back, 1);
}

/* What a signal's frame takes here, and a handler. sysconf(_SC_MINSIGSTKSZ) is no help: it counts registers that the
 * program would have to ask for first (AMX). */
static size_t stack_bytes(void)
{
    static char room[1 << 16] __attribute__((aligned(64)));
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_first, .sa_flags = SA_ONSTACK};
    example_need(sigaltstack(&stack, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0, "a first signal");
    if (sigsetjmp(back, 1) == 0)
        raise(SIGALRM);
    return ((size_t)(room + sizeof room - frame_end) + HANDLER + 63) / 64 * 64;
}

int main(int argc, char **argv)
{
    long wanted = example_option(argc, argv, "alarms", 2000), faults = example_option(argc, argv, "faults", 1000);
    size_t bytes = stack_bytes();
    size_t pages = (bytes + PAGE - 1) / PAGE + 1;
    wall = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    example_need(wall != MAP_FAILED && mprotect(wall, PAGE, PROT_NONE) == 0, "memory");
    stack_t stack = {.ss_sp = wall + PAGE, .ss_size = bytes};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART}, seen;
    struct sigaction fault = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    example_need(sigaltstack(&stack, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0 &&
                     sigaction(SIGSEGV, &fault, NULL) == 0,
                 "handlers");
    example_need(sigaction(SIGALRM, NULL, &seen) == 0, "the handler");
    printf("the handler's mask has SIGTRAP: %d\n", sigismember(&seen.sa_mask, SIGTRAP));
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    for (long i = 0; i < THREADS; i++)
        example_need(pthread_create(&threads[i], &attributes, work, (void *)i) == 0, "a thread");
    volatile long caught = 0;
    for (volatile long at = 0; caught < faults; at++) {
        numbers[at % NUMBERS] += at;
        if (at % 5000 == 0 && sigsetjmp(back, 1) == 0)
            *(volatile char *)wall = 1;
        else
            caught += at % 5000 == 0;
    }
    struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    setitimer(ITIMER_REAL, &often, NULL); /* only now: there is room for one of them */
    for (volatile long at = 0; alarms < wanted; at++)
        numbers[at % NUMBERS] += at;
    setitimer(ITIMER_REAL, &(struct itimerval){{0}}, NULL);
    done = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("enough alarms, %ld faults caught, %ld odd masks\n", caught, odd_masks);
    return 0;
}
