/* stacks.c - stacks of every sort.
 *     stacks [--ms=N]
 * Truth: each of the threads `worker 0` to `worker 2` walks an array on its own stack for N ms of CPU time; `worker 3` as
 * long walks one on the main thread's stack, which the main thread made after growing its stack by 4 MiB. `worker 2` runs
 * on a stack that the program mapped itself. A coroutine walks one on the stack that `coroutine_stack` maps for it: no
 * thread's stack, but a map. The five get 1/5 of the time each, and of the samples: equal work would not take equal time where
 * other programs run. */
#include "../example.h"
#include "walk.h"

#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { ITEMS = 2048, PASSES = 80, WORKERS = 4, OWN_STACK = 2, STACK_BYTES = 1 << 18 };

static long ms;
static ucontext_t home, coroutine;
static volatile long total;
static const volatile long *of_main;

static long long cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static long walk_on(const volatile long *items)
{
    long sum = 0;
    for (long long end = cpu_ns() + ms * 1000000ll; cpu_ns() < end;)
        sum += walk(items, ITEMS, PASSES);
    return sum;
}

static void *work(void *argument)
{
    long number = (long)argument;
    char name[16];
    snprintf(name, sizeof name, "worker %ld", number);
    pthread_setname_np(pthread_self(), name);
    volatile long items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = 1;
    total += walk_on(number == WORKERS - 1 ? of_main : items);
    return NULL;
}

static void in_coroutine(void)
{
    volatile long items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = 1;
    total += walk_on(items);
}

static inline __attribute__((always_inline)) void *map_stack(void)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    example_need(stack != MAP_FAILED, "mmap");
    return stack;
}

static void run_coroutine(void)
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_size = STACK_BYTES;
    coroutine.uc_stack.ss_sp = map_stack(); /* site: coroutine_stack */
    coroutine.uc_link = &home;
    makecontext(&coroutine, in_coroutine, 0);
    swapcontext(&home, &coroutine);
}

static __attribute__((noinline)) void grow(size_t bytes)
{
    volatile char room[bytes];
    for (size_t i = 0; i < bytes; i += 4096)
        room[i] = (char)total;
    total += room[bytes - 1];
    volatile long items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = 1;
    of_main = items;
    pthread_t threads[WORKERS];
    for (long i = 0; i < WORKERS; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (i == OWN_STACK)
            pthread_attr_setstack(&attributes, map_stack(), STACK_BYTES);
        example_need(pthread_create(&threads[i], &attributes, work, (void *)i) == 0, "pthread_create");
        pthread_attr_destroy(&attributes);
    }
    for (long i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    ms = example_work(argc, argv, "ms", 320);
    grow(4 << 20);
    run_coroutine();
    printf("total %d\n", total > 0);
    return 0;
}
