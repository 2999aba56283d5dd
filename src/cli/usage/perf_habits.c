#include "cli/usage/perf_habits.h"

#include <stdio.h>
#include <string.h>

enum { SEEN_LOADS = 1, SEEN_STORES = 2 };

static const struct {
    const char *event; /* in a name such as cpu/mem-loads,ldlat=30/P */
    enum capture_samples source;
    unsigned what;
} memory_events[] = {
    {"mem-loads", SAMPLES_PEBS, SEEN_LOADS},
    {"mem-stores", SAMPLES_PEBS, SEEN_STORES},
    {"ibs_op", SAMPLES_IBS, SEEN_LOADS | SEEN_STORES},
    {"arm_spe", SAMPLES_SPE, SEEN_LOADS | SEEN_STORES},
    {"page-faults", SAMPLES_FAULTS, SEEN_LOADS | SEEN_STORES},
    {"minor-faults", SAMPLES_FAULTS, SEEN_LOADS | SEEN_STORES},
};

/* Commas stand between events, and in those of a PMU between slashes, too: pmu/event,term=1/P. */
static size_t event_length(const char *text)
{
    bool inside = false;
    size_t length = 0;
    for (; text[length] && (inside || text[length] != ','); length++)
        inside ^= text[length] == '/';
    return length;
}

static const char *one_event(const char *event, size_t length, struct capture_options *options, unsigned *seen)
{
    if (memmem(event, length, "ldlat", strlen("ldlat")))
        return "cycles are not a limit here: use --source pebs --loads --latency NS";
    for (unsigned i = 0; i < sizeof memory_events / sizeof *memory_events; i++) {
        if (!memmem(event, length, memory_events[i].event, strlen(memory_events[i].event)))
            continue;
        if (*seen && options->samples != memory_events[i].source)
            return "one source at a time: see --source";
        *seen |= memory_events[i].what;
        options->samples = memory_events[i].source;
        options->faults |= options->samples == SAMPLES_FAULTS;
        options->loads = *seen & SEEN_LOADS;
        options->stores = *seen & SEEN_STORES;
        return NULL;
    }
    return "memory accesses are sampled, without -e by the best source there is; events are mem-loads, mem-stores, "
           "ibs_op//, arm_spe_0//, page-faults; to count others use perf stat";
}

const char *perf_events(const char *events, struct capture_options *options, unsigned *seen)
{
    for (const char *at = events;; at++) {
        size_t length = event_length(at);
        const char *instead = one_event(at, length, options, seen);
        if (instead)
            return instead;
        at += length;
        if (!*at)
            return NULL;
    }
}

const char *perf_call_graph(const char *how)
{
    size_t length = strcspn(how, ",");
    if (length == strlen("dwarf") && strncmp(how, "dwarf", length) == 0)
        return NULL;
    return "call chains are always recorded, by the rules of .eh_frame as with dwarf: drop it; --frames N limits them";
}

const char *perf_sort_key(const char *key)
{
    return strcmp(key, "overhead") == 0 || strcmp(key, "sample") == 0 ? "samples" : key;
}

const char *perf_sort_report(const char *key)
{
    static const struct {
        const char *key, *report;
    } reports[] = {
        {"symbol", "functions"},   {"sym", "functions"}, {"srcline", "lines"},    {"dso", "functions"},
        {"comm", "processes"},     {"pid", "processes"}, {"tid", "threads"},      {"symbol_daddr", "objects"},
        {"dso_daddr", "objects"},  {"mem", "latency"},   {"weight", "latency"},   {"local_weight", "latency"},
        {"dcacheline", "sharing"}, {"snoop", "sharing"}, {"phys_daddr", "pages"}, {"parent", "sites"},
    };
    size_t length = strcspn(key, ","); /* perf takes several: the first decides */
    for (unsigned i = 0; i < sizeof reports / sizeof *reports; i++)
        if (strlen(reports[i].key) == length && strncmp(reports[i].key, key, length) == 0)
            return reports[i].report;
    return NULL;
}

struct instead {
    const char *word, *use; /* word: of several, with blanks between them and at both ends */
};

static const char *look_up(const struct instead *table, const char *word)
{
    char wanted[64];
    int length = snprintf(wanted, sizeof wanted, " %s ", word);
    for (; table->word && length < (int)sizeof wanted; table++)
        if (strstr(table->word, wanted))
            return table->use;
    return NULL;
}

const char *perf_command(const char *command)
{
    static const struct instead commands[] = {
        {" diff ", "numalens compare BEFORE AFTER"},
        {" mem c2c ", "numalens record -- PROGRAM, then numalens report; numalens import reads what perf recorded"},
        {" annotate ", "numalens report annotate"},
        {" list ", "numalens doctor: it reports which sources of samples there are"},
        {" evlist buildid-list ", "numalens report -v"},
        {" buildid-cache ", "perf's: what it keeps in ~/.debug is searched"},
        {" inject archive ", "numalens import perf.data"},
        {" numa ", "numalens report"},
        {" dump ", "numalens export --format text: it prints one line a sample"},
        {0},
    };
    return look_up(commands, command);
}

const char *perf_option(const char *command, const char *option)
{
    static const struct instead record[] = {
        {" -d --data -W --weight --phys-data --data-page-size -T --timestamp -P --period ",
         "it is always recorded: drop it"},
        {" -b --branch-any -j --branch-filter ", "branches are not recorded; call chains always are"},
        {" -D --delay ", "use --start-after TIME"},
        {" --switch-output --max-size ", "use --rotate TIME, and --keep N"},
        {" -m --mmap-pages ", "use --memory MIB"},
        {" -i --no-inherit ", "use --no-follow"},
        {" -t --tid -u --uid ", "use -p PID: all threads of a process are recorded"},
        {0},
    };
    static const struct instead report[] = {
        {" -F --fields ",
         "numalens export --format text -F prints fields of samples; numalens report --json has those of rows"},
        {" -o --output ", "it prints to standard output: numalens report > FILE"},
        {" --percent-limit ", "use --filter min-share=5%"},
        {" -c --comms -d --dsos -S --symbols --tid --pid ", "use --filter: numalens help report has what it takes"},
        {" -k --vmlinux --kallsyms ", "samples in the kernel are one row of numalens report functions"},
        {" --header --header-only -I --show-info ", "use -v"},
        {" -D --dump-raw-trace ", "use numalens export --format text"},
        {" --mem-mode ", "it is what numalens report prints: drop it"},
        {0},
    };
    static const struct instead script[] = {
        {" -F --fields ", "use numalens export --format text -F: it prints one line a sample"},
        {" -s --script -g --gen-script ",
         "name it: numalens script mine.c, in C; --show NAME prints one to start from"},
        {" -D --dump-raw-trace ", "use numalens export --format text"},
        {0},
    };
    const struct instead *table = strcmp(command, "numalens record") == 0   ? record
                                  : strcmp(command, "numalens report") == 0 ? report
                                  : strcmp(command, "numalens script") == 0 ? script
                                                                            : NULL;
    return table ? look_up(table, option) : NULL;
}
