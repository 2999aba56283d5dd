/* What a program sees of its own signals: run with and without the agent, it must print the same. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__aarch64__)
#define ILLEGAL             ".inst 0"
#define BREAKPOINT          "brk #1"
#define MACHINE_PC(machine) (machine)->pc
#elif defined(__x86_64__)
#define ILLEGAL             "ud2"
#define BREAKPOINT          "int3"
#define MACHINE_PC(machine) (uintptr_t)(machine)->gregs[REG_RIP]
#endif

static sigjmp_buf back;
static volatile int seen_signal, seen_code, seen_masked, seen_on_stack, calls;
static void *volatile seen_addr;
static char alternate[65536];
static volatile uint64_t sink[4096];

/* Something for the sampler to step through. */
static void work(int rounds)
{
    for (int i = 0; i < rounds * 1000; i++)
        sink[i * 7 % 4096] += sink[i * 13 % 4096] + 1;
}

static void note(int signal, siginfo_t *info, void *context)
{
    char here;
    sigset_t mask;
    (void)context;
    seen_signal = signal;
    seen_code = info->si_code;
    seen_addr = info->si_addr;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    seen_masked = sigismember(&mask, signal) + 2 * sigismember(&mask, SIGUSR2) + 4 * sigismember(&mask, SIGALRM);
    seen_on_stack = &here >= alternate && &here < alternate + sizeof(alternate);
    calls++;
    work(1);
}

static void note_and_leave(int signal, siginfo_t *info, void *context)
{
    note(signal, info, context);
    siglongjmp(back, 1);
}

static void old_style(int signal)
{
    seen_signal = signal;
    calls++;
}

static void say(const char *what)
{
    printf("%s: signal %d code %d masked %d stack %d calls %d addr %s\n", what, seen_signal, seen_code, seen_masked,
           seen_on_stack, calls, seen_addr ? "set" : "null");
    seen_signal = seen_code = seen_masked = seen_on_stack = 0;
    seen_addr = NULL;
    work(3);
}

static void set(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    if (sigaction(signal, &action, NULL) != 0)
        perror("sigaction");
}

static __attribute__((noinline)) void fault(void)
{
    *(volatile int *)(uintptr_t)(64 + calls % 2 * 8) = 1;
}

static void test_faults(void)
{
    static const int flags[] = {0, SA_NODEFER, SA_ONSTACK, SA_RESETHAND | SA_ONSTACK};
    for (volatile int i = 0; i < 4; i++) {
        set(SIGSEGV, note_and_leave, flags[i]);
        if (sigsetjmp(back, 1) == 0) {
            work(5);
            fault();
        }
        say("segv");
        struct sigaction now;
        sigaction(SIGSEGV, NULL, &now);
        printf("now %s, flags %x\n", now.sa_handler == SIG_DFL ? "default" : "mine",
               now.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
    }
    FILE *file = tmpfile();
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    set(SIGBUS, note_and_leave, 0);
    if (sigsetjmp(back, 1) == 0)
        map[0] = 1;
    say("bus");
    set(SIGILL, note_and_leave, SA_ONSTACK);
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile(ILLEGAL);
    say("ill");
    set(SIGTRAP, note_and_leave, 0);
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile(BREAKPOINT);
    say("breakpoint");
    fclose(file);
}

/* Sent so often that some come together with a tick: each finds the program's own mask and stack. */
static void test_sent_often(int times)
{
    int odd = 0;
    set(SIGILL, note, SA_RESTART);
    for (int i = 0; i < times; i++) {
        kill(getpid(), SIGILL);
        int masked = seen_masked;
        odd += masked != 3 || seen_on_stack || seen_signal != SIGILL;
        seen_signal = 0;
    }
    signal(SIGILL, SIG_DFL);
    printf("sent %d times, %d at the wrong place\n", times, odd);
}

static void test_sent(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP};
    for (int i = 0; i < 4; i++) {
        set(signals[i], note, i % 2 ? SA_ONSTACK : SA_RESTART);
        raise(signals[i]);
        say("raised");
        kill(getpid(), signals[i]);
        say("killed");
        pthread_kill(pthread_self(), signals[i]);
        say("to the thread");
        signal(signals[i], SIG_IGN);
        raise(signals[i]);
        say("ignored");
        void (*before)(int) = signal(signals[i], old_style);
        printf("was ignored: %d\n", before == SIG_IGN);
        raise(signals[i]);
        say("old style");
        if (signals[i] == SIGTRAP)
            break; /* blocked, it may find a tick pending in its place: see docs/sampling.md */
        sigset_t one, pending;
        sigemptyset(&one);
        sigaddset(&one, signals[i]);
        sigprocmask(SIG_BLOCK, &one, NULL);
        raise(signals[i]);
        work(5);
        sigpending(&pending);
        printf("pending %d\n", sigismember(&pending, signals[i]));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        say("unblocked");
        signal(signals[i], SIG_DFL);
    }
    signal(SIGTRAP, SIG_DFL);
    for (int signal_number = SIGRTMIN; signal_number <= SIGRTMAX; signal_number++) {
        struct sigaction old;
        sigaction(signal_number, NULL, &old);
        if (old.sa_handler != SIG_DFL)
            printf("signal %d is not at its default\n", signal_number);
        set(signal_number, note, 0);
        union sigval value = {.sival_int = 7};
        sigqueue(getpid(), signal_number, value);
        if (seen_signal != signal_number)
            printf("signal %d did not come\n", signal_number);
        signal(signal_number, SIG_DFL);
    }
    say("real time");
}

