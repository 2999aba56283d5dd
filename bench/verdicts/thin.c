/* thin.c - a recording as it would be with fewer bursts: keeps so many of them, chosen at random, and everything else.
 *
 *   thin FROM TO BURSTS SEED
 *
 * Prints how many it kept. Exit status 1 when the recording cannot be read or written, or has fewer. */
#include "base/map64.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <stdio.h>
#include <stdlib.h>

struct thinning {
    struct trace_reader *reader;
    struct trace_writer *writer;
    struct map64 keeps; /* thread -> 1: the burst it is in is kept */
    uint64_t left, wanted, kept, state;
};

static double random_part(struct thinning *thinning)
{
    thinning->state ^= thinning->state << 13;
    thinning->state ^= thinning->state >> 7;
    thinning->state ^= thinning->state << 17;
    return (double)(thinning->state >> 11) / (double)(1ull << 53);
}

static uint64_t count_bursts(struct trace_reader *reader, struct error *err)
{
    struct event event;
    uint64_t count = 0;
    while (trace_reader_next(reader, &event, err) > 0)
        count += event.kind == EVENT_SAMPLE && (event.sample.flags & SAMPLE_FIRST);
    trace_reader_rewind(reader);
    return count;
}

/* Each of those that are left has the same chance to be among those still wanted. */
static bool is_kept(struct thinning *thinning, const struct event *event)
{
    uint64_t *keeps = map64_insert(&thinning->keeps, (uint64_t)event->pid << 32 | (uint32_t)event->tid, NULL);
    if (event->sample.flags & SAMPLE_FIRST) {
        *keeps = random_part(thinning) * (double)thinning->left < (double)thinning->wanted;
        thinning->left--;
        thinning->wanted -= *keeps;
        thinning->kept += *keeps;
    }
    return *keeps;
}

static int thin(struct thinning *thinning, const char *to, struct error *err)
{
    struct event event;
    int more;
    thinning->writer = trace_writer_open(to, trace_reader_session(thinning->reader), err);
    if (!thinning->writer)
        return -1;
    while ((more = trace_reader_next(thinning->reader, &event, err)) > 0) {
        if (event.kind == EVENT_SAMPLE && !is_kept(thinning, &event))
            continue;
        if (trace_writer_append(thinning->writer, &event, err) != 0)
            break;
    }
    int failed = trace_writer_close(thinning->writer, trace_reader_ending(thinning->reader), err);
    return more != 0 || failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: thin FROM TO BURSTS SEED\n");
        return 2;
    }
    struct thinning thinning = {.reader = trace_reader_open(argv[1], &err),
                                .wanted = strtoull(argv[3], NULL, 10),
                                .state = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15u + 88172645463325252u};
    int failed = !thinning.reader;
    if (!failed) {
        thinning.left = count_bursts(thinning.reader, &err);
        failed = thinning.left < thinning.wanted ||
                 (random_part(&thinning), random_part(&thinning), thin(&thinning, argv[2], &err)) != 0;
    }
    if (failed)
        fprintf(stderr, "thin: %s: %s\n", argv[1], *err.text ? err.text : "has fewer bursts");
    else
        printf("%lu\n", (unsigned long)thinning.kept);
    trace_reader_close(thinning.reader);
    map64_free(&thinning.keeps);
    return failed ? 1 : 0;
}
