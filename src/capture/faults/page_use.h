/* capture/faults/page_use.h - the pages that each thread used during one interval, kept in chunks until the interval is
 * over and then reported as EVENT_PAGE.
 *
 * A chunk holds one thread's pages of one interval. One that is full is reported at once and goes on empty; so is the oldest
 * when there are too many. Accesses must come in order of time. Used by one thread. */
#pragma once

#include "isa/direction.h"
#include "capture/sink.h"

struct page_use;

struct page_use_options {
    uint64_t interval_ns, begin; /* the first interval begins at `begin` */
    uint32_t chunks;             /* at most so many in memory */
    uint32_t chunk_pages;        /* at most so many pages in each */
    size_t memory;               /* bytes in all: chunks are reported early rather than exceed it */
    unsigned cpus;               /* of the machine */
};

struct page_access {
    uint64_t time, addr, size, ip; /* size: 0, or of the huge page that is known to be there */
    uint32_t pid, tid;             /* tid 0: not known */
    int cpu;                       /* -1: not known */
    enum direction direction;
    enum page_mechanism mechanism;
};

struct page_use *page_use_new(struct sink *sink, const struct page_use_options *options);
void page_use_free(struct page_use *use); /* what was not reported is dropped */

void page_use_add(struct page_use *use, const struct page_access *access);

/* Asks for sizes and frames of its pages now: later the process may have ended. */
void page_use_look(struct page_use *use, uint32_t pid);

/* Everything up to `time` has been added: reports intervals that are over by then, but pages that the kernel does not have
 * yet one interval later. */
void page_use_reach(struct page_use *use, uint64_t time);

/* The process is about to lose its memory (exec), or has ended: reports what is kept of it. */
void page_use_report_process(struct page_use *use, uint32_t pid, uint64_t time);
void page_use_report_all(struct page_use *use, uint64_t time);

/* The number of the interval that `time` falls into, and when an interval begins. */
uint64_t page_use_interval(const struct page_use *use, uint64_t time);

/* A page that the mechanism itself says was written between two looks, reported once page_use_written_over is called or
 * another process or interval is written of. */
struct page_written {
    uint32_t pid, tid;
    uint64_t begin, until;
    enum page_mechanism mechanism;
};
void page_use_written(struct page_use *use, const struct page_written *written, uint64_t page);
void page_use_written_over(struct page_use *use);

struct page_use_totals {
    uint64_t pages, chunks, early; /* reported; early: chunks reported before their interval was over */
};
struct page_use_totals page_use_totals(const struct page_use *use);
