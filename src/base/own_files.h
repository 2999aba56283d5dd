/* base/own_files.h - this program: files that belong to it, found from its own path, and what it may do. */
#pragma once

#include <stdbool.h>

/* `path`, relative to this program's folder, made absolute; the caller frees it. NULL when it is not there. */
char *self_find(const char *path);

/* Whether it has a capability (CAP_IPC_LOCK). */
bool self_may(int capability);
