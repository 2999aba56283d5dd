/* trace/writer.h - writes numalens.data: append-only blocks, each whole by itself (docs/format.md).
 *
 * Events may be appended in any order of time and kind; a block holds one kind of one process, sorted by time. The
 * file is readable up to its last whole block at any moment, whatever is killed. Created with mode 0600. */
#pragma once

#include "base/error.h"
#include "trace/session.h"
#include "wire/event.h"

struct trace_writer;

/* NULL with `err` on failure. Of a session with REDACT_KEY (trace/redact.h) nothing that names somebody is written. An existing file is replaced only once the new one could be created. */
struct trace_writer *trace_writer_open(const char *path, const struct trace_session *session, struct error *err);

/* Copies the event. Blocks that are full are written. After a write error every call returns that error, and
 * trace_writer_unwritten counts what it could not keep. A stack gets the time at which its process's image began (or any
 * time not after its first use): readers hand it out then. */
int trace_writer_append(struct trace_writer *writer, const struct event *event, struct error *err);

/* Writes everything pending as blocks, so that a kill -9 now loses nothing that was appended before. */
int trace_writer_flush(struct trace_writer *writer, struct error *err);

/* What was appended so far is what this file repeats of earlier files of the same run, so that it is whole by itself: a mark
 * behind it says so, and trace_merge (trace/merge.h) leaves it out. */
int trace_writer_carried(struct trace_writer *writer, struct error *err);

/* Flushes, then writes `ending` (exit_status, duration_ns, and totals by key) as the last block, which shows a reader
 * that nothing is missing. Frees the writer in any case. `ending` may be NULL: then no last block is written. */
int trace_writer_close(struct trace_writer *writer, const struct trace_session *ending, struct error *err);

uint64_t trace_writer_bytes(const struct trace_writer *writer);     /* in the file so far */
uint64_t trace_writer_unwritten(const struct trace_writer *writer); /* events lost to write errors */
size_t trace_writer_pending(const struct trace_writer *writer);     /* bytes of memory held for blocks to come */
