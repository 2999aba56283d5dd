/* own_urgent.c - SIGURG of the program's own: as Go's runtime sends it to a thread that is to give way, each after the last was
 * answered, to threads that were started with all signals blocked and opened them by a system call; and for urgent data of a
 * connection. Between them the signals of faults. Truth: each is answered, or the program would wait for ever. */
#include "../example.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 2000, URGENT = 300, SET_BYTES = 8, WORDS = 4096 };

static _Atomic int answers, ended;
static _Atomic long worker;
static int answered[2]; /* a pipe */
static const int sent[] = {SIGFPE, SIGILL, SIGBUS, SIGSEGV, SIGTRAP, SIGURG, SIGURG, SIGURG};

static void answer(int signal)
{
    (void)signal;
    answers++;
    example_need(write(answered[1], "", 1) == 1, "write");
}

static long open_all(void)
{
    uint64_t none = 0;
#if defined(__x86_64__)
    register long fourth __asm__("r10") = SET_BYTES;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(&none), "d"(0), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_rt_sigprocmask, x0 __asm__("x0") = SIG_SETMASK, x1 __asm__("x1") = (long)&none,
                     x2 __asm__("x2") = 0, x3 __asm__("x3") = SET_BYTES;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static void wait_for_answer(void)
{
    char byte;
    example_need(read(answered[0], &byte, 1) == 1, "read");
}

static void to_itself(int signal, long self)
{
    syscall(SYS_tgkill, getpid(), self, signal);
    wait_for_answer();
}

static void *work(void *unused)
{
    volatile long *words = malloc(WORDS * sizeof *words);
    example_need(words && open_all() == 0, "malloc and rt_sigprocmask");
    long self = syscall(SYS_gettid);
    for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++)
        to_itself(sent[i], self);
    worker = self;
    while (!ended)
        for (int i = 0; i < WORDS; i++)
            words[i] += i;
    free((void *)words);
    return unused;
}

static void to_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    example_need(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (!worker)
        sched_yield();
    for (int i = 0; i < SIGNALS; i++) {
        syscall(SYS_tgkill, getpid(), worker, sent[i % (sizeof sent / sizeof *sent)]);
        wait_for_answer();
    }
    printf("to a thread: %d answers\n", answers);
    ended = 1;
    pthread_join(thread, NULL);
}

static void urgent_data(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int door = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
    example_need(bind(door, (void *)&address, bytes) == 0 && listen(door, 1) == 0 &&
                     getsockname(door, (void *)&address, &bytes) == 0 && connect(to, (void *)&address, bytes) == 0,
                 "a connection");
    int from = accept(door, NULL, NULL);
    example_need(fcntl(from, F_SETOWN, getpid()) == 0, "F_SETOWN");
    answers = 0;
    for (int i = 0; i < URGENT; i++) {
        char byte = 'u';
        example_need(send(to, &byte, 1, MSG_OOB) == 1, "send");
        wait_for_answer();
        example_need(recv(from, &byte, 1, MSG_OOB) == 1 && byte == 'u', "urgent data");
    }
    printf("urgent data: %d answers\n", answers);
    close(from), close(to), close(door);
}

int main(void)
{
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
    example_need(pipe(answered) == 0, "pipe");
    for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++)
        sigaction(sent[i], &action, NULL);
    to_thread();
    urgent_data();
    return 0;
}
