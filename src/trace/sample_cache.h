/* trace/sample_cache.h - single samples by their number, from the few blocks unpacked last. Private to src/trace.
 *
 * Pages are handed out as samples too: trace/page_access.h. */
#pragma once

#include "trace/index.h"

struct sample_cache;

/* Keeps using both. Of one kind: EVENT_SAMPLE; or EVENT_PAGE, where ordinal 2n is what is not writing of page number n,
 * and 2n + 1 its writes. */
struct sample_cache *sample_cache_new(int fd, const struct trace_index *index, enum event_kind kind);
void sample_cache_free(struct sample_cache *cache);

/* 0, -ERANGE when there is no such sample (also: when the page has no such accesses), -EILSEQ when its block is damaged. */
int sample_cache_get(struct sample_cache *cache, uint64_t ordinal, struct event *event);

/* All samples (EVENT_SAMPLE only) in order of their ordinals. What is larger than the cache goes past it. 0, or -EILSEQ with
 * the ordinal from which a block is damaged. */
int sample_cache_each(struct sample_cache *cache, void (*visit)(void *context, const struct event *event),
                      void *context, uint64_t *ordinal);

/* See trace_reader_sample_block. */
uint64_t sample_cache_block(const struct sample_cache *cache, uint64_t ordinal, uint64_t *first_time,
                            uint64_t *last_time);
