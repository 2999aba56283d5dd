/* capture/rotate/carried_image.h - what is known of one program image: what a next file must repeat so that events that come later mean
 * the same there. Private to src/capture/rotate.
 *
 * What ended is dropped, with one exception: a forked child begins with what its parent had. While such a child lives, what its
 * parent had at the fork is kept together with its end. Threads' events come in their own order of time, but one thread's may
 * come before an earlier one of another: an end is taken only for what is older than it, and an end of nothing that is known
 * waits for its beginning. */
#pragma once

#include "capture/rotate/carried_chains.h"
#include "capture/rotate/carried_items.h"

#include <stdbool.h>

struct carried_thread {
    struct event start, name, exit; /* kind 0: not known */
    uint32_t tid;
};

struct carried_pool {
    struct event event; /* POOL_CREATED; kind 0: it was never created in sight */
    uint64_t handle;
    uint32_t generation; /* objects of an earlier one are freed */
    bool destroyed;
};

struct carried_image {
    uint32_t pid;
    struct event start, exit;     /* kind 0: not known */
    struct carried_image *parent; /* that it was forked from and depends on, or NULL */
    unsigned children;            /* that depend on this one */
    uint64_t last_fork;           /* of those */
    bool ended;                   /* exited, or replaced by exec */

    struct map64 freed; /* addresses of blocks that ended and that a child may have still */
    size_t frees_most;  /* when `frees` is looked through next */
    struct carried_items blocks, frees, pooled, touches, homes, frames;
    struct event first_chain; /* what it has besides its frames, all have; kind 0: there is none */
    struct carried_chains chains;
    array_of(struct event) repeated; /* whatever else is CARRY_ALL */
    array_of(struct event) layout;   /* modules and maps, and ends of those that are partly there */
    array_of(struct carried_thread) threads;
    struct map64 thread_of; /* tid, to the index of the latest */
    array_of(struct carried_pool) pools;
    struct map64 pool_of; /* handle, to an index */
};

/* Every event of the image's process but its start and end. */
void carried_image_see(struct carried_image *image, const struct event *event);

/* No forked child needs any more what ended. */
void carried_image_alone(struct carried_image *image);

/* Hands out the image as events with their own times. Threads that ended and that nothing of it names are forgotten, unless
 * `all_threads`. */
void carried_image_replay(struct carried_image *image, bool all_threads,
                          void (*put)(void *context, const struct event *event), void *context);

void carried_image_free(struct carried_image *image);
