/* capture/process/find_processes.h - processes that run already, by what they are called or belong to. */
#pragma once

#include "base/error.h"
#include "capture/options.h"

bool process_query_given(const struct process_query *query);

/* Calls visit() for each that is meant, but not for this process, its children and a numalens that started it. */
void processes_each(const struct process_query *query, void (*visit)(uint32_t pid, void *context), void *context);

/* The one that uses most CPU time now, of those that are meant and may be looked at. Takes a tenth of a second. 0 with `err` when there is none. */
uint32_t processes_busiest(const struct process_query *query, struct error *err);
