/* ranks.h - made-up ranks of a job. */
#ifndef NUMALENS_TESTS_COMPARE_RANKS_H
#define NUMALENS_TESTS_COMPARE_RANKS_H

#include "compare/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { RANKS = 4 };

/* A rank with a second of CPU time for each hundred bursts, and one object that all its work is at. */
static inline struct rank_summary *rank_with(uint32_t number, uint64_t bursts, uint64_t mpi_bursts)
{
    static const char *const paths[] = {"d/0.data", "d/1.data", "d/2.data", "d/3.data"};
    struct rank_summary *rank = rank_summary_unread(paths[number % RANKS], "");
    rank->in_job = rank->ended = true;
    rank->rank = number;
    rank->ranks = RANKS;
    rank->job = "77";
    rank->launcher = "openmpi";
    rank->host = number < 2 ? "a" : "b";
    rank->command = "./app";
    rank->bursts = bursts;
    rank->mpi_bursts = mpi_bursts;
    rank->cpu_s = (double)bursts / 100;
    array_push(
        &rank->objects,
        (struct rank_object){
            .name = "field", .file = "app.c", .line = 7, .kind = OBJECT_HEAP, .work = (double)(bursts - mpi_bursts)});
    return rank;
}

static inline struct job *make(struct rank_summary **ranks, size_t count)
{
    struct error err = {0};
    struct job *job = job_make(ranks, count, "d", &err);
    assert_non_null(job);
    return job;
}

static inline void end(struct job *job, struct rank_summary **ranks, size_t count)
{
    job_free(job);
    for (size_t i = 0; i < count; i++)
        rank_summary_free(ranks[i]);
}

#endif
