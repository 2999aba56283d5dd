/* lib/numap/numap_measure.h - what is behind a measure of numap's clients: a session whose samples go to pages, one set for each
 * thread. Measures are the clients' memory with no room for ours, so this is found by the measure's address. */
#pragma once

#include "lib/numap/numap_pages.h"

struct measure_request {
    unsigned wanted; /* enum nlens_wanted */
    unsigned threads;
    const pid_t *tids;
    unsigned rate;  /* accesses between samples */
    unsigned pages; /* of each thread */
    uint64_t sample_type;
    unsigned refresh;                             /* samples between calls, 0: none */
    void (*call)(void *measure, unsigned thread); /* on the sampled thread, in a handler of SIGIO */
};

/* Makes the session and the pages (left in pages[threads]) of the measure at `key`. 0, or a negative errno with the
 * reason in measure_reason(). */
int measure_open(const void *key, const struct measure_request *request, struct perf_event_mmap_page **pages);
bool measure_is_open(const void *key);

/* After measure_stop the pages hold everything up to it, unless it was called in a handler of ours: then what is still
 * on its way comes a moment later. */
int measure_start(const void *key);
int measure_stop(const void *key);

/* Frees pages and session. Nothing when there are none. */
void measure_close(const void *key);

/* What the calling thread's last failure was. */
const char *measure_reason(void);
void measure_set_reason(const char *text);
