/* example.h - what the example programs share: options of the form --name=N, and printing the truth.
 *
 * Each example's right answer is known by construction. With --truth it also prints how often each thread read and
 * wrote each object, one line a pair, in words that tests read:
 *     truth object=NAME thread=NAME reads=N writes=N
 * An allocation that a report should name carries the comment "site: NAME" on its line, so that tests find the line.
 * Arrays are read through volatile pointers: one load or store in the source is one in the program. */
#ifndef NUMALENS_EXAMPLE_H
#define NUMALENS_EXAMPLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in --NAME=N, or `fallback`. */
static inline long example_option(int argc, char **argv, const char *name, long fallback)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, length) == 0 && argv[i][2 + length] == '=')
            return strtol(argv[i] + 3 + length, NULL, 0);
    }
    return fallback;
}

/* How much of its work an example does: the number in --NAME=N, or `fallback`, times EXAMPLE_LONGER in the environment, and
 * divided by EXAMPLE_SHORTER. With them a test that needs more samples, or fewer, gets them from the same program, its children
 * included, under the same command. */
static inline long example_work(int argc, char **argv, const char *name, long fallback)
{
    const char *longer = getenv("EXAMPLE_LONGER"), *shorter = getenv("EXAMPLE_SHORTER");
    long work = example_option(argc, argv, name, fallback), least = work > 0;
    work = work * (longer ? strtol(longer, NULL, 10) : 1) / (shorter ? strtol(shorter, NULL, 10) : 1);
    return work > least ? work : least;
}

/* Whether --NAME is there. */
static inline bool example_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return true;
    }
    return false;
}

static inline void example_truth(const char *object, const char *thread, unsigned long reads, unsigned long writes)
{
    printf("truth object=%s thread=%s reads=%lu writes=%lu\n", object, thread, reads, writes);
}

/* An example whose set-up fails says so and ends: nothing it could print would be true. */
static inline void example_need(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "example: %s failed\n", what);
    exit(99);
}

static inline pthread_t example_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    example_need(pthread_create(&thread, NULL, run, argument) == 0, "pthread_create");
    return thread;
}

#endif
