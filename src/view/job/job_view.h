/* view/job/job_view.h - the report of a job's ranks (docs/jobs.md). Views of compare/job/job.h, for people and for programs. */
#pragma once

#include "compare/job/job.h"
#include "view/view.h"

/* `options->path` is the folder. */
int job_text(const struct job *job, const struct view_options *options, FILE *out, struct error *err);
int job_json(const struct job *job, const struct view_options *options, FILE *out, struct error *err);
