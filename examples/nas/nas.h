/* nas.h - what the kernels share: a team of threads, who has which part, where arrays are first touched, the checksum.
 *
 * They do what the kernels of the NAS benchmarks do to memory, small and with a result that is known to the bit: it
 * depends on the size and the iterations, not on the number of threads or on the pages' home nodes. Options of all:
 *     --threads=4 --size=N --iterations=N --serial
 * With --serial the main thread touches everything first; otherwise each thread touches what it will work on. */
#ifndef NUMALENS_EXAMPLE_NAS_H
#define NUMALENS_EXAMPLE_NAS_H

#include "../example.h"

enum { NAS_MOST_THREADS = 64 };

struct nas_team {
    long threads, size, iterations;
    bool serial;
    pthread_barrier_t barrier;
};

struct nas_member {
    struct nas_team *team;
    long number;
    void (*init)(long first, long last);
    void (*work)(struct nas_member *member);
};

/* The member's part of `count` things: [*first, *last). */
static inline void nas_part(const struct nas_member *member, long count, long *first, long *last)
{
    *first = count * member->number / member->team->threads;
    *last = count * (member->number + 1) / member->team->threads;
}

static inline void nas_wait(struct nas_member *member)
{
    pthread_barrier_wait(&member->team->barrier);
}

static inline void *nas_body(void *argument)
{
    struct nas_member *member = argument;
    long first, last;
    nas_part(member, member->team->size, &first, &last);
    if (!member->team->serial)
        member->init(first, last);
    nas_wait(member);
    member->work(member);
    return NULL;
}

static inline struct nas_team nas_options(int argc, char **argv, long size, long iterations)
{
    struct nas_team team = {.threads = example_option(argc, argv, "threads", 4),
                            .size = example_option(argc, argv, "size", size),
                            .iterations = example_option(argc, argv, "iterations", iterations),
                            .serial = example_flag(argc, argv, "serial")};
    example_need(team.threads >= 1 && team.threads <= NAS_MOST_THREADS && team.size >= team.threads,
                 "--threads, --size");
    return team;
}

/* `init` fills the rows [first, last) of all arrays; a row's content must not depend on who does it. */
static inline void nas_run(struct nas_team *team, void (*init)(long, long), void (*work)(struct nas_member *))
{
    struct nas_member members[NAS_MOST_THREADS];
    pthread_t handles[NAS_MOST_THREADS];
    pthread_barrier_init(&team->barrier, NULL, (unsigned)team->threads);
    if (team->serial)
        init(0, team->size);
    for (long i = 0; i < team->threads; i++) {
        members[i] = (struct nas_member){.team = team, .number = i, .init = init, .work = work};
        handles[i] = example_thread(nas_body, &members[i]);
    }
    for (long i = 0; i < team->threads; i++)
        pthread_join(handles[i], NULL);
    pthread_barrier_destroy(&team->barrier);
}

static inline double *nas_array(long count)
{
    double *array = aligned_alloc(4096, ((size_t)count * sizeof *array + 4095) / 4096 * 4096);
    example_need(array != NULL, "aligned_alloc");
    return array;
}

/* A number between 0 and 1 that belongs to `i`. */
static inline double nas_value(uint64_t i)
{
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 32) * 0xd6e8feb86659fd93u;
    return (double)(i >> 11) * 0x1p-53;
}

/* Prints the bits of all elements, mixed. */
static inline void nas_checksum(const char *name, const double *array, long count)
{
    uint64_t sum = 0;
    for (long i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &array[i], sizeof bits);
        sum = (sum ^ bits) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    printf("%s %016lx\n", name, (unsigned long)sum);
}

#endif
