/* lib/sampling/dump.h - a session's file: a numalens.data like a recording's, without the objects that only a preloaded agent
 * sees. Used by whoever holds the session's `delivery`. */
#pragma once

#include "base/error.h"
#include "capture/kernel_probe.h"
#include "numalens/capture.h"

struct dump;
struct taken;

/* `means`: what samples are taken with. NULL with `err` on failure. */
struct dump *dump_open(const nlens_session_options *options, struct capture_means means, struct error *err);

void dump_samples(struct dump *dump, const struct taken *taken, size_t count);

/* Puts on the disk what was given so far. */
int dump_flush(struct dump *dump, struct error *err);

/* Samples that could not be written. */
uint64_t dump_unwritten(const struct dump *dump);

/* Ends the file and frees the dump, also on failure. */
int dump_close(struct dump *dump, const nlens_session_stats *stats, struct error *err);
