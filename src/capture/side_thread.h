/* capture/side_thread.h - threads of the recorder beside its first one: a small stack, since address space may be limited, and
 * no signals, which are for the first thread alone: they must wake it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

bool side_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
