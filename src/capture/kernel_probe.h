/* capture/kernel_probe.h - what the kernel allows here, tried out before anything depends on it. */
#pragma once

#include "base/error.h"
#include "capture/options.h"
#include "wire/event.h"

#include <stdbool.h>

/* What a recording is made with, and why not with more ("" when there is no more). */
struct capture_means {
    bool perf_tick; /* else timers */
    bool faults;    /* first touch from page faults, else from the samples */
    bool homes;     /* the kernel is asked for pages' homes */
    bool homes_refused;
    bool frames;                    /* and for their frames of physical memory */
    enum sample_source source;      /* SOURCE_SOFT unless hardware samples */
    bool outside;                   /* the soft source, with nothing in the program */
    char hardware[320];             /* which events sample, or "" */
    char hardware_reason[320];      /* why none does, or "" */
    enum fault_mechanism mechanism; /* that makes pages fault again; NONE when pages' use is not asked for */
    bool write_protect;             /* and uffd-wp beside it */
    char mechanism_reason[1024];    /* why not a better one, or "" */
    char counters_reason[400];      /* why memory controllers are not counted beside hardware samples, or "" */
    char memory_note[128];          /* "" where --memory holds */
    char tick_reason[256], faults_reason[256], homes_reason[256], frames_reason[256];
};

/* Whether the tick can come from perf_event_open; `err` says why not. */
bool probe_perf_tick(struct error *err);

/* Whether the kernel reports frames of physical memory: fills frames and frames_reason. */
void probe_frames(struct capture_means *means);

/* The message for a perf_event_open that failed with `code`. Returns it. */
int probe_explain_perf(int code, struct error *err);
