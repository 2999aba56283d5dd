/* capture/rotate/rotation.h - a recording in several files, one after the other, for programs that run long: each a trace that is whole
 * by itself, of which only the latest may be kept.
 *
 * The files of NAME.data are NAME.000001.data and so on (of a NAME that ends otherwise, NAME.000001). The one that is being
 * written has .part behind its name and gets its name with its last block. A file that cannot be written does not end the
 * recording: with the next one it is tried again, and the number of the one that is missing is not used again. */
#pragma once

#include "base/array.h"
#include "capture/options.h"
#include "capture/sink.h"

#include <sys/types.h>

struct rotation_file {
    char *path;
    dev_t device;
    ino_t inode; /* so that another's file of that name is not removed */
};

struct rotation {
    uint64_t every_ns, started; /* started: this file */
    uint32_t keep, part;        /* part: the number of this file, from 1 */
    char *output, *part_path, *path;
    struct trace_writer *next; /* prepared, with its names: */
    char *next_part_path, *next_path;
    struct error next_failure;
    unsigned breath; /* after so many carried events */
    void (*breathe)(void *context);
    void *breathe_context;
    struct trace_session *session; /* of all files, but for the number and the start */
    struct sink *sink;
    array_of(struct rotation_file) files; /* that are whole, oldest first */
    uint64_t written;                     /* bytes of whole files, of those that were removed too */
    uint64_t unwritten;                   /* events that no file has: of whole files, and of times without one */
    uint64_t seen;                        /* events before there was no file */
    uint64_t removed;                     /* files */
    struct error failure;                 /* the first; code 0 while all is well */
};

/* Opens the first file. Takes `session`. 0, or negative with `err`. */
int rotation_start(struct rotation *rotation, const struct capture_options *options, struct trace_session *session,
                   struct sink *sink, uint64_t now, struct error *err);

static inline bool rotation_due(const struct rotation *rotation, uint64_t now)
{
    return rotation->every_ns && now - rotation->started >= rotation->every_ns;
}

/* Begins the next file with what is carried. That takes a tenth of a second for a million blocks: `breathe` is called again and again,
 * and may put events into the sink, which are this file's still. */
void rotation_prepare(struct rotation *rotation, uint64_t now, void (*breathe)(void *context), void *context);

/* Ends this file with `ending`; the prepared one is the sink's from now on. The sink's lanes are empty then. */
void rotation_switch(struct rotation *rotation, struct trace_session *ending, uint64_t now);

/* Ends the last file. `ending` may be NULL: it is removed. */
void rotation_finish(struct rotation *rotation, struct trace_session *ending, uint64_t now);
void rotation_free(struct rotation *rotation);
