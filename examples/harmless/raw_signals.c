/* raw_signals.c - handlers and masks set past libc, by system calls of the program's own, as Go, Chromium and others do: every
 * signal at its default, or blocked, in a fork's child and in the program itself; and a signalfd for SIGURG (PostgreSQL's).
 * Truth: nothing but the program's own signals comes, and no signal kills. */
#include "../example.h"

#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 64, SET_BYTES = 8, WORK_MS = 20 };

static long raw(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                     x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static void work(void)
{
    enum { WORDS = 4096 };
    struct timespec now, began;
    volatile long *words = malloc(WORDS * sizeof *words);
    example_need(words, "malloc");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    do {
        for (int i = 0; i < WORDS; i++)
            words[i] = i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < WORK_MS);
    free((void *)words);
}

static void all_default(void)
{
    long action[4] = {0}; /* the kernel's: SIG_DFL, no flags */
    for (long i = 1; i <= SIGNALS; i++)
        if (i != SIGCHLD)
            raw(SYS_rt_sigaction, i, (long)action, 0, SET_BYTES);
    work();
}

static void all_blocked(void)
{
    uint64_t all = ~0ull, before = 0;
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, SET_BYTES);
    work();
    all_default();
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, SET_BYTES);
    work();
}

static void by_descriptor(void)
{
    struct signalfd_siginfo info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), own = 0, others = 0;
    example_need(fd >= 0, "signalfd");
    for (int i = 0; i < 6; i++) {
        work();
        kill(getpid(), SIGURG);
        while (read(fd, &info, sizeof info) == sizeof info)
            info.ssi_code == SI_USER &&info.ssi_pid == (uint32_t)getpid() ? own++ : others++;
    }
    printf("from the descriptor: %d of its own, %d others\n", own, others);
    close(fd);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void in_child(const char *name, void (*part)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        part();
        fflush(stdout);
        _exit(0);
    }
    example_need(child > 0 && waitpid(child, &status, 0) == child, "fork");
    printf("%s in a child: status %d\n", name, status);
}

int main(void)
{
    in_child("default", all_default);
    in_child("blocked", all_blocked);
    in_child("descriptor", by_descriptor);
    by_descriptor();
    all_default();
    all_blocked();
    puts("unharmed");
    return 0;
}
