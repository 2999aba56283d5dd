/* lib/sampling/sample_session.h - what is behind a nlens_session; private to src/lib.
 *
 * Two locks, in this order: `delivery` of a session, held while its callback runs or its file is written, so that
 * batches keep their order; and the engine's, which guards everything else and is never held across either. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "capture/source.h"
#include "lib/sampling/dump.h"
#include "lib/sampling/session_hardware.h"
#include "numalens/capture.h"
#include "wire/event.h"

#include <pthread.h>

struct window {
    uint64_t from, to; /* ns; to: UINT64_MAX while it is open */
};

/* A sample on its way, with its call chain for the file. */
struct taken {
    nlens_sample sample;
    uint64_t physical; /* 0 when not known */
    uint32_t stack;
    uint8_t source, flags;
};

typedef array_of(struct taken) taken_array;

struct nlens_session {
    nlens_session_options options; /* what was not given is filled in */
    size_t sample_size;            /* of the client's samples */
    nlens_session *next;           /* in the engine's list */
    struct hardware *hardware;     /* NULL: on the soft sampler */
    struct sources sources;        /* with hardware: its events, once it is in the engine's list */
    bool running;
    unsigned busy;                   /* the library's thread is at it, and it must stay */
    array_of(struct window) windows; /* in order; older ones are forgotten when no sample of theirs can come any more */
    struct map64 tids;

    /* for nlens_session_read: a ring of options.room */
    nlens_sample *room;
    size_t room_first, room_count;

    taken_array batch; /* for callback and file */
    pthread_mutex_t delivery;
    struct dump *dump; /* NULL: no file */

    char source[640];

    nlens_session_stats stats;
    uint64_t overrun_before, skipped_before; /* the engine's counts when the session was made */
};

/* Takes a sample if it is one of this session's. Call with the engine's lock held. */
void session_offer(nlens_session *session, const struct taken *taken);

/* Hands the batch out. Call without locks. */
void session_deliver(nlens_session *session);

/* Forgets windows that ended before `time`. With the engine's lock held. */
void session_forget_windows(nlens_session *session, uint64_t time);
