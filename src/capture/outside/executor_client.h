/* capture/outside/executor_client.h - starts an executor (executor/executor.h) for a process, gives it jobs, ends it. */
#pragma once

#include "base/error.h"
#include "capture/outside/remote_rules.h"
#include "executor/executor.h"

struct executor_client;

/* Needs the right to trace the process: NULL with `err` when that or the executor itself is refused. */
struct executor_client *executor_start(uint32_t pid, struct error *err);
void executor_stop(struct executor_client *client);

/* Where jobs are put and answers are found. Answers are the executor's: not to be believed. */
struct executor_job *executor_job(struct executor_client *client);

/* Memory of devices that the process has mapped by now is not read. As it starts it knows those of then. */
void executor_find_devices(struct executor_client *client, uint32_t pid);

/* Has the job done, which asks for `rules` (NULL: it may ask for none). False: the executor has ended, or takes longer than any job may: no more can be
 * had from it. */
bool executor_run(struct executor_client *client, const struct remote_rules *rules);

uint64_t executor_cpu_ns(const struct executor_client *client);
