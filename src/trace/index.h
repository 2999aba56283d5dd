/* trace/index.h - where the whole blocks of a file are, and what is wrong with the rest. Private to src/trace. */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "trace/format.h"
#include "trace/session.h"

#include <stdbool.h>

struct index_block {
    uint64_t payload;       /* offset in the file */
    uint64_t first_ordinal; /* ordinal of its first event among those of its kind */
    struct trace_block_header header;
};

struct trace_index {
    array_of(struct index_block) blocks; /* of events, whole and checked, in file order */
    struct trace_session *session, *ending;
    uint64_t counts[EVENT_KINDS];
    bool has_carried; /* there is such a mark */
    size_t carried;   /* so many of the blocks, the first ones, repeat what earlier files of the run have */
    uint64_t first_time, last_time;
    bool torn;    /* something in it is no whole block */
    char *damage; /* or NULL */
};

/* Reads the whole file once. `name` is for messages. */
int trace_index_build(struct trace_index *index, int fd, const char *name, struct error *err);
void trace_index_free(struct trace_index *index);

/* Reads exactly that many bytes; false at a file's end or on an error. */
bool trace_read_at(int fd, uint64_t offset, void *bytes, size_t size);
