/* capture/count/count_reader.h - one counter: a perf event or a number in a file, as a sum that only means something as a difference. */
#pragma once

#include "capture/count/count_plan.h"

struct count_reader {
    const struct count_counter *counter;
    int fd;                           /* -1: lost, or never had */
    bool had;                         /* there was a first value */
    bool starved;                     /* no time on the hardware since the last value that counted */
    uint64_t value, enabled, running; /* at the last value that counted */
    uint64_t first_enabled, first_running;
    double sum; /* in the column's unit, since the first value */
};

/* What a file held when it was read last: its counters, one after the other, are of the same moment. */
struct count_file {
    const char *path; /* NULL: nothing yet */
    char text[16384]; /* a node's vmstat has 4 KiB */
};

/* 0 or -errno. The first value is read at once. */
int count_reader_open(struct count_reader *reader, const struct count_counter *counter);
void count_reader_close(struct count_reader *reader);

/* Brings `sum` up to date. A counter that was lost keeps its sum; one that is not reported just now too. A file that
 * comes back, as those of resctrl do with their CPUs, goes on counting. When `last` holds the reader's file it is not
 * read again; else it does afterwards. */
void count_reader_update(struct count_reader *reader, struct count_file *last);

/* Whether the sum means something: not before the first value, nor while others hold the hardware from the start on. */
bool count_reader_known(const struct count_reader *reader);

/* The arithmetic of it, for a raw value with the times that perf reports (equal for files). Times on the hardware that
 * are less than the whole scale the difference up; none at all waits for the next value. A value that fell was
 * restarted from zero, unless the counter is one that falls. */
void count_reader_take(struct count_reader *reader, uint64_t value, uint64_t enabled, uint64_t running);

/* The number in a file's text: its first, or that of the line which begins with `field`. False when it has none, as
 * "Unavailable" has not. */
bool count_reader_parse(const char *text, const char *field, uint64_t *value);
