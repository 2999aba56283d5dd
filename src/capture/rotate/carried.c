#include "capture/rotate/carried.h"

#include "capture/rotate/carried_image.h"
#include "trace/event_copy.h"
#include "trace/event_rows.h"

enum { EXITED_MOST = 1 << 16 };

struct carried {
    bool all_threads;
    array_of(struct carried_image *) images; /* in the order of their starts */
    struct map64 by_pid;                     /* to the latest image of a process */
    struct map64 exited;                     /* processes: what comes of them now came late */
    const struct carried_taker *taker;       /* while it is handed out; else NULL */
    array_of(struct event) meanwhile;        /* what came then: nothing changes before all is handed out */
    size_t handed;
    struct carried_image *last; /* most events are of the same process as the one before */
};

struct carried *carried_new(bool all_threads)
{
    struct carried *carried = mem_zalloc(sizeof *carried);
    carried->all_threads = all_threads;
    return carried;
}

void carried_free(struct carried *carried)
{
    if (!carried)
        return;
    array_each (&carried->images, struct carried_image *, image)
        carried_image_free(*image);
    array_each (&carried->meanwhile, struct event, event)
        event_copy_free(event);
    array_free(&carried->meanwhile);
    array_free(&carried->images);
    map64_free(&carried->by_pid);
    map64_free(&carried->exited);
    free(carried);
}

static struct carried_image *image_find(struct carried *carried, uint32_t pid)
{
    if (carried->last && carried->last->pid == pid)
        return carried->last;
    const uint64_t *place = map64_find(&carried->by_pid, pid);
    return place ? carried->last = (struct carried_image *)(uintptr_t)*place : NULL;
}

static struct carried_image *image_new(struct carried *carried, uint32_t pid)
{
    struct carried_image *image = mem_zalloc(sizeof *image);
    image->pid = pid;
    array_push(&carried->images, image);
    *map64_insert(&carried->by_pid, pid, NULL) = (uintptr_t)image;
    return carried->last = image;
}

/* Drops an image that ended and that no forked child needs; then perhaps the one that it was forked from. */
static void let_go(struct carried *carried, struct carried_image *image)
{
    while (image && image->ended && image->children == 0) {
        struct carried_image *parent = image->parent;
        const uint64_t *place = map64_find(&carried->by_pid, image->pid);
        if (place && *place == (uintptr_t)image)
            map64_remove(&carried->by_pid, image->pid);
        size_t at = 0;
        while (carried->images.items[at] != image)
            at++;
        for (; at + 1 < carried->images.count; at++)
            carried->images.items[at] = carried->images.items[at + 1];
        carried->images.count--;
        carried->last = NULL;
        carried_image_free(image);
        if (parent && --parent->children == 0)
            carried_image_alone(parent);
        image = parent;
    }
}

static void see_start(struct carried *carried, const struct event *event)
{
    struct carried_image *former = image_find(carried, event->pid);
    struct carried_image *image = former;
    map64_remove(&carried->exited, event->pid);
    /* What came before its start was said is its own. */
    if (!former || former->start.kind) {
        image = image_new(carried, event->pid);
        if (former)
            former->ended = true;
    }
    image->start = event_copy(event);
    if (event->process.forked && event->process.parent != event->pid) {
        struct carried_image *parent = image_find(carried, event->process.parent);
        if (parent && parent != image && parent != former) {
            image->parent = parent;
            parent->children++;
            parent->last_fork = event->time > parent->last_fork ? event->time : parent->last_fork;
        }
    }
    if (former != image)
        let_go(carried, former);
    carried->last = NULL;
}

static void see_exit(struct carried *carried, const struct event *event)
{
    struct carried_image *image = image_find(carried, event->pid);
    if (carried->exited.count >= EXITED_MOST)
        map64_free(&carried->exited);
    map64_insert(&carried->exited, event->pid, NULL);
    if (!image)
        return;
    if (!image->exit.kind || image->exit.exit_status == -1)
        image->exit = *event;
    image->ended = true;
    let_go(carried, image);
}

static void see(struct carried *carried, const struct event *event)
{
    if (event->kind == EVENT_PROCESS_START) {
        see_start(carried, event);
        return;
    }
    if (event->kind == EVENT_PROCESS_EXIT) {
        see_exit(carried, event);
        return;
    }
    struct carried_image *image = image_find(carried, event->pid);
    if (image || !map64_find(&carried->exited, event->pid))
        carried_image_see(image ? image : image_new(carried, event->pid), event);
}

void carried_see(struct carried *carried, const struct event *event)
{
    if (event_rows[event->kind].carry == CARRY_NONE)
        return;
    if (!carried->taker) {
        see(carried, event);
        return;
    }
    carried->taker->put(carried->taker->context, event);
    array_push(&carried->meanwhile, event_copy(event));
}

static void hand_out(void *context, const struct event *event)
{
    struct carried *carried = context;
    const struct carried_taker *taker = carried->taker;
    taker->put(taker->context, event);
    if (taker->breathe && ++carried->handed % taker->each == 0)
        taker->breathe(taker->context);
}

void carried_replay(struct carried *carried, const struct carried_taker *taker)
{
    carried->taker = taker;
    array_each (&carried->images, struct carried_image *, image)
        carried_image_replay(*image, carried->all_threads, hand_out, carried);
    carried->taker = NULL;
    array_each (&carried->meanwhile, struct event, event) {
        see(carried, event);
        event_copy_free(event);
    }
    array_free(&carried->meanwhile);
}
