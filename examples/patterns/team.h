/* team.h - what the programs of this folder share: a mode, and a team of threads that begin together.
 *
 * Each program takes the name of a mode as its first argument: with one the program has what it is named after, with the
 * other, its twin, it has not. The main thread makes workers 1, 2, 3 and so on, in this order; so on a simulated machine of
 * N nodes with one CPU each, worker I runs on node I modulo N, and the main thread on node 0. On a real machine --pin
 * does the same with CPUs: worker I runs on CPU I modulo their number.
 * Huge pages are off: a page of 2 MiB is on one node, whoever uses its parts. */
#ifndef NUMALENS_TEAM_H
#define NUMALENS_TEAM_H

#include "../example.h"

#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { TEAM_MAX = 64, PAGE = 4096 };

struct team {
    const char *mode;
    size_t size; /* --threads=N: workers */
    long rounds; /* --rounds=N: of each worker */
    bool pinned;
    long (*work)(size_t number);
    pthread_barrier_t begin;
    long results[TEAM_MAX + 1];
    sem_t turns[TEAM_MAX + 1];
};

static struct team team = {.size = 8};

static inline void team_pin(size_t number)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(number % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &cpus);
    example_need(!team.pinned || sched_setaffinity(0, sizeof cpus, &cpus) == 0, "sched_setaffinity");
}

/* Ends the program unless its first argument is one of the modes, "bad|good". */
static inline void team_init(int argc, char **argv, const char *modes, long rounds)
{
    team.mode = argc > 1 ? argv[1] : "";
    size_t length = strlen(team.mode);
    const char *found = length ? strstr(modes, team.mode) : NULL;
    bool whole = found && (found == modes || found[-1] == '|') && (found[length] == '|' || !found[length]);
    if (!whole) {
        fprintf(stderr, "usage: %s %s [--threads=N] [--rounds=N] [--pin]\n", argv[0], modes);
        exit(2);
    }
    team.size = (size_t)example_option(argc, argv, "threads", (long)team.size);
    team.rounds = example_work(argc, argv, "rounds", rounds);
    example_need(team.size >= 1 && team.size <= TEAM_MAX, "--threads: 1 to 64;");
    team.pinned = example_flag(argc, argv, "pin");
    team_pin(0);
    example_need(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "prctl");
    pthread_barrier_init(&team.begin, NULL, (unsigned)team.size);
    for (size_t i = 1; i <= team.size; i++)
        sem_init(&team.turns[i], 0, i == 1);
}

static inline bool team_mode(const char *mode)
{
    return strcmp(team.mode, mode) == 0;
}

static inline void *team_start(void *argument)
{
    size_t number = (size_t)argument;
    char name[16];
    snprintf(name, sizeof name, "worker %zu", number);
    pthread_setname_np(pthread_self(), name);
    team_pin(number);
    pthread_barrier_wait(&team.begin);
    team.results[number] = team.work(number);
    return NULL;
}

/* Runs work(1) to work(N) at the same time and prints the sum of what they return. */
static inline void team_run(long (*work)(size_t number))
{
    pthread_t threads[TEAM_MAX];
    team.work = work;
    for (size_t i = 0; i < team.size; i++)
        threads[i] = example_thread(team_start, (void *)(i + 1));
    long total = 0;
    for (size_t i = 0; i < team.size; i++) {
        pthread_join(threads[i], NULL);
        total += team.results[i + 1];
    }
    printf("total %ld\n", total);
}

/* Threads take turns, worker 1 first. The caller sleeps until the turn is its own, and gives it to another when it is
 * done; nobody else is woken, so that waiting is rarely seen in samples. */
static inline void team_await_turn(size_t number)
{
    while (sem_wait(&team.turns[number]) != 0)
        ;
}

static inline void team_give_turn(size_t number)
{
    sem_post(&team.turns[number]);
}

static inline size_t team_next(size_t number)
{
    return number % team.size + 1;
}

/* The next number in a sequence without pattern; `state` must not be 0. */
static inline uint64_t team_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* CPU time of this thread. */
static inline long team_cpu_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Fills numbers as their first user should: one after the other. */
__attribute__((unused)) static void team_fill(long *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (long)(i % 97);
}

/* Reads `rounds` numbers here and there, and of every four it reads writes one. Caches are of little help. */
__attribute__((noinline, unused)) static long team_use(volatile long *numbers, size_t count, long rounds, uint64_t seed)
{
    long total = 0;
    for (long round = 0; round < rounds; round += 4) {
        uint64_t random = team_random(&seed);
        total += numbers[random % count] + numbers[(random >> 20) % count] + numbers[(random >> 40) % count];
        size_t place = (random >> 30) % count;
        total += numbers[place];
        numbers[place] = (long)(random % 97);
    }
    return total;
}

/* team_use for so long. */
__attribute__((unused)) static void team_use_for(long ms, long *numbers, size_t count, uint64_t seed)
{
    enum { CHUNK = 100000 };
    for (long end = team_cpu_ms() + ms; team_cpu_ms() < end; seed += TEAM_MAX)
        team_use(numbers, count, CHUNK, seed);
}

#endif
