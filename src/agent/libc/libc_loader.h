/* agent/libc/libc_loader.h - a fork while another thread asks for the agent what is loaded.
 *
 * glibc gives a fork's child new locks of its heap and of dlopen, but not of dl_iterate_phdr (2.36): a child that was forked while another
 * thread held that waits for ever when it loads a library or throws. So a fork waits until no thread is in there on the agent's behalf, and
 * none enters until it is over: the agent's dl_iterate_phdr is -1 then and has visited nothing, and who called it asks again later. Nobody
 * waits but who forks. */
#pragma once

#include <stdbool.h>

/* Before and after a fork of libc's; the second in the child too. */
void loader_fork_begin(void);
void loader_fork_end(bool in_child);
