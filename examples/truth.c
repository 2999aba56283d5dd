/* truth.c - three threads, five objects, each pair with its own number of accesses, counted while they happen.
 * Truth: what --truth prints. Each load's address depends on the value of the load before (which is 0, but only the
 * program's author knows), and everything fits into the nearest cache: so each access takes the same time, and time
 * and accesses are the same measure. The threads take turns of a millisecond or more, on one CPU: when other programs slow it
 * down, they slow all three, and what a turn's beginning takes is a small part of the least turn. */
#include "example.h"

#include <sched.h>
#include <semaphore.h>

enum { COUNT = 512, THREADS = 3, TURN = 400 /* passes of the first */ };

static volatile size_t table[COUNT + 1]; /* a static object */
static volatile size_t *volatile table_at =
    table; /* an address that the compiler knew would make its accesses faster */
static volatile size_t *shared, *mine[THREADS];

static sem_t turns[THREADS];

struct thread {
    size_t number;
    long turns, rounds;                                  /* the second: passes in a thread's turn */
    unsigned long shared_reads, mine_reads, table_reads; /* the thread's own counts */
};

/* 1 read of `shared`, 2 of its own buffer, 1 of `table` */
static size_t run_first(struct thread *thread, volatile size_t *own)
{
    volatile size_t *common = shared, *fixed = table_at;
    size_t zero = 0;
    for (long round = 0; round < thread->rounds; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            zero = common[i + zero];
            zero = own[i + zero];
            zero = fixed[i + zero];
            zero = own[i + zero];
        }
        thread->shared_reads += COUNT;
        thread->mine_reads += 2UL * COUNT;
        thread->table_reads += COUNT;
    }
    return zero;
}

/* 3 reads of `shared`, 1 of its own buffer */
static size_t run_second(struct thread *thread, volatile size_t *own)
{
    volatile size_t *common = shared;
    size_t zero = 0;
    for (long round = 0; round < thread->rounds; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            zero = common[i + zero];
            zero = common[i + zero + 1];
            zero = own[i + zero];
            zero = common[i + zero];
        }
        thread->shared_reads += 3UL * COUNT;
        thread->mine_reads += COUNT;
    }
    return zero;
}

/* 4 reads of its own buffer */
static size_t run_third(struct thread *thread, volatile size_t *own)
{
    size_t zero = 0;
    for (long round = 0; round < thread->rounds; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            zero = own[i + zero];
            zero = own[i + zero + 1];
            zero = own[i + zero];
            zero = own[i + zero + 1];
        }
        thread->mine_reads += 4UL * COUNT;
    }
    return zero;
}

static size_t (*const bodies[THREADS])(struct thread *, volatile size_t *) = {run_first, run_second, run_third};

static void *run(void *argument)
{
    struct thread *thread = argument;
    char name[16];
    snprintf(name, sizeof name, "thread_%zu", thread->number);
    pthread_setname_np(pthread_self(), name);
    for (long turn = 0; turn < thread->turns; turn++) {
        while (sem_wait(&turns[thread->number]) != 0)
            ;
        bodies[thread->number](thread, mine[thread->number]);
        sem_post(&turns[(thread->number + 1) % THREADS]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long count = example_work(argc, argv, "rounds", 100000) / TURN;
    /* Each thread gets another amount of work, so that per-thread shares differ too. */
    struct thread threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.number = i, .turns = count, .rounds = ((long)i + 1) * TURN};
        sem_init(&turns[i], 0, i == 0);
    }
    static const char *const names[THREADS] = {"mine_0", "mine_1", "mine_2"};
    shared = calloc(COUNT + 1, sizeof *shared);  /* site: shared */
    mine[0] = calloc(COUNT + 1, sizeof *shared); /* site: mine_0 */
    mine[1] = calloc(COUNT + 1, sizeof *shared); /* site: mine_1 */
    mine[2] = calloc(COUNT + 1, sizeof *shared); /* site: mine_2 */
    example_need(shared && mine[0] && mine[1] && mine[2], "calloc");
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here); /* refused, it runs anywhere */
    pthread_t handles[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        handles[i] = example_thread(run, &threads[i]);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(handles[i], NULL);
    puts("done");
    for (size_t i = 0; i < THREADS && example_flag(argc, argv, "truth"); i++) {
        char name[16];
        snprintf(name, sizeof name, "thread_%zu", i);
        example_truth("shared", name, threads[i].shared_reads, 0);
        example_truth(names[i], name, threads[i].mine_reads, 0);
        example_truth("table", name, threads[i].table_reads, 0);
    }
    return 0;
}
