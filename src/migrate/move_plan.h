/* migrate/move_plan.h - a policy's requests, checked, cut to what may and should move in this interval.
 *
 * Requests for pages or nodes that do not exist are counted, never followed. What remains is sorted out in this order:
 * there already; bound by the program; node closed by the cpuset; moved a moment ago; no room on the node; over the budget.
 * When there is more than the budget allows, pages with the most to gain go first. */
#pragma once

#include "migrate/history.h"
#include "migrate/survey.h"

enum plan_skip { /* why a request was not followed */
                 SKIP_THERE,
                 SKIP_BOUND,
                 SKIP_CPUSET,
                 SKIP_HELD,
                 SKIP_FULL,
                 SKIP_BUDGET,
                 SKIP_UNKNOWN, /* no home node, or a process that has exited */
                 SKIP_FEW,     /* too few accesses to judge by */
                 PLAN_SKIPS
};

enum plan_invalid { INVALID_PAGE, INVALID_NODE, INVALID_MEMORYLESS, PLAN_INVALIDS };

struct plan_limits {
    uint64_t pages, bytes; /* an interval */
    uint32_t min_accesses; /* accesses that a page must have */
};

struct plan_move {
    uint64_t page, bytes;
    uint32_t pid, from, to;
    uint64_t gain;
};

struct plan_word {
    char text[96];
    uint64_t count;
};

enum { PLAN_WORDS = 16 };

struct plan {
    struct plan_move *items; /* by process, node, address */
    size_t count, capacity;
    uint64_t requests;
    uint64_t skipped[PLAN_SKIPS];
    uint64_t invalid[PLAN_INVALIDS];
    struct plan_word words[PLAN_WORDS];
    size_t word_count;
};

const char *plan_skip_text(enum plan_skip why); /* "over the budget" */
const char *plan_skip_name(enum plan_skip why); /* "budget" */
const char *plan_invalid_text(enum plan_invalid what);

/* Asks the policy and fills `plan` (zeroed by the caller). Returns what the policy returned. */
int plan_make(struct plan *plan, const struct nlens_policy *policy, void *self, const struct nlens_machine *machine,
              const struct survey *survey, const struct memory *memory, const struct history *history,
              const struct plan_limits *limits, uint64_t interval, uint64_t duration_ns);
void plan_free(struct plan *plan);
