/* capture/job_rank.h - which process of a job this one is, and the names of its files (docs/jobs.md).
 *
 * Launchers of parallel programs say it in the environment. Several may have left their variables: the innermost counts, which
 * is the MPI library's own, and a scheduler's only where a task of it runs and not the script around it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct job_rank {
    bool in_job;          /* else nothing but the host is known */
    uint32_t number;      /* from 0 */
    uint32_t size;        /* of the job; 0 when the launcher does not say */
    char job[96];         /* "" when the launcher does not name it */
    const char *launcher; /* "openmpi", "pmix", "pmi", "slurm" */
    char host[65];
};

/* `get` is getenv, or a test's. */
void job_rank_find(struct job_rank *rank, char *(*get)(const char *name));

/* The file for `pattern`: %r, %h and %j in it are rank, host and job, %% is a %. NULL as pattern: "numalens.data", in a job
 * "numalens.JOB/rank-00003.HOST.data". What is put in has no slash. NULL with `err` when several ranks would write the same
 * file, or there is no job. The caller frees it. */
char *job_rank_file(const struct job_rank *rank, const char *pattern, struct error *err);

/* Makes the folder of a file that job_rank_file named. */
int job_rank_make_folder(const char *file, struct error *err);
