/* migrate/survey.h - one interval's page map with everything that must be known before a policy is asked: huge pages
 * put together, home nodes, what may not be moved and why. */
#pragma once

#include "migrate/memory.h"
#include "migrate/page_map.h"
#include "migrate/ranges.h"
#include "topology/topology.h"

struct survey_process {
    uint32_t pid;
    size_t first, count;           /* its pages */
    struct ranges ranges;          /* empty on a simulated machine */
    bool ended;                    /* nothing can be said of it any more */
    bool open[TOPOLOGY_MAX_NODES]; /* nodes its cpuset allows */
};

struct survey {
    struct nlens_policy_page *pages; /* the map's */
    size_t page_count;
    struct survey_process *processes;
    size_t process_count;
    uint64_t accesses, known, remote; /* known: with a home and a node */
    uint64_t homeless;                /* pages whose home the kernel would not report */
    uint64_t huge;                    /* pages that are huge */
    struct error failure;             /* code 0, or why some process could not be asked */
};

/* Surveys `map`, whose pages it uses until survey_free. `kernel`: there are real processes to read about. */
void survey_make(struct survey *survey, struct page_map *map, const struct memory *memory,
                 const struct topology *topology, bool kernel);
void survey_free(struct survey *survey);

const struct survey_process *survey_process_of(const struct survey *survey, uint32_t pid);
