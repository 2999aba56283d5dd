/* moved.c - arrays whose pages get their homes by use, not by a policy; read by a thread on node 0.
 * Truth: `touched` was first touched on node 2 and stays there: all remote. `moving` was first touched on node 0; half-way
 * the program moves its pages to node 3: local before, remote after. Both get as many reads.
 *     moved SECONDS      in each half
 * Prints on which nodes the pages are, at first and in the end. NUMA balancing must be off. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Few pages: each must be sampled before and after. */
enum { PAGE = 4096, PAGES = 16, WORDS = PAGES * PAGE / sizeof(long), USER = 0, TOUCHER = 2, TARGET = 3 };

static void need(int good, const char *what)
{
    if (!good) {
        printf("%s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* CPUs and nodes are the same in the guest. */
static void go_to(int node)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(node, &cpus);
    need(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "sched_setaffinity");
}

static void fill(long *array)
{
    for (size_t i = 0; i < WORDS; i++)
        array[i] = (long)i;
}

static void *touch(void *array)
{
    go_to(TOUCHER);
    fill(array);
    return NULL;
}

/* Moves the pages to `node` unless it is negative; says where they are. */
static void place(const char *name, long *array, int node)
{
    void *pages[PAGES];
    int nodes[PAGES], status[PAGES];
    unsigned count[8] = {0};
    for (size_t i = 0; i < PAGES; i++) {
        pages[i] = (char *)array + i * PAGE;
        nodes[i] = node;
    }
    need(syscall(SYS_move_pages, 0, (unsigned long)PAGES, pages, node < 0 ? NULL : nodes, status, MPOL_MF_MOVE) == 0,
         "move_pages");
    for (size_t i = 0; i < PAGES; i++)
        count[status[i] & 7]++;
    printf("%s %u %u %u %u\n", name, count[0], count[1], count[2], count[3]);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void use(volatile long *one, volatile long *other, double seconds)
{
    long total = 0;
    for (double end = now() + seconds; now() < end;)
        for (int round = 0; round < 20; round++)
            for (size_t i = 0; i < WORDS; i++)
                total += one[i] + other[i];
    (void)total;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 4;
    pthread_t thread;
    go_to(USER);
    long *touched = aligned_alloc(PAGE, PAGES * PAGE); /* site: touched */
    long *moving = aligned_alloc(PAGE, PAGES * PAGE);  /* site: moving */
    need(touched && moving, "aligned_alloc");
    need(pthread_create(&thread, NULL, touch, touched) == 0, "pthread_create");
    pthread_join(thread, NULL);
    fill(moving);
    place("touched", touched, -1);
    place("moving", moving, -1);
    use(touched, moving, seconds);
    place("moving", moving, TARGET);
    use(touched, moving, seconds);
    place("touched", touched, -1);
    return 0;
}
