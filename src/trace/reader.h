/* trace/reader.h - reads numalens.data, whole or damaged, and hands out its events in order of time.
 *
 * Any byte string is met with a clear error. A file that ends early (killed recorder, full disk) opens, and
 * trace_reader_damage says what is missing. */
#pragma once

#include "base/error.h"
#include "trace/session.h"
#include "wire/event.h"

#include <stdbool.h>

struct trace_reader;

struct trace_reader *trace_reader_open(const char *path, struct error *err);
void trace_reader_close(struct trace_reader *reader);

const struct trace_session *trace_reader_session(const struct trace_reader *reader);
const struct trace_session *trace_reader_ending(const struct trace_reader *reader); /* NULL: the file ends early */

/* The next event in order of time (at the same time: in order of event_kind, so that a definition comes before its
 * use; stack definitions come before every event of their process that names them). 1, 0 at the end, or negative. */
int trace_reader_next(struct trace_reader *reader, struct event *event, struct error *err);
void trace_reader_rewind(struct trace_reader *reader);

/* Leaves kinds out of trace_reader_next: bit 1 << event_kind set = handed out. All are at first. Rewinds. */
void trace_reader_only(struct trace_reader *reader, uint64_t kinds);

/* Skips samples, uses of pages, waits and losses before `since` and from `until` on (UINT64_MAX: to the end); ordinals
 * and trace_reader_count stay. What they depend on is handed out all the same. Rewinds. */
void trace_reader_window(struct trace_reader *reader, uint64_t since, uint64_t until);

/* When what is handed out begins and ends: a window's bounds, else what the file was recorded in. */
void trace_reader_span(const struct trace_reader *reader, uint64_t *start, uint64_t *end);

/* Whether not all of the run is in sight: a window, or a file that repeats what came before it. */
bool trace_reader_partial(const struct trace_reader *reader);
bool trace_reader_windowed(const struct trace_reader *reader);

/* The sample with that ordinal (0 .. trace_reader_count(EVENT_SAMPLE)-1), from a cache of decoded blocks. */
int trace_reader_sample(struct trace_reader *reader, uint64_t ordinal, struct event *event, struct error *err);

/* All samples in order of their ordinals: cheaper than one by one. */
int trace_reader_each_sample(struct trace_reader *reader, void (*visit)(void *context, const struct event *event),
                             void *context, struct error *err);

/* One by one again, the accesses that pages stand for (trace/page_access.h): ordinal 2n is what is not writing of page number n,
 * 2n + 1 its writes. -ERANGE when it has no such access. */
int trace_reader_page_access(struct trace_reader *reader, uint64_t ordinal, struct event *event, struct error *err);

/* Samples are in blocks: the first ordinal behind the block of this one, and the times that all in it are between. */
uint64_t trace_reader_sample_block(const struct trace_reader *reader, uint64_t ordinal, uint64_t *first_time,
                                   uint64_t *last_time);

/* A second reader of the same file for another thread, for single samples only. Close it before the first one. */
struct trace_reader *trace_reader_share(const struct trace_reader *reader);

/* From the block index: free. */
uint64_t trace_reader_count(const struct trace_reader *reader, enum event_kind kind);

/* NULL when the file is whole, else one sentence. */
const char *trace_reader_damage(const struct trace_reader *reader);
