#include "migrate/move_plan.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { NO_REQUEST = UINT32_MAX, GAINS = 1 << 16, SPARE_PARTS = 50 }; /* a 50th of a node's memory is left alone */

struct around {
    size_t page;
    uint32_t before, after;
};

struct extra { /* a page that is in no sample: a neighbour */
    uint64_t page;
    uint32_t pid, to;
};

struct making {
    struct plan *plan;
    const struct nlens_machine *machine;
    const struct survey *survey;
    const struct history *history;
    const struct plan_limits *limits;
    uint64_t interval;
    uint32_t *requests; /* [page] */
    array_of(struct around) arounds;
    array_of(struct extra) extras;
    uint64_t room[TOPOLOGY_MAX_NODES]; /* bytes that may still go to a node */
};

const char *plan_skip_text(enum plan_skip why)
{
    static const char *const texts[PLAN_SKIPS] = {
        [SKIP_THERE] = "already on the node",
        [SKIP_BOUND] = "bound by the program",
        [SKIP_CPUSET] = "node closed by the cpuset",
        [SKIP_HELD] = "moved a moment ago",
        [SKIP_FULL] = "no room on the node",
        [SKIP_BUDGET] = "over the budget",
        [SKIP_UNKNOWN] = "home unknown",
        [SKIP_FEW] = "too few accesses",
    };
    return texts[why];
}

const char *plan_skip_name(enum plan_skip why)
{
    static const char *const names[PLAN_SKIPS] = {"there", "bound",  "cpuset",  "held",
                                                  "full",  "budget", "unknown", "few"};
    return names[why];
}

const char *plan_invalid_text(enum plan_invalid what)
{
    static const char *const texts[PLAN_INVALIDS] = {
        [INVALID_PAGE] = "pages it was not given",
        [INVALID_NODE] = "nodes that do not exist",
        [INVALID_MEMORYLESS] = "nodes without memory",
    };
    return texts[what];
}

/* --- what the policy calls --- */

static void take_move(void *context, size_t page, uint32_t node, uint32_t before, uint32_t after)
{
    struct making *making = context;
    struct plan *plan = making->plan;
    plan->requests++;
    if (page >= making->survey->page_count)
        plan->invalid[INVALID_PAGE]++;
    else if (node >= making->machine->node_count)
        plan->invalid[INVALID_NODE]++;
    else if (making->room[node] == 0 && making->machine->nodes[node].memory == 0)
        plan->invalid[INVALID_MEMORYLESS]++;
    else {
        making->requests[page] = node;
        if (before || after)
            array_push(&making->arounds, (struct around){page, before, after});
    }
}

static void take_word(void *context, const char *what, uint64_t count)
{
    struct plan *plan = ((struct making *)context)->plan;
    for (size_t i = 0; i < plan->word_count; i++) {
        if (strncmp(plan->words[i].text, what, sizeof plan->words[i].text - 1) == 0) {
            plan->words[i].count += count;
            return;
        }
    }
    if (plan->word_count == PLAN_WORDS)
        return;
    struct plan_word *word = &plan->words[plan->word_count++];
    word->count = count;
    strncpy(word->text, what, sizeof word->text - 1);
    word->text[sizeof word->text - 1] = 0;
}

/* --- what becomes of requests --- */

static uint64_t gain_of(const struct making *making, const struct nlens_policy_page *page, uint32_t to)
{
    const struct nlens_machine *machine = making->machine;
    int64_t gain = 0;
    for (uint32_t i = 0; i < page->access_count; i++) {
        const struct nlens_policy_access *access = &page->accesses[i];
        if (access->node >= machine->node_count || page->home < 0)
            continue;
        const uint16_t *row = machine->distances + (size_t)access->node * machine->node_count;
        gain += (int64_t)nlens_policy_accesses(access) * ((int64_t)row[page->home] - row[to]);
    }
    return gain > 0 ? (uint64_t)gain : 0;
}

static uint64_t accesses_of(const struct nlens_policy_page *page)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < page->access_count; i++)
        sum += nlens_policy_accesses(&page->accesses[i]);
    return sum;
}

/* Whether a page may go there, as far as its process and its past are concerned. */
static bool may_go(struct making *making, const struct survey_process *process, uint64_t page, uint32_t to)
{
    enum plan_skip why;
    const struct range *range = ranges_find(&process->ranges, page);
    if (process->ended || (process->ranges.count && (!range || range->special)))
        why = SKIP_UNKNOWN;
    else if (range && range->bound)
        why = SKIP_BOUND;
    else if (!process->open[to])
        why = SKIP_CPUSET;
    else if (!history_allows(making->history, process->pid, page, making->interval))
        why = SKIP_HELD;
    else
        return true;
    making->plan->skipped[why]++;
    return false;
}

static bool has_room(struct making *making, uint32_t to, uint64_t bytes)
{
    if (making->room[to] < bytes) {
        making->plan->skipped[SKIP_FULL]++;
        return false;
    }
    making->room[to] -= bytes;
    return true;
}

