/* What sampling from outside could harm: calls that wait, signals, memory that nobody has touched.
 *
 * outside_target SECONDS: five threads make calls that wait between pieces of work, a sixth gets signals. At the end it prints, one to a
 * line: "interrupted N" (calls that failed with EINTR though no signal was sent), "failed N", "signals SENT HANDLED", "touched N" (pages
 * in memory of a shared mapping of which the program has used one). It exits when its standard input ends, too. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WAITS = 5, WORK = 4096, SHARED_PAGES = 1024, PATIENCE = 60 };

static atomic_bool over;
static atomic_ulong interrupted, failed, sent, handled;
static unsigned char *shared;
static pthread_barrier_t ready;
static sem_t was_handled; /* no sched_yield(): since Linux 6.18 who yields all the time keeps others from a CPU */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long call(long which, int epoll, int socket)
{
    struct epoll_event event;
    struct timespec moment = {0, 300000};
    sigset_t set;
    char byte;
    switch (which) {
    case 0:
        return epoll_wait(epoll, &event, 1, 1);
    case 1:
        return recv(socket, &byte, 1, 0);
    case 2:
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        return sigtimedwait(&set, NULL, &moment);
    case 3:
        return nanosleep(&moment, NULL);
    default:
        return poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, 1);
    }
}

/* Reads ahead of what it has touched, without using it: a sampler that follows addresses must not bring these pages in. */
static void *wait_often(void *argument)
{
    long which = (long)argument;
    int sockets[2], epoll = epoll_create1(0);
    struct timeval limit = {0, 500};
    volatile long work[WORK] = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
        abort();
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    pthread_barrier_wait(&ready);
    for (long count = 0; !over; count++) {
        for (int i = 0; i < WORK; i++)
            work[i] = work[WORK - 1 - i] + count + shared[0];
        if (call(which, epoll, sockets[0]) < 0) {
            interrupted += errno == EINTR;
            failed += errno != EINTR && errno != EAGAIN;
        }
    }
    return NULL;
}

static void handle(int number)
{
    (void)number;
    handled++;
    sem_post(&was_handled);
}

static void *work_with_signals(void *argument)
{
    volatile long sum = 0;
    (void)argument;
    while (!over)
        sum = sum + shared[0];
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[WAITS], target;
    struct sigaction action = {.sa_handler = handle};
    double end = now() + (count > 1 ? atof(words[1]) : 1);
    sigset_t set;
    sem_init(&was_handled, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGUSR1, &action, NULL);
    shared = mmap(NULL, SHARED_PAGES * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    madvise(shared, SHARED_PAGES * 4096ul, MADV_NOHUGEPAGE); /* where shared memory has huge pages */
    shared[0] = 1;
    pthread_barrier_init(&ready, NULL, WAITS + 1);
    pthread_create(&target, NULL, work_with_signals, NULL);
    for (long i = 0; i < WAITS; i++)
        pthread_create(&threads[i], NULL, wait_often, (void *)i);
    pthread_barrier_wait(&ready);
    printf("working\n");
    fflush(stdout);
    while (now() < end && poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 0) == 0) {
        sent++;
        pthread_kill(target, SIGUSR1);
        sem_timedwait(&was_handled, &(struct timespec){.tv_sec = time(NULL) + PATIENCE});
    }
    over = true;
    for (long i = 0; i < WAITS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(target, NULL);
    unsigned char there[SHARED_PAGES];
    unsigned long touched = 0;
    mincore(shared, SHARED_PAGES * 4096ul, there);
    for (unsigned i = 0; i < SHARED_PAGES; i++)
        touched += there[i] & 1;
    printf("interrupted %lu\nfailed %lu\nsignals %lu %lu\ntouched %lu\n", interrupted, failed, sent, handled, touched);
    return 0;
}
