/* trace/sample_cache.h - single samples by their number, from the few blocks unpacked last. Private to src/trace. */
#ifndef NUMALENS_TRACE_SAMPLE_CACHE_H
#define NUMALENS_TRACE_SAMPLE_CACHE_H

#include "trace/index.h"

struct sample_cache;

/* Keeps using both. */
struct sample_cache *sample_cache_new(int fd, const struct trace_index *index);
void sample_cache_free(struct sample_cache *cache);

/* 0, -ERANGE when there is no such sample, -EILSEQ when its block is damaged. */
int sample_cache_get(struct sample_cache *cache, uint64_t ordinal, struct event *event);

#endif
