/* capture/outside/remote_python.h - the interpreter of Python in a process that is sampled from outside, and the names of its frames.
 *
 * Which frames a thread has is the executor's to find, as a burst has left them (executor/script_frames.h). What they are called is read from the
 * process's memory, each line once, and reported as code of a runtime; pages that are not in memory are not read. What is read may be anything. */
#pragma once

#include "capture/outside/outside_thread.h"
#include "capture/process/process_table.h"
#include "executor/executor.h"

struct remote_python;

struct native_chain {
    uint64_t frames[EXECUTOR_CALLERS + 1];
    unsigned depth;
    bool cut;
};

struct remote_python *remote_python_new(uint32_t pid, size_t most); /* of names */
void remote_python_free(struct remote_python *python);

/* Looks for an interpreter among what the process has mapped by now, unless it has one. */
void remote_python_find(struct remote_python *python);

/* Before a thread is asked to stop: where Python has its state, if it has any. And when it has stopped. */
void remote_python_thread(struct remote_python *python, struct outside_thread *thread);
void remote_python_ask(struct remote_python *python, const struct outside_thread *thread, struct executor_job *job);

/* Behind a burst: a state that is another thread's by now is looked for again. */
void remote_python_answered(struct outside_thread *thread, const struct executor_job *job);

/* Whether so many accesses have the same chains. */
bool remote_python_alike(const struct executor_chains *a, const struct executor_chains *b, uint32_t accesses);

/* What the executor answered for access `number`, in place of the interpreter's own among `native` frames; how many there are then, at most `most`. Reports
 * names that are new. */
unsigned remote_python_chain(struct remote_python *python, struct sink *sink, const struct capture_process *process,
                             const volatile struct executor_job *job, uint32_t number,
                             const struct native_chain *native, uint64_t *frames, unsigned most);
