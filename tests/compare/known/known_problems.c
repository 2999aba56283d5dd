/* known_problems.c - LaProf's problems on made-up runs. */
#include "known.h"
#include "../../analysis/problem_runs.h"

/* Memory at its limit: loads take 3.3 times as long as on an idle machine. */
static void loaded_memory(char text[ANSWER])
{
    struct finding found = {.pattern = PATTERNS};
    enum contention contention = judge(SLOW_MEMORY, 3.3, true, false, &found);
    snprintf(text, ANSWER, "%s", contention == CONTENTION_MEMORY ? "contention" : "none");
}

/* LaProf's Table VI, a tenth of its fourth run: a thread makes more than twice as many as the others, and the paper calls it balanced. */
static void the_fourth_run(char text[ANSWER])
{
    static const uint32_t counts[WORKERS] = {583, 153, 205, 133, 141, 156, 146, 179};
    struct error err = {0};
    struct feeding f = slow_accesses(counts, 50);
    struct accesses *accesses = accesses_load(f.flow, &err);
    struct balance *balance = balance_make(accesses, 300);
    snprintf(text, ANSWER, "%s", balance->unbalanced ? "unbalanced" : "balanced");
    balance_free(balance);
    accesses_free(accesses);
    feeding_free(&f);
}

/* Three of eight threads are far from their data: that is placement, not a few threads. */
static void three_of_eight(char text[ANSWER])
{
    snprintf(text, ANSWER, "%s", is_unbalanced(208, (unsigned[8]){9, 6, 6}) ? "imbalance" : "placement");
}

const struct known known_problems[] = {
    {"loaded memory", "contention", loaded_memory, "tail_factor"},
    {"the fourth run", "balanced", the_fourth_run, "variation"},
    {"three of eight", "placement", three_of_eight, "heavy"},
    {0},
};
