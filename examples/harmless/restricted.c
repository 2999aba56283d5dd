/* restricted.c - programs that forbid themselves system calls or the processor's counter, and then go on working:
 *     restricted strict|kill|trap|few|threads|crash|break|raw|past|exec|tsc|tsc_raw|probe [CPU time before, and after, in 1/100 s]
 * strict: seccomp's strict mode. kill, trap: a filter against what a program of this kind never calls, which kills or
 * sends SIGSYS. few: a filter that lets nothing pass but what is needed to end. threads: by seccomp() for all threads.
 * crash, break: likewise, and then ends by SIGSEGV or SIGTRAP.
 * raw: kill, installed through syscall(). past: a filter that refuses timers, installed past libc. tsc, tsc_raw: rdtsc faults. exec: then becomes another program. probe: only asks
 * whether filters are there. */
#include "../example.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 100000, FOREVER = 1000000000 };

static volatile long numbers[NUMBERS];
static _Atomic int stop, working;

/* What numalens could be tempted to call, and this program does not. */
static const int forbidden[] = {SYS_getrusage,
                                SYS_perf_event_open,
                                SYS_timer_create,
                                SYS_timer_settime,
                                SYS_timer_delete,
                                SYS_rt_sigpending,
                                SYS_rt_sigaction,
                                SYS_rt_sigprocmask,
                                SYS_rt_sigqueueinfo,
                                SYS_getpid,
                                SYS_gettid,
                                SYS_getppid,
                                SYS_openat,
                                SYS_readlinkat,
                                SYS_sched_getaffinity,
                                SYS_rt_tgsigqueueinfo,
                                SYS_socket,
                                SYS_userfaultfd,
                                SYS_prctl,
                                SYS_rt_sigtimedwait,
                                SYS_newfstatat,
                                SYS_fstat};
/* And what a program of this kind does without while it starts. */
static const int forbidden_to_start[] = {SYS_getrusage,
                                         SYS_perf_event_open,
                                         SYS_timer_create,
                                         SYS_timer_settime,
                                         SYS_timer_delete,
                                         SYS_rt_sigpending,
                                         SYS_rt_sigaction,
                                         SYS_getpid,
                                         SYS_rt_sigqueueinfo,
                                         SYS_gettid,
                                         SYS_rt_tgsigqueueinfo,
                                         SYS_rt_sigprocmask,
                                         SYS_getppid,
                                         SYS_sched_getaffinity,
                                         SYS_socket,
                                         SYS_userfaultfd,
                                         SYS_rt_sigtimedwait,
                                         SYS_readlinkat,
                                         SYS_fstat};
static const int allowed[] = {SYS_read, SYS_write, SYS_exit, SYS_exit_group};

static void work(long turns)
{
    for (long i = 0; i < turns && !stop; i++) {
        numbers[i * 7919 % NUMBERS] += i;
        if (i % 64 == 0)
            free(malloc((size_t)i % 400 + 1));
    }
}

static void *work_aside(void *unused)
{
    (void)unused;
    working++;
    work(FOREVER);
    return NULL;
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        syscall(SYS_exit, 9);
}

static struct sock_fprog make_filter(const int *calls, unsigned count, unsigned listed, unsigned others)
{
    static struct sock_filter filter[64];
    unsigned at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++)
        filter[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (unsigned char)(count - i), 0);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
    return (struct sock_fprog){(unsigned short)at, filter};
}

/* A system call of which no function of libc knows. */
static long call_past_libc(long number, long first, long second, long third)
{
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = 0;
    register long fifth __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

static int confine_past_libc(void)
{
    static const int timers[] = {SYS_timer_create, SYS_timer_settime};
    struct sock_fprog filter = make_filter(timers, 2, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW);
    if (call_past_libc(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) != 0)
        return -1;
    return (int)call_past_libc(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter);
}

static bool has_threads(const char *how)
{
    return strcmp(how, "threads") == 0 || strcmp(how, "crash") == 0 || strcmp(how, "break") == 0;
}

static int confine(const char *how)
{
    unsigned count = sizeof forbidden / sizeof *forbidden;
    struct sock_fprog filter = make_filter(forbidden, count, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    if (strcmp(how, "trap") == 0)
        filter = make_filter(forbidden, count, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW);
    if (strcmp(how, "exec") == 0)
        filter = make_filter(forbidden_to_start, sizeof forbidden_to_start / sizeof *forbidden_to_start,
                             SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    if (strcmp(how, "few") == 0)
        filter = make_filter(allowed, sizeof allowed / sizeof *allowed, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(how, "past") == 0)
        return confine_past_libc();
    if (strcmp(how, "tsc") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    if (strcmp(how, "tsc_raw") == 0)
        return (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(how, "probe") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 ? 0 : -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (has_threads(how))
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (strcmp(how, "raw") == 0)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "kill";
    double least = (argc > 2 ? atof(argv[2]) : 10) / 100, began = cpu_seconds();
    pthread_t threads[2];
    long turns = 0;
    if (has_threads(how)) {
        for (unsigned i = 0; i < 2; i++)
            if (pthread_create(&threads[i], NULL, work_aside, NULL) != 0)
                return 6;
        while (working < 2)
            usleep(1000);
    }
    while (cpu_seconds() - began < least) {
        work(10000);
        turns += 10000;
    }
    if (confine(how) != 0) {
        say("refused\n");
        return 5;
    }
    say("restricted\n");
    if (strcmp(how, "exec") == 0) {
        execl(argv[0], argv[0], "probe", argc > 2 ? argv[2] : "10", NULL);
        return 7;
    }
    if (strcmp(how, "crash") == 0) {
        volatile long *volatile nowhere = NULL;
        *nowhere = turns;
    }
    if (strcmp(how, "break") == 0) {
#if defined(__x86_64__)
        __asm__ volatile("int3");
#else
        __asm__ volatile("brk #0");
#endif
    }
    /* As much again, without a system call: what is freed and allocated again stays in the heap. */
    for (long done = 0; done < turns; done += 10000)
        work(10000);
    say("done\n");
    stop = 1;
    syscall(strcmp(how, "strict") == 0 ? SYS_exit : SYS_exit_group, 3);
    return 0;
}
