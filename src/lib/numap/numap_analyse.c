/* lib/numap/numap_analyse.c - numap.h: what samples say, in words. */
#include "numap.h"
#include "lib/numap/numap_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVED_BY(what, levels)                                                                                        \
    int is_served_by_##what(union perf_mem_data_src data_src)                                                          \
    {                                                                                                                  \
        return data_src.mem_lvl & PERF_MEM_LVL_HIT && data_src.mem_lvl & (levels);                                     \
    }

SERVED_BY(local_cache1, PERF_MEM_LVL_L1)
SERVED_BY(local_cache2, PERF_MEM_LVL_L2)
SERVED_BY(local_cache3, PERF_MEM_LVL_L3)
SERVED_BY(local_lfb, PERF_MEM_LVL_LFB)
SERVED_BY(local_cache, PERF_MEM_LVL_L1 | PERF_MEM_LVL_LFB | PERF_MEM_LVL_L2 | PERF_MEM_LVL_L3)
SERVED_BY(local_memory, PERF_MEM_LVL_LOC_RAM)
SERVED_BY(remote_cache_or_local_memory, PERF_MEM_LVL_REM_CCE1)
SERVED_BY(remote_memory, PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)

int is_served_by_local_NA_miss(union perf_mem_data_src data_src)
{
    return data_src.mem_lvl & PERF_MEM_LVL_NA ||
           (data_src.mem_lvl & PERF_MEM_LVL_MISS && data_src.mem_lvl & PERF_MEM_LVL_L3);
}

char *concat(const char *s1, const char *s2)
{
    char *text = NULL;
    return asprintf(&text, "%s%s", s1, s2) < 0 ? NULL : text;
}

struct named {
    unsigned bit;
    const char *name;
};

char *get_data_src_opcode(union perf_mem_data_src data_src)
{
    static const struct named names[] = {
        {PERF_MEM_OP_NA, "NA"},           {PERF_MEM_OP_LOAD, "Load"},      {PERF_MEM_OP_STORE, "Store"},
        {PERF_MEM_OP_PFETCH, "Prefetch"}, {PERF_MEM_OP_EXEC, "Exec code"},
    };
    char text[64] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (data_src.mem_op & names[i].bit)
            strcat(text, names[i].name);
    return concat(text, "");
}

char *get_data_src_level(union perf_mem_data_src data_src)
{
    static const struct named names[] = {
        {PERF_MEM_LVL_L1, "L1"},
        {PERF_MEM_LVL_LFB, "LFB"},
        {PERF_MEM_LVL_L2, "L2"},
        {PERF_MEM_LVL_L3, "L3"},
        {PERF_MEM_LVL_LOC_RAM, "Local_RAM"},
        {PERF_MEM_LVL_REM_RAM1, "Remote_RAM_1_hop"},
        {PERF_MEM_LVL_REM_RAM2, "Remote_RAM_2_hops"},
        {PERF_MEM_LVL_REM_CCE1, "Remote_Cache_1_hop"},
        {PERF_MEM_LVL_REM_CCE2, "Remote_Cache_2_hops"},
        {PERF_MEM_LVL_IO, "I/O_Memory"},
        {PERF_MEM_LVL_UNC, "Uncached_Memory"},
    };
    char text[64] = "";
    if (data_src.mem_lvl & PERF_MEM_LVL_NA)
        strcat(text, "NA");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (data_src.mem_lvl & names[i].bit) {
            strcat(text, names[i].name);
            break;
        }
    }
    if (data_src.mem_lvl & PERF_MEM_LVL_HIT)
        strcat(text, "_Hit");
    else if (data_src.mem_lvl & PERF_MEM_LVL_MISS)
        strcat(text, "_Miss");
    return concat(text, "");
}

static void print_sample(const struct sample *sample)
{
    char *level = get_data_src_level(sample->data_src);
    printf("pc=%" PRIx64 ", @=%" PRIx64 ", src level=%s, latency=%" PRIu64 "\n", sample->ip, sample->addr,
           level ? level : "", sample->weight);
    free(level);
}

static const struct {
    const char *name;
    int (*holds)(union perf_mem_data_src data_src);
} kinds[] = {
    {"local cache 1", is_served_by_local_cache1},
    {"local cache 2", is_served_by_local_cache2},
    {"local cache 3", is_served_by_local_cache3},
    {"local cache LFB", is_served_by_local_lfb},
    {"local memory", is_served_by_local_memory},
    {"remote cache or local memory", is_served_by_remote_cache_or_local_memory},
    {"remote memory", is_served_by_remote_memory},
    {"unknown l3 miss", is_served_by_local_NA_miss},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct kind_counts {
    unsigned thread;
    int total, counts[KINDS];
    char print;
};

static void tally_sample(void *context, const struct sample *sample)
{
    struct kind_counts *tally = context;
    tally->total++;
    for (unsigned kind = 0; kind < KINDS; kind++)
        tally->counts[kind] += kinds[kind].holds(sample->data_src) != 0;
    if (tally->print)
        print_sample(sample);
}

/* This one prints: clients ask for it by its name. Samples are those of the starts that are not generic. */
int numap_sampling_print(struct numap_sampling_measure *measure, char print_samples)
{
    for (unsigned thread = 0; thread < measure->nb_threads; thread++) {
        struct perf_event_mmap_page *page = measure->metadata_pages_per_tid[thread];
        if (!page) {
            measure_set_reason("nothing was sampled yet");
            return ERROR_NUMAP_STOP_BEFORE_START;
        }
        struct kind_counts tally = {.thread = thread, .print = print_samples};
        pages_each(page, tally_sample, &tally);
        printf("\nhead = %" PRIu64 " compared to max = %zu\n", (uint64_t)page->data_head, measure->mmap_len);
        printf("Thread %u: %-8d samples\n", thread, tally.total);
        for (unsigned kind = 0; kind < KINDS; kind++)
            printf("Thread %u: %-8d %-30s %0.3f%%\n", thread, tally.counts[kind], kinds[kind].name,
                   tally.total ? 100.0 * tally.counts[kind] / tally.total : 0.0);
        measure->total_samples += tally.total % measure->nb_refresh;
    }
    printf("\nTotal sample number : %d\n", measure->total_samples);
    return 0;
}

int numap_sampling_read_print(struct numap_sampling_measure *measure, char print_samples)
{
    return numap_sampling_print(measure, print_samples);
}

int numap_sampling_write_print(struct numap_sampling_measure *measure, char print_samples)
{
    return numap_sampling_print(measure, print_samples);
}