static void weigh_requests(struct making *making)
{
    const struct survey *survey = making->survey;
    array_reserve(making->plan,
                  making->plan->requests < survey->page_count ? making->plan->requests + 1 : survey->page_count);
    for (size_t p = 0; p < survey->process_count; p++) {
        const struct survey_process *process = &survey->processes[p];
        for (size_t i = process->first; i < process->first + process->count; i++) {
            const struct nlens_policy_page *page = &survey->pages[i];
            uint32_t to = making->requests[i];
            if (to == NO_REQUEST)
                continue;
            if (page->home == NLENS_NOWHERE)
                making->plan->skipped[SKIP_UNKNOWN]++;
            else if ((uint32_t)page->home == to)
                making->plan->skipped[SKIP_THERE]++;
            else if (making->limits->min_accesses > 1 && accesses_of(page) < making->limits->min_accesses)
                making->plan->skipped[SKIP_FEW]++;
            else if (may_go(making, process, page->address, to) && has_room(making, to, page->bytes))
                array_push(making->plan, (struct plan_move){.page = page->address,
                                                            .bytes = page->bytes,
                                                            .pid = page->pid,
                                                            .from = (uint32_t)page->home,
                                                            .to = to,
                                                            .gain = gain_of(making, page, to)});
        }
    }
}

/* --- neighbours --- */

ORDER_BY(by_address, struct extra, ORDER(a->pid, b->pid) ?: ORDER(a->page, b->page))

/* False when there are more than can be looked at in an interval. */
static bool add_extra(struct making *making, uint64_t page, uint32_t pid, uint32_t to)
{
    if (making->extras.count >= 4 * making->limits->pages)
        return false;
    array_push(&making->extras, (struct extra){page, pid, to});
    return true;
}

/* Pages are in order, so those of the view around one are its neighbours in the list. */
static void find_around(struct making *making, const struct around *around, const struct survey_process *process)
{
    const struct nlens_policy_page *pages = making->survey->pages, *page = &pages[around->page];
    const struct range *range = ranges_find(&process->ranges, page->address);
    uint64_t low = range ? range->start : 0, high = range ? range->end : UINT64_MAX;
    uint64_t step = making->machine->page_bytes, end = process->first + process->count;
    uint32_t to = making->requests[around->page];
    size_t known = around->page;
    for (uint64_t i = 1; i <= around->after && high - page->address > i * step; i++) {
        uint64_t addr = page->address + i * step;
        while (known < end && pages[known].address + pages[known].bytes <= addr)
            known++;
        if ((known == end || pages[known].address > addr) && !add_extra(making, addr, page->pid, to))
            return;
    }
    known = around->page;
    for (uint64_t i = 1; i <= around->before && page->address - low >= i * step; i++) {
        uint64_t addr = page->address - i * step;
        while (known > process->first && pages[known].address > addr)
            known--;
        if ((pages[known].address > addr || pages[known].address + pages[known].bytes <= addr) &&
            !add_extra(making, addr, page->pid, to))
            return;
    }
}

static void find_extras(struct making *making)
{
    const struct survey *survey = making->survey;
    const struct survey_process *process = survey->processes;
    array_each (&making->arounds, struct around, around) {
        const struct nlens_policy_page *page = &survey->pages[around->page];
        if (page->pid != process->pid)
            process = survey_process_of(survey, page->pid);
        find_around(making, around, process);
    }
    array_sort(&making->extras, by_address);
}

/* Home nodes of the neighbours of one process; those that are elsewhere become moves. */
static void weigh_extras(struct making *making, const struct survey_process *process, const struct extra *extras,
                         size_t count, const struct memory *memory)
{
    uint64_t *pages = mem_alloc(count * sizeof *pages);
    int32_t *homes = mem_alloc(count * sizeof *homes);
    bool *huge = mem_zalloc(count * sizeof *huge);
    struct error ignored;
    for (size_t i = 0; i < count; i++)
        pages[i] = extras[i].page;
    if (process->ranges.huge_bytes)
        ranges_huge(&process->ranges, process->pid, pages, count, huge);
    if (!process->ended && memory->locate(memory->context, process->pid, pages, count, homes, &ignored) == 0) {
        for (size_t i = 0; i < count; i++) {
            bool twice = i + 1 < count && pages[i + 1] == pages[i];
            uint64_t bytes = huge[i] ? process->ranges.huge_bytes : making->machine->page_bytes;
            if (twice || homes[i] < 0 || (uint32_t)homes[i] == extras[i].to || pages[i] % bytes)
                continue; /* not there, where it should be, or inside a huge page: nobody asked for it by name */
            if (may_go(making, process, pages[i], extras[i].to) && has_room(making, extras[i].to, bytes))
                array_push(making->plan, (struct plan_move){.page = pages[i],
                                                            .bytes = bytes,
                                                            .pid = process->pid,
                                                            .from = (uint32_t)homes[i],
                                                            .to = extras[i].to});
        }
    }
    free(pages);
    free(homes);
    free(huge);
}

