/* base/sandbox.h - gives up, for good, what this process does not need any more: rights, and system calls that only somebody who
 * has taken it over would make.
 *
 * Calls are refused by name with EPERM (a list of what is forbidden, since what a C library uses changes between versions), and
 * no call ends the process. Where the kernel or a container refuses filters, the process goes on without. */
#pragma once

enum sandbox_kind {
    SANDBOX_READER, /* reads foreign files: starts no program, opens no socket, traces nobody; may fork */
    SANDBOX_TRACER, /* likewise, but traces others and starts executors: the recorder that samples from outside */
    SANDBOX_SERVER, /* as a reader, and forks no more: recorder and view, once they run; threads may start */
};

/* For all threads of the process: no new privileges, and the filter. Children inherit both. 0, or a negative code when there is
 * no filter (-ENOTSUP: built with a sanitizer, which traces its own process). */
int sandbox_enter(enum sandbox_kind kind);

/* Of this thread and those that it starts: keeps the capabilities that recording takes, if it has them, and drops all others. */
void sandbox_drop_capabilities(void);
