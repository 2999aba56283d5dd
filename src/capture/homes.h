/* capture/homes.h - asks the kernel for the home nodes of sampled pages: new pages at once, hot ones again every second
 * so that migrations show. Appends EVENT_HOME only when something is new. Bounded: when the set of pages is full it is
 * emptied, and pages are reported again. */
#pragma once

#include "capture/sink.h"
#include "capture/source.h"
#include "topology/topology.h"

struct homes;

/* Whether there is anything to ask: a real topology with memory on more than one node. `err` says why the kernel would
 * not answer, with code 0 when it would. */
bool homes_wanted(const struct topology *topology, struct error *err);

/* `nodes`: asks for homes; `frames`: asks for frames of physical memory too (topology/page_frame.h), appends EVENT_FRAME. */
struct homes *homes_new(struct sink *sink, size_t memory, bool nodes, bool frames);
void homes_free(struct homes *homes);

void homes_sample(struct homes *homes, uint32_t pid, uint64_t addr, uint64_t time);

/* Asks for what is due. */
void homes_ask(struct homes *homes, uint64_t now);

struct source homes_source(struct homes *homes);

size_t homes_memory(const struct homes *homes);
