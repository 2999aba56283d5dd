/* migrate/history.h - pages that were moved, so that they do not bounce.
 *
 * After a move a page rests for some intervals, until samples can speak of its new place. When it is to be moved again
 * soon after, it is contended: it rests twice as long each time, up to a bound. A page that stays put long enough is
 * forgotten. Bounded in memory: when full, the calm ones are forgotten, then all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_REST = 2, /* intervals after a first move */
    HISTORY_REST_MOST = 256,
    HISTORY_SOON = 16, /* moved again within so many intervals of its rest's end: contended */
};

struct history;

struct history *history_new(size_t most_pages);
void history_free(struct history *history);

/* How often the page was moved, as far as that is remembered. */
uint32_t history_moves(const struct history *history, uint32_t pid, uint64_t page);

/* Whether it may move in this interval. */
bool history_allows(const struct history *history, uint32_t pid, uint64_t page, uint64_t interval);

void history_moved(struct history *history, uint32_t pid, uint64_t page, uint64_t interval);

/* It could not be moved: asked again only after a rest, twice as long each time. */
void history_failed(struct history *history, uint32_t pid, uint64_t page, uint64_t interval);

void history_forget(struct history *history, uint32_t pid);

/* Pages that were contended at least once. */
uint64_t history_contended(const struct history *history);
