/* apache.c - a web server in small: several processes, each with several threads, and each process with its own pools of
 * memory that all its threads use.
 * Truth: pool_create allocates every pool. A process's pools are used by all its workers and by nobody else, whoever made
 * them: each request takes the next free pool, reads and writes it, and gives it back. The workers of a process run on
 * different nodes, since the processes make one worker each, then the next; no node has more traffic than the others.
 * --pin is the paper's change: the workers of a process run on one node. On a simulated one ("numa:4 core:8",
 * --assign packed) a process makes all its workers before the next one does, which comes to the same. */
#include "cases.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 4, WORKERS_MOST = 6, POOL_WORDS = 2048, REQUEST_WORDS = 1024 };

struct pool {
    struct pool *next;
    unsigned long used, words[POOL_WORDS];
};

struct board { /* shared by all processes */
    sem_t may_start[PROCESSES], started;
    unsigned long served[PROCESSES];
};

static struct board *board;
static bool pin;
static long requests, pools; /* of each worker */
static unsigned workers;     /* of each process */
static struct pool *free_pools, **free_tail = &free_pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_started;

static struct pool *pool_create(void)
{
    struct pool *pool = malloc(sizeof *pool); /* site: pool */
    example_need(pool, "malloc");
    memset(pool, 0, sizeof *pool);
    return pool;
}

static void pool_put(struct pool *pool)
{
    pthread_mutex_lock(&pools_lock);
    pool->next = NULL;
    *free_tail = pool;
    free_tail = &pool->next;
    pthread_mutex_unlock(&pools_lock);
}

/* The one that was given back first: there are more pools than workers, so there always is one. */
static struct pool *pool_take(void)
{
    pthread_mutex_lock(&pools_lock);
    struct pool *pool = free_pools;
    free_pools = pool->next;
    if (!free_pools)
        free_tail = &free_pools;
    pthread_mutex_unlock(&pools_lock);
    return pool;
}

__attribute__((noinline)) static void handle_request(struct pool *pool)
{
    for (unsigned word = 0; word < REQUEST_WORDS; word++)
        pool->words[word] += pool->words[POOL_WORDS - 1 - word] + word;
    pool->used++;
}

static void *serve(void *argument)
{
    (void)argument;
    for (long i = 0; i < pools; i++)
        pool_put(pool_create());
    pthread_barrier_wait(&all_started);
    for (long i = 0; i < requests; i++) {
        struct pool *pool = pool_take();
        handle_request(pool);
        pool_put(pool);
    }
    return NULL;
}

static void *listen_only(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&all_started);
    return NULL;
}

/* All that this process will make from here on runs on the node that has this number. */
static void pin_to(unsigned node)
{
    char path[64], list[256];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
    FILE *file = fopen(path, "r");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (!file)
        return;
    if (fgets(list, sizeof list, file)) {
        for (char *at = strtok(list, ","); at; at = strtok(NULL, ",")) {
            int first = 0, last = 0, read = sscanf(at, "%d-%d", &first, &last);
            for (int cpu = first; read > 0 && cpu <= (read == 2 ? last : first); cpu++)
                CPU_SET(cpu, &cpus);
        }
    }
    fclose(file);
    sched_setaffinity(0, sizeof cpus, &cpus);
}

/* One process: a listener that does nothing, and workers. With --pin it makes them all when it is its turn, else one,
 * and passes the turn on. */
static int run_process(unsigned number)
{
    pthread_t threads[WORKERS_MOST + 1];
    if (pin && case_real_nodes())
        pin_to(number);
    pthread_barrier_init(&all_started, NULL, workers + 1);
    sem_wait(&board->may_start[number]);
    for (unsigned i = 0; i <= workers; i++) {
        if (i && !pin)
            sem_wait(&board->may_start[number]);
        threads[i] = example_thread(i < workers ? serve : listen_only, NULL);
        if (!pin)
            sem_post(&board->started);
    }
    if (pin)
        sem_post(&board->started);
    for (unsigned i = 0; i <= workers; i++)
        pthread_join(threads[i], NULL);
    for (struct pool *pool = free_pools; pool; pool = pool->next)
        board->served[number] += pool->used;
    return 0;
}

int main(int argc, char **argv)
{
    requests = example_work(argc, argv, "requests", 100000);
    pools = example_option(argc, argv, "pools", 2);
    workers = (unsigned)example_option(argc, argv, "workers", WORKERS_MOST);
    example_need(workers >= 1 && workers <= WORKERS_MOST, "--workers: 1 to 6;");
    pin = example_flag(argc, argv, "pin");
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    example_need(board != MAP_FAILED, "mmap");
    sem_init(&board->started, 1, 0);
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++)
        sem_init(&board->may_start[i], 1, 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        example_need(children[i] >= 0, "fork");
        if (children[i] == 0)
            return run_process(i);
        if (pin) {
            sem_post(&board->may_start[i]);
            sem_wait(&board->started);
        }
    }
    for (unsigned worker = 0; !pin && worker <= workers; worker++) {
        for (unsigned i = 0; i < PROCESSES; i++) {
            sem_post(&board->may_start[i]);
            sem_wait(&board->started);
        }
    }
    unsigned long served = 0;
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        example_need(status == 0, "a server process");
        served += board->served[i];
    }
    printf("%u processes served %lu requests\n", PROCESSES, served);
    return 0;
}
