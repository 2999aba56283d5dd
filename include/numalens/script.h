/* numalens/script.h - the frame of a script: an analysis of a trace that is one function.
 *
 *     #include <numalens/script.h>
 *
 *     static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
 *     {
 *         printf("%lu of %lu accesses are remote\n", (unsigned long)nlens_group_totals(group)->remote, ...);
 *         return 0;
 *     }
 *
 * `numalens script FILE.c [TRACE] [-- ARGUMENTS]` compiles and runs it. It is an ordinary program all the same:
 *     cc -O2 -o mine mine.c $(pkg-config --cflags --libs numalens) && ./mine TRACE ARGUMENTS
 *
 * This header defines main. It opens the trace (the first argument), makes a group from the arguments that are
 * conditions (KEY=VALUE: see nlens_group_filter) and calls script() with the other arguments: argv[0] is the script's
 * name. The group holds all accesses when no condition was given. What script() returns is the exit status.
 *
 * From the environment: NUMALENS_TOPOLOGY, NUMALENS_ASSIGN, NUMALENS_HOMES, NUMALENS_SYMFS as in nlens_options. While a trace is
 * read for more than two seconds, one line on the terminal shows how far it is; it is erased before script() is called. */
#ifndef NUMALENS_SCRIPT_H
#define NUMALENS_SCRIPT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <numalens/flow.h>

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv);

/* ---- Numbers for people ------------------------------------------------------------------------------------------ */

static inline double script_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "1.5 s", "20 ms", "312 ns"; "-" for NLENS_FOREVER. Returns one of eight buffers that are reused: use it at once. */
static inline const char *script_time(uint64_t ns)
{
    static char texts[8][32];
    static unsigned next;
    char *text = texts[next++ % 8];
    if (ns == NLENS_FOREVER)
        snprintf(text, sizeof texts[0], "-");
    else if (ns < 1000)
        snprintf(text, sizeof texts[0], "%u ns", (unsigned)ns);
    else if (ns < 1000000)
        snprintf(text, sizeof texts[0], "%.3g us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(text, sizeof texts[0], "%.3g ms", (double)ns / 1e6);
    else
        snprintf(text, sizeof texts[0], "%.2f s", (double)ns / 1e9);
    return text;
}

/* Mean latency with its unit: "212 ns", "-" without any. As script_time. */
static inline const char *script_latency(nlens_trace *trace, const nlens_totals *totals)
{
    static char texts[8][32];
    static unsigned next;
    char *text = texts[next++ % 8];
    const char *unit = nlens_info(trace, "latency_unit");
    if (totals->latency_count)
        snprintf(text, sizeof texts[0], "%.0f %.10s", (double)totals->latency_sum / (double)totals->latency_count,
                 unit ? unit : "ns");
    else
        snprintf(text, sizeof texts[0], "-");
    return text;
}

/* The number in `text` (an argument), or `otherwise` when there is none. A text that is no number ends the script. */
static inline unsigned long script_number(const char *text, unsigned long otherwise)
{
    char *end;
    if (!text)
        return otherwise;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || *text == '-') {
        fprintf(stderr, "'%s' is no number\n", text);
        exit(2);
    }
    return number;
}

/* ---- How far reading is --------------------------------------------------------------------------------------------- */

struct script_line {
    const char *title;
    time_t due; /* when it is drawn next, in seconds, which is all that ISO C has; 0: never */
    unsigned drawn;
};

/* NUMALENS_PROGRESS_MS: the time until it appears, for tests. */
static inline void script_line_begin(struct script_line *line, const char *title)
{
    const char *wait = getenv("NUMALENS_PROGRESS_MS");
    line->title = title;
    line->drawn = 0;
    line->due = isatty(STDERR_FILENO) ? time(NULL) + (wait && *wait ? atol(wait) / 1000 : 2) : 0;
}

static inline void script_line_draw(void *data, const char *what, uint64_t done, uint64_t total)
{
    struct script_line *line = (struct script_line *)data;
    char text[72], part[16] = "";
    time_t now = time(NULL);
    if (line->due == 0 || now < line->due)
        return;
    if (total && done <= total)
        snprintf(part, sizeof part, ", %u%%", (unsigned)(100 * (double)done / (double)total));
    snprintf(text, sizeof text, "%.24s: %.24s%s", line->title, what, part);
    fprintf(stderr, "\r%-*s", (int)line->drawn, text);
    fflush(stderr);
    line->drawn = line->drawn > strlen(text) ? line->drawn : (unsigned)strlen(text);
    line->due = now + 1;
}

static inline void script_line_end(struct script_line *line)
{
    if (line->drawn)
        fprintf(stderr, "\r%*s\r", (int)line->drawn, "");
    fflush(stderr);
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    nlens_error err;
    struct script_line line;
    nlens_options options = {
        sizeof options, getenv("NUMALENS_TOPOLOGY"), getenv("NUMALENS_ASSIGN"), getenv("NUMALENS_HOMES"),
        NULL,           getenv("NUMALENS_SYMFS"),    script_line_draw,          &line};
    script_line_begin(&line, argv[0]);
    nlens_trace *trace = nlens_open_with(argc > 1 ? argv[1] : "numalens.data", &options, &err);
    script_line_end(&line);
    if (!trace) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 1;
    }
    if (nlens_damage(trace))
        fprintf(stderr, "%s: %s\n", argv[0], nlens_damage(trace));
    const nlens_totals *totals = nlens_trace_totals(trace);
    if (totals->samples && !totals->home_known && !totals->remote)
        fprintf(stderr, "%s: the home nodes of the pages are not known: 0%% remote means unknown here\n", argv[0]);
    nlens_group *group = nlens_group_new(trace);
    int count = 1, status = 0;
    for (int i = 2; i < argc && status == 0; i++) {
        if (!strchr(argv[i], '=')) {
            argv[count++] = argv[i];
        } else if (nlens_group_filter(group, argv[i], &err) < 0) {
            fprintf(stderr, "%s: %s\n", argv[0], err.text);
            status = 2;
        }
    }
    argv[count < argc ? count : argc] = NULL;
    if (status == 0)
        status = script(trace, group, count, argv);
    nlens_close(trace);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: the output could not be written\n", argv[0]);
        return status ? status : 1;
    }
    return status;
}

#endif
