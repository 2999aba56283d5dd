/* capture/outside/thread_stop.h - stops a thread of another process for as long as its registers take to copy.
 *
 * A thread is traced from stop_ask() to stop_let_go() only: signals of the program stop it at no other time, and when the recorder is
 * killed in between the kernel lets the thread go. One register of it may be written, and only for a system call that this stop
 * has interrupted: so that the call is made again. */
#pragma once

#include "executor/executor.h"

#include <stdbool.h>
#include <sys/types.h>

enum stop_state {
    STOP_NOT_YET,
    STOP_TAKEN,   /* its registers are in the job; it is to be let go */
    STOP_IN_CALL, /* in the kernel, for a system call; or there was no job: it is to be let go */
    STOP_OTHER,   /* a signal came, or the process is being stopped by one: it was let go */
    STOP_ENDED,
};

/* 0, or -errno: it is another one's to trace, or has ended. */
int stop_ask(pid_t tid);

/* What has come of it; does not wait. `child`: it is one of the caller's, to whom its end is left. `job`: NULL when no more is wanted of it. */
enum stop_state stop_take(pid_t tid, bool child, struct executor_job *job);

/* For a job that is done when the thread runs again: the pages that its next calls and returns use, as they are now. */
void stop_copy_stack(pid_t tid, struct executor_job *job);

/* False when it has been killed meanwhile: it stays traced, and its end must be taken, by stop_take(). A process of which one thread's
 * end is not taken does not end for its parent either. */
bool stop_let_go(pid_t tid);