static volatile uintptr_t seen_pc;

static void note_place(int signal, siginfo_t *info, void *context)
{
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    seen_pc = MACHINE_PC(machine);
    note_and_leave(signal, info, context);
}

/* A fault comes from where it happened, even when a blocked tick is pending (the kernel then delivers both). */
static void test_place(void)
{
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &trap, NULL);
    set(SIGSEGV, note_place, SA_ONSTACK);
    volatile int good = 0;
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0) {
            work(2);
            fault();
        }
        good += seen_pc - (uintptr_t)fault < 128;
        seen_pc = 0;
    }
    sigset_t now;
    sigprocmask(SIG_UNBLOCK, &trap, &now);
    printf("in place %d, trap was blocked %d\n", good, sigismember(&now, SIGTRAP));
    signal(SIGSEGV, SIG_DFL);
}

/* All signals blocked: what is sent waits, what is asked is reported. */
static void test_blocked(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGUSR1};
    sigset_t all, before, now, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    work(20);
    for (int i = 0; i < 4; i++) {
        set(signals[i], note, 0);
        raise(signals[i]);
        work(5);
    }
    kill(getpid(), SIGILL);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    sigpending(&pending);
    for (int i = 0; i < 4; i++)
        printf("blocked %d pending %d\n", sigismember(&now, signals[i]), sigismember(&pending, signals[i]));
    int taken = 0;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGBUS);
    printf("waited %d for %s\n", sigwait(&one, &taken), strsignal(taken));
    say("all blocked");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    say("opened");
    for (int i = 0; i < 4; i++)
        signal(signals[i], SIG_DFL);
}

static int ended(const char *how)
{
    pid_t child = fork();
    if (child == 0) {
        work(5);
        if (strcmp(how, "segv") == 0)
            fault();
        if (strcmp(how, "segv_ignored") == 0) {
            signal(SIGSEGV, SIG_IGN);
            fault();
        }
        if (strcmp(how, "raise_segv") == 0)
            raise(SIGSEGV);
        if (strcmp(how, "raise_trap") == 0)
            raise(SIGTRAP);
        if (strcmp(how, "trap") == 0)
            __asm__ volatile(BREAKPOINT);
        if (strcmp(how, "ill") == 0)
            __asm__ volatile(ILLEGAL);
        if (strcmp(how, "abort") == 0)
            abort();
        if (strcmp(how, "exec") == 0) {
            signal(SIGTRAP, SIG_IGN);
            signal(SIGSEGV, SIG_DFL);
            char *nothing[] = {NULL}; /* so that the agent does not come along and change what is asked */
            execle("/bin/grep", "grep", "SigIgn", "/proc/self/status", NULL, nothing);
        }
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

/* The number of iterations may be given. */
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    sigaltstack(&stack, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int round = 0; round < rounds; round++) {
        test_faults();
        test_sent();
        test_place();
        test_blocked();
    }
    test_sent_often(rounds * 500);
    static const char *const ends[] = {"segv", "segv_ignored", "raise_segv", "raise_trap",
                                       "trap", "ill",          "abort",      "exec"};
    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        printf("%s: status %x\n", ends[i], ended(ends[i]));
    return 0;
}
