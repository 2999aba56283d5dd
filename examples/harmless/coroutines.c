/* coroutines.c - control flow that leaves the usual stack: makecontext coroutines on heap stacks, setjmp and longjmp.
 * Truth: the coroutines take turns and all reach their end. */
#include "../example.h"

#include <setjmp.h>
#include <ucontext.h>

enum { ROUTINES = 4, ROUNDS = 40000 };

static ucontext_t home, routines[ROUTINES];
static volatile long progress[ROUTINES];
static volatile long *numbers;

static void routine(int number)
{
    for (int round = 0; round < ROUNDS; round++) {
        long total = 0;
        for (size_t i = 0; i < 1000; i++)
            total += numbers[i];
        progress[number] += total;
        swapcontext(&routines[number], &home);
    }
}

static __attribute__((noinline)) void fail(jmp_buf back, int depth)
{
    volatile char room[256];
    room[0] = (char)depth;
    if (depth == 20)
        longjmp(back, 1);
    fail(back, depth + 1);
    room[1] = room[0];
}

int main(void)
{
    numbers = malloc(1000 * sizeof *numbers);
    example_need(numbers, "malloc");
    for (long i = 0; i < 1000; i++)
        numbers[i] = i;
    char *stacks[ROUTINES];
    for (int i = 0; i < ROUTINES; i++) {
        stacks[i] = malloc(1 << 17);
        getcontext(&routines[i]);
        routines[i].uc_stack.ss_sp = stacks[i];
        routines[i].uc_stack.ss_size = 1 << 17;
        routines[i].uc_link = &home;
        makecontext(&routines[i], (void (*)(void))routine, 1, i);
    }
    for (int round = 0; round <= ROUNDS; round++) {
        for (int i = 0; i < ROUTINES; i++)
            swapcontext(&home, &routines[i]);
    }
    volatile long jumps = 0;
    jmp_buf back;
    for (volatile int i = 0; i < 400000; i++) {
        if (setjmp(back) == 0)
            fail(back, 0);
        else
            jumps++;
    }
    printf("progress %ld %ld %ld %ld, jumps %ld\n", progress[0], progress[1], progress[2], progress[3], jumps);
    for (int i = 0; i < ROUTINES; i++)
        free(stacks[i]);
    free((void *)numbers);
    return 0;
}
