/* page/page.h - one HTML page with everything of a recording in it (SPEC C14-C21).
 *
 * The page itself, script and style in one file, is built from web/ and embedded; what is written here is its data:
 * a container for each run (docs/view.md). Everything is bounded, so that a page of any recording opens in a browser;
 * what was dropped is reported in it. */
#pragma once

#include "page/container.h"
#include "view/view.h"

struct memory_map_options;

struct page_run {
    const struct flow *flow;
    const struct view_options *view; /* path, damage and ending of the recording */
    const char *label;               /* what the page calls it */
    bool live;                       /* served: windows can be asked for */
    struct comparison *comparison;   /* with the page's other run: page_write's own; or NULL */
};

/* 0, or negative with `err` in a build without node: it has no page. */
int page_is_missing(struct error *err);

/* A run's container. The caller frees the bytes. */
int page_container(const struct page_run *run, struct container_bytes *bytes, struct error *err);

/* The same deflated, so small that it takes at most `max_bytes` in a page where that can be: maps get coarser for it. */
int page_packed(const struct page_run *run, size_t max_bytes, struct container_bytes *packed, struct error *err);

/* Writes the page of one run or two to `path`, whole or not at all: an older file stays as it is until the new one is there. */
int page_write(const char *path, const struct page_run *runs, unsigned count, struct error *err);

/* The page with an element for each run that fetches its data: what is served. The caller frees the bytes. */
int page_served(unsigned runs, struct container_bytes *bytes, struct error *err);

/* One map of a window of a run, as a container. The caller frees the bytes. */
int page_window(const struct flow *flow, const struct memory_map_options *window, struct container_bytes *bytes,
                struct error *err);
