/* altstack.c - stack overflows, caught on an alternate stack and recovered from with siglongjmp.
 * Truth: every overflow is caught, and the handler runs on the alternate stack. */
#include "../example.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static sigjmp_buf back;
static char *alternate;
static const size_t alternate_size = 1 << 16;
static volatile int on_alternate;

static void overflowed(int number)
{
    char here;
    (void)number;
    on_alternate += &here >= alternate && &here < alternate + alternate_size;
    siglongjmp(back, 1);
}

static __attribute__((noinline)) long descend(long depth)
{
    volatile char room[1024];
    room[0] = (char)depth;
    room[1023] = (char)depth;
    return descend(depth + 1) + room[0] + room[1023];
}

int main(int argc, char **argv)
{
    volatile long rounds = example_option(argc, argv, "rounds", 30000);
    struct rlimit limit = {.rlim_cur = 1 << 19, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 1 << 19;
    setrlimit(RLIMIT_STACK, &limit);
    alternate = malloc(alternate_size);
    stack_t stack = {.ss_sp = alternate, .ss_size = alternate_size};
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    example_need(alternate && sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0, "set-up");
    volatile long caught = 0, total = 0;
    for (volatile long round = 0; round < rounds; round++) {
        if (sigsetjmp(back, 1) == 0)
            total += descend(0);
        else
            caught++;
    }
    (void)total;
    stack_t seen;
    example_need(sigaltstack(NULL, &seen) == 0 && seen.ss_sp == alternate, "keeping the alternate stack");
    printf("caught %ld, on the alternate stack %d\n", caught, on_alternate);
    return 0;
}
