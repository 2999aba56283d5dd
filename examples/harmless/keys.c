/* keys.c - memory under protection keys, as runtimes and libraries use them to guard secrets:
 *     keys open|gates|faults
 * open: an array that the thread may use, directly in front of one that it may not, so whoever reads ahead of it comes there.
 * gates: opened before each pass and closed behind it. faults: the closed one is used again and again, SIGSEGV says which key
 * forbids it, and the program goes on. Prints the sum, how often it was refused, and its rights to both at the end. */
#include "../example.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { BYTES = 1 << 20, NUMBERS = BYTES / sizeof(long), PASSES = 1000, FAULTS = 20000 };

static int mine, guarded;
static volatile long *numbers;
static sigjmp_buf back;
static volatile sig_atomic_t right_reports;

static void refused(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    right_reports = right_reports + (info->si_code == SEGV_PKUERR && (int)info->si_pkey == guarded &&
                                     info->si_addr == (const volatile void *)(numbers + NUMBERS));
    siglongjmp(back, 1);
}

static long pass(void)
{
    long sum = 0;
    for (long i = 0; i < NUMBERS; i++)
        sum += numbers[i] ^= i;
    return sum;
}

static long use_guarded(long times)
{
    struct sigaction action = {.sa_sigaction = refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
    example_need(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
    volatile long count = 0, sum = 0;
    while (count < times) {
        if (sigsetjmp(back, 0) == 0) {
            for (int i = 0; i <= NUMBERS; i += 64 + (int)count % 7)
                sum += numbers[i];
            sum += numbers[NUMBERS]; /* not ours */
        } else {
            count = count + 1;
            pkey_set(mine, 0); /* a handler starts with rights of its own, and it was left by a jump */
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "open";
    mine = pkey_alloc(0, 0), guarded = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (mine < 0 || guarded < 0) {
        printf("refused: %s\n", strerror(errno));
        return 0;
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    numbers = mmap(NULL, 2 * (size_t)BYTES, PROT_READ | PROT_WRITE, flags, -1, 0); /* site: numbers */
    example_need((void *)numbers != MAP_FAILED, "mmap");
    example_need(!pkey_mprotect((void *)numbers, BYTES, PROT_READ | PROT_WRITE, mine), "pkey_mprotect");
    example_need(!pkey_mprotect((void *)(numbers + NUMBERS), BYTES, PROT_READ | PROT_WRITE, guarded), "pkey_mprotect");
    long sum = 0, passes = example_work(argc, argv, "passes", PASSES);
    if (strcmp(how, "faults") == 0) {
        sum = use_guarded(example_work(argc, argv, "faults", FAULTS));
    } else {
        for (long i = 0; i < passes; i++) {
            if (*how == 'g')
                pkey_set(mine, 0);
            sum += pass();
            if (*how == 'g')
                pkey_set(mine, PKEY_DISABLE_ACCESS);
        }
    }
    printf("sum %ld, %d times refused, rights %d and %d\n", sum, (int)right_reports, pkey_get(mine), pkey_get(guarded));
    return 0;
}