static void add_neighbours(struct making *making, const struct memory *memory)
{
    find_extras(making);
    for (size_t first = 0, end; first < making->extras.count; first = end) {
        uint32_t pid = making->extras.items[first].pid;
        for (end = first; end < making->extras.count && making->extras.items[end].pid == pid;)
            end++;
        weigh_extras(making, survey_process_of(making->survey, pid), making->extras.items + first, end - first, memory);
    }
}

/* --- budget and order --- */

static unsigned bucket_of(const struct plan_move *move)
{
    return move->gain < GAINS - 1 ? (unsigned)move->gain : GAINS - 1;
}

/* Keeps what the budget allows, most gain first. Gains are small numbers: counted, not sorted. */
static void cut(struct plan *plan, const struct plan_limits *limits)
{
    uint64_t bytes = 0, kept_pages = 0, kept_bytes = 0;
    for (size_t i = 0; i < plan->count; i++)
        bytes += plan->items[i].bytes;
    if (plan->count <= limits->pages && bytes <= limits->bytes)
        return;
    uint32_t *counts = mem_zalloc(GAINS * sizeof *counts);
    uint64_t *sizes = mem_zalloc(GAINS * sizeof *sizes);
    for (size_t i = 0; i < plan->count; i++) {
        counts[bucket_of(&plan->items[i])]++;
        sizes[bucket_of(&plan->items[i])] += plan->items[i].bytes;
    }
    unsigned limit = GAINS;
    while (limit > 0 && kept_pages + counts[limit - 1] <= limits->pages &&
           kept_bytes + sizes[limit - 1] <= limits->bytes) {
        limit--;
        kept_pages += counts[limit];
        kept_bytes += sizes[limit];
    }
    size_t to = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_move *move = &plan->items[i];
        unsigned bucket = bucket_of(move);
        bool fits = bucket >= limit;
        if (!fits && bucket + 1 == limit && kept_pages < limits->pages && kept_bytes + move->bytes <= limits->bytes) {
            fits = true;
            kept_pages++;
            kept_bytes += move->bytes;
        }
        plan->skipped[SKIP_BUDGET] += !fits;
        if (fits)
            plan->items[to++] = *move;
    }
    plan->count = to;
    free(counts);
    free(sizes);
}

/* By process and node; within that the order of addresses stays. The kernel takes pages for one node in one go. */
static void put_in_order(struct plan *plan, uint32_t node_count)
{
    struct plan_move *sorted = mem_alloc((plan->count + 1) * sizeof *sorted);
    size_t *places = mem_alloc((node_count + 1) * sizeof *places);
    for (size_t first = 0, end; first < plan->count; first = end) {
        memset(places, 0, (node_count + 1) * sizeof *places);
        for (end = first; end < plan->count && plan->items[end].pid == plan->items[first].pid; end++)
            places[plan->items[end].to + 1]++;
        for (uint32_t node = 0; node < node_count; node++)
            places[node + 1] += places[node];
        for (size_t i = first; i < end; i++)
            sorted[first + places[plan->items[i].to]++] = plan->items[i];
    }
    free(places);
    free(plan->items);
    plan->items = sorted;
    plan->capacity = plan->count + 1;
}

int plan_make(struct plan *plan, const struct nlens_policy *policy, void *self, const struct nlens_machine *machine,
              const struct survey *survey, const struct memory *memory, const struct history *history,
              const struct plan_limits *limits, uint64_t interval, uint64_t duration_ns)
{
    struct making *making = mem_zalloc(sizeof *making);
    *making = (struct making){
        .plan = plan, .machine = machine, .survey = survey, .history = history, .limits = limits, .interval = interval};
    making->requests = mem_alloc((survey->page_count + 1) * sizeof *making->requests);
    memset(making->requests, 0xff, (survey->page_count + 1) * sizeof *making->requests);
    bool sized = false; /* a simulated machine may have no sizes at all: then there is always room */
    for (uint32_t i = 0; i < machine->node_count; i++)
        sized |= machine->nodes[i].memory > 0;
    for (uint32_t i = 0; i < machine->node_count; i++) {
        uint64_t spare = machine->nodes[i].memory / SPARE_PARTS;
        making->room[i] = !sized ? UINT64_MAX : machine->nodes[i].free > spare ? machine->nodes[i].free - spare : 0;
    }
    for (size_t i = 0; i < survey->page_count; i++)
        survey->pages[i].moves = history_moves(history, survey->pages[i].pid, survey->pages[i].address);
    struct nlens_view view = {machine, interval, duration_ns, survey->page_count, survey->pages};
    struct nlens_plan calls = {making, take_move, take_word};
    int result = policy->decide(self, &view, &calls);
    weigh_requests(making);
    add_neighbours(making, memory);
    cut(plan, limits);
    put_in_order(plan, machine->node_count);
    free(making->requests);
    array_free(&making->arounds);
    array_free(&making->extras);
    free(making);
    return result;
}

void plan_free(struct plan *plan)
{
    free(plan->items);
    *plan = (struct plan){0};
}
