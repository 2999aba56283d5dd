/* flow/sites.c - draws allocation sites: for each chain that allocates, the frame that matters.
 *
 * Frames are looked through from the inside out. Some are wrappers by name or by library. Others by evidence: when one
 * allocating line serves several calling lines, and its function is named like a constructor or its callers' blocks
 * are used differently, the callers are what distinguishes the blocks. A function that calls itself is never one, nor one
 * called from the C library (main, a thread's start). */
#include "flow/state.h"
#include "flow/wrappers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PASSES = 8,
    USED_LOOKS = 32,   /* below this, a difference in latency is chance */
    USED_LATENCY = 20, /* below this both are in caches, and it does not matter */
};

struct step { /* one logical frame of a chain */
    uint32_t trail;
    uint32_t name; /* in flow->names */
};

struct site_chain {
    uint32_t leaf;
    uint32_t first, count; /* in drawing.steps */
    uint32_t at;           /* the frame that matters so far */
};

struct call {                /* a line that allocates, called from one place */
    uint32_t callee, caller; /* identities, of a line and of a call */
    struct flow_totals totals;
};

struct drawing {
    struct flow *flow;
    array_of(struct step) steps;
    array_of(struct site_chain) chains;
    struct strtab *lines;      /* identity of a logical frame */
    array_of(uint8_t) wrapper; /* by identity: 1 = looked through by evidence */
    struct flow_totals *used;  /* by leaf trail */
};

static const struct symbol_frame *step_frame(const struct drawing *drawing, uint32_t step)
{
    return &drawing->flow->names.items[drawing->steps.items[step].name];
}

static const struct module_info *step_module(const struct drawing *drawing, uint32_t step)
{
    struct flow *flow = drawing->flow;
    const struct trail *trail = &flow->trails.items[drawing->steps.items[step].trail];
    return &flow->modules.items[flow->frames.items[trail->frame].module];
}

/* Equal for frames on the same source line of the same function; without lines, for the same address. */
static uint32_t identity(struct drawing *drawing, uint32_t step)
{
    const struct symbol_frame *frame = step_frame(drawing, step);
    char key[600];
    int length;
    if (frame->line)
        length = snprintf(key, sizeof key, "%u:%.200s:%.300s", frame->line, frame->function, frame->file);
    else
        length = snprintf(key, sizeof key, "@%u:%.300s:%lx",
                          drawing->flow->trails.items[drawing->steps.items[step].trail].frame, frame->function,
                          (unsigned long)frame->offset);
    if (length >= (int)sizeof key)
        length = sizeof key - 1;
    uint32_t id = strtab_add_bytes(drawing->lines, key, (size_t)length);
    while (drawing->wrapper.count <= id)
        array_push(&drawing->wrapper, 0);
    return id;
}

/* Equal for the same call: a line may hold two calls, and they are two callers. But a call that the compiler wrote twice,
 * because it unrolled a loop, is still one. Where columns are not known, each instruction is a call of its own. */
static uint32_t call_identity(struct drawing *drawing, uint32_t step)
{
    const struct symbol_frame *frame = step_frame(drawing, step);
    char key[600];
    int length;
    if (frame->line && frame->column)
        length = snprintf(key, sizeof key, "call %u:%u:%.200s:%.300s", frame->line, frame->column, frame->function,
                          frame->file);
    else
        length =
            snprintf(key, sizeof key, "call %u %u", drawing->flow->trails.items[drawing->steps.items[step].trail].frame,
                     drawing->steps.items[step].name);
    if (length >= (int)sizeof key)
        length = sizeof key - 1;
    return strtab_add_bytes(drawing->lines, key, (size_t)length);
}

const char *live_custom_name(const struct flow *flow, unsigned fn)
{
    if (fn < ALLOC_CUSTOM_FIRST)
        return NULL;
    fn -= ALLOC_CUSTOM_FIRST;
    return fn < flow->custom.count ? flow->custom.items[fn] : alloc_fn_name(ALLOC_CUSTOM);
}

/* Functions that the user named report their objects themselves; what they allocate for them is theirs. */
static bool is_custom(const struct drawing *drawing, const char *function)
{
    array_each (&drawing->flow->custom, const char *, name)
        if (strcmp(*name, function) == 0)
            return true;
    return false;
}

static bool looked_through(struct drawing *drawing, uint32_t step)
{
    const struct symbol_frame *frame = step_frame(drawing, step);
    uint32_t line = identity(drawing, step); /* may move the array */
    if (is_custom(drawing, frame->function))
        return false;
    return drawing->wrapper.items[line] || step_module(drawing, step)->wraps ||
           wrapper_by_name(frame->function, frame->file);
}

static void advance(struct drawing *drawing, struct site_chain *chain)
{
    uint32_t end = chain->first + chain->count, at = chain->at;
    while (at < end && looked_through(drawing, at))
        at++;
    if (at < end) {
        chain->at = at;
        return;
    }
    /* Nothing but wrappers: the innermost one that is not malloc itself has the best name. */
    for (at = chain->first; at < end; at++) {
        const struct symbol_frame *frame = step_frame(drawing, at);
        if (*frame->function && !wrapper_by_name(frame->function, frame->file)) {
            chain->at = at;
            return;
        }
    }
    chain->at = end - 1;
}

/* A library that wraps is looked through whatever its lines are: its functions' names will do. */
static void expand_frame(struct drawing *drawing, uint32_t trail)
{
    struct flow *flow = drawing->flow;
    uint32_t number = flow->trails.items[trail].frame;
    const struct frame *frame = &flow->frames.items[number];
    if (flow->modules.items[frame->module].wraps) {
        live_frame_plain_name(flow, number);
        array_push(&drawing->steps, (struct step){.trail = trail, .name = frame->plain_name});
        return;
    }
    live_frame_names(flow, number);
    for (uint32_t i = 0; i < frame->name_count; i++)
        array_push(&drawing->steps, (struct step){.trail = trail, .name = frame->first_name + i});
}

static void expand_chain(struct drawing *drawing, uint32_t leaf)
{
    struct flow *flow = drawing->flow;
    uint32_t path[TRAIL_MAX_DEPTH], depth = 0;
    for (uint32_t at = leaf; at && depth < TRAIL_MAX_DEPTH; at = flow->trails.items[at].parent)
        path[depth++] = at;
    if (depth == 0 || flow->trails.items[leaf].frame >= flow->frames.count)
        return; /* no chain: the site is the leaf itself */
    struct site_chain chain = {.leaf = leaf, .first = (uint32_t)drawing->steps.count};
    while (depth-- > 0)
        expand_frame(drawing, path[depth]);
    chain.count = (uint32_t)drawing->steps.count - chain.first;
    chain.at = chain.first;
    array_push(&drawing->chains, chain);
}

void flow_totals_add(struct flow_totals *to, const struct flow_totals *from)
{
    to->samples += from->samples;
    to->reads += from->reads;
    to->writes += from->writes;
    to->remote += from->remote;
    to->home_known += from->home_known;
    to->latency_sum += from->latency_sum;
    to->latency_count += from->latency_count;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Whether two shares differ by a quarter and by more than chance: three standard deviations of the difference. */
static bool shares_differ(double a, double b, double looks_a, double looks_b)
{
    double mean = (a * looks_a + b * looks_b) / (looks_a + looks_b);
    return fabs(a - b) > 0.25 && fabs(a - b) > 3 * sqrt(mean * (1 - mean) * (1 / looks_a + 1 / looks_b));
}

/* The samples of a burst are neighbours and say the same: each burst is one look. */
static bool used_differently(const struct flow_totals *a, const struct flow_totals *b, uint64_t burst)
{
    double looks_a = (double)a->samples / (double)burst, looks_b = (double)b->samples / (double)burst;
    if (a->samples == 0 || b->samples == 0)
        return false;
    if (shares_differ(share(a->remote, a->home_known), share(b->remote, b->home_known), looks_a, looks_b) ||
        shares_differ(share(a->writes, a->samples), share(b->writes, b->samples), looks_a, looks_b))
        return true;
    double slow = share(a->latency_sum, a->latency_count), fast = share(b->latency_sum, b->latency_count);
    return looks_a >= USED_LOOKS && looks_b >= USED_LOOKS && slow > 0 && fast > 0 &&
           ((slow > 2 * fast && slow > USED_LATENCY) || (fast > 2 * slow && fast > USED_LATENCY));
}

static int by_callee(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->caller < b->caller ? -1 : a->caller > b->caller;
}

/* One pass over the evidence. Returns whether a line was found to be a wrapper. */
static bool weigh(struct drawing *drawing)
{
    array_of(struct call) calls = {0};
    array_of(uint8_t) never = {0}; /* by identity: calls itself, or is an entry */
    array_of(const char *) function = {0};
    array_each (&drawing->chains, struct site_chain, chain) {
        uint32_t callee = identity(drawing, chain->at);
        uint32_t caller = chain->at + 1 < chain->first + chain->count ? call_identity(drawing, chain->at + 1) : 0;
        while (never.count < drawing->wrapper.count) {
            array_push(&never, 0);
            array_push(&function, "");
        }
        const struct symbol_frame *frame = step_frame(drawing, chain->at);
        function.items[callee] = frame->function;
        if (caller == 0) {
            never.items[callee] = 1;
            continue;
        }
        if (step_module(drawing, chain->at + 1)->wraps || is_custom(drawing, frame->function))
            never.items[callee] = 1;
        for (uint32_t at = chain->at + 1; at < chain->first + chain->count; at++) {
            if (*frame->function && strcmp(step_frame(drawing, at)->function, frame->function) == 0)
                never.items[callee] = 1;
        }
        array_push(&calls, (struct call){.callee = callee, .caller = caller, .totals = drawing->used[chain->leaf]});
    }
    array_sort(&calls, by_callee);
    size_t merged = 0;
    for (size_t i = 0; i < calls.count; i++) {
        if (merged && by_callee(&calls.items[merged - 1], &calls.items[i]) == 0)
            flow_totals_add(&calls.items[merged - 1].totals, &calls.items[i].totals);
        else
            calls.items[merged++] = calls.items[i];
    }
    const struct trace_session *session = flow_session(drawing->flow);
    uint64_t burst = session ? trace_session_number(session, "burst", 1) : 1;
    burst = burst ? burst : 1;
    bool found = false;
    for (size_t i = 0, next; i < merged; i = next) {
        uint32_t callee = calls.items[i].callee;
        bool different = false;
        for (next = i + 1; next < merged && calls.items[next].callee == callee; next++)
            different |= used_differently(&calls.items[i].totals, &calls.items[next].totals, burst);
        if (next - i < 2 || never.items[callee])
            continue;
        if (different || wrapper_like_constructor(function.items[callee])) {
            drawing->wrapper.items[callee] = 1;
            found = true;
        }
    }
    array_free(&calls);
    array_free(&never);
    array_free(&function);
    return found;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *via_text(struct drawing *drawing, const struct site_chain *chain)
{
    const char *custom = live_custom_name(drawing->flow, drawing->flow->trails.items[chain->leaf].fn);
    char text[512] = "";
    size_t used = custom ? (size_t)snprintf(text, sizeof text, "%.255s", custom) : 0;
    for (uint32_t at = chain->first; at < chain->at; at++) {
        const struct symbol_frame *frame = step_frame(drawing, at);
        size_t length = strcspn(frame->function, "(<");
        if (length == 0 || used + length + 4 >= sizeof text)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? " < " : "", (int)length,
                                 frame->function);
    }
    return strtab_intern(drawing->flow->texts, text);
}

/* The frame that gives a site its name; where a library has allocated for itself, with its line. */
static const struct symbol_frame *site_frame(const struct drawing *drawing, uint32_t step)
{
    struct flow *flow = drawing->flow;
    if (!step_module(drawing, step)->wraps)
        return step_frame(drawing, step);
    uint32_t number = flow->trails.items[drawing->steps.items[step].trail].frame;
    live_frame_names(flow, number);
    const struct frame *frame = &flow->frames.items[number];
    return &flow->names.items[frame->first_name + frame->name_count - 1];
}

static void name_site(struct drawing *drawing, struct flow_site *site, const struct site_chain *chain)
{
    struct flow *flow = drawing->flow;
    const struct symbol_frame *frame = site_frame(drawing, chain->at);
    const struct module_info *module = step_module(drawing, chain->at);
    char label[1024];
    site->function = frame->function;
    site->file = frame->file;
    site->line = frame->line;
    site->module = module->name;
    site->via = via_text(drawing, chain);
    if (*frame->function && frame->line)
        snprintf(label, sizeof label, "%s (%s:%u)", frame->function, base_name(frame->file), frame->line);
    else if (*frame->function)
        snprintf(label, sizeof label, "%s+0x%lx (%s)", frame->function, (unsigned long)frame->offset, module->name);
    else
        snprintf(label, sizeof label, "%s+0x%lx", *module->name ? module->name : "?", (unsigned long)frame->offset);
    site->label = strtab_intern(flow->texts, label);
}

static uint32_t site_on(struct drawing *drawing, uint32_t trail_index, const struct site_chain *chain)
{
    struct flow *flow = drawing->flow;
    struct trail *trail = &flow->trails.items[trail_index];
    if (trail->site != FLOW_NONE)
        return trail->site;
    trail->site = (uint32_t)flow->sites.count;
    const struct stack *stack = trail->stack != FLOW_NONE ? &flow->stacks.items[trail->stack] : NULL;
    struct flow_site site = {.id = trail->site,
                             .kind = trail->kind,
                             .alloc_fn = trail->fn < ALLOC_CUSTOM_FIRST ? trail->fn : ALLOC_CUSTOM,
                             .function = "",
                             .file = "",
                             .module = "",
                             .via = "",
                             .stack = stack ? stack->id : 0,
                             .process = stack ? stack->process : 0,
                             .start = trail->start,
                             .end = UINT64_MAX};
    if (chain) {
        name_site(drawing, &site, chain);
    } else {
        char label[64];
        snprintf(label, sizeof label, "%s without a call chain",
                 live_custom_name(flow, trail->fn) ? live_custom_name(flow, trail->fn)
                 : trail->fn < ALLOC_FNS           ? alloc_fn_name(trail->fn)
                                                   : "mmap");
        site.label = strtab_intern(flow->texts, label);
    }
    array_push(&flow->sites, site);
    return trail->site;
}

/* Instances of a leaf go to its site. Peaks are exact where the site's own node is counted; else they add up. */
static void count_leaf(struct flow *flow, uint32_t leaf, uint32_t site_index, uint64_t own, uint64_t own_bytes)
{
    struct flow_site *site = &flow->sites.items[site_index];
    const struct trail *trail = &flow->trails.items[leaf];
    site->count += own;
    site->bytes += own_bytes;
    if (trail->live == 0 && trail->end && (site->end == UINT64_MAX || trail->end > site->end))
        site->end = trail->end;
}

static int by_label(const void *left, const void *right, void *context)
{
    const struct flow *flow = context;
    const struct flow_site *a = &flow->sites.items[*(const uint32_t *)left];
    const struct flow_site *b = &flow->sites.items[*(const uint32_t *)right];
    int order = strcmp(a->label, b->label);
    if (order == 0)
        order = strcmp(a->file, b->file);
    if (order == 0)
        order = strcmp(a->module, b->module);
    if (order == 0 && a->start != b->start)
        order = a->start < b->start ? -1 : 1;
    return order ? order : a->id < b->id ? -1 : 1;
}

/* Sites that no line distinguishes get #1, #2. */
static void number_twins(struct flow *flow)
{
    size_t count = flow->sites.count;
    uint32_t *sorted = mem_alloc((count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = i;
    qsort_r(sorted, count, sizeof *sorted, by_label, flow);
    for (size_t i = 0, next; i < count; i = next) {
        const struct flow_site *first = &flow->sites.items[sorted[i]];
        const char *label = first->label, *file = first->file, *module = first->module;
        for (next = i + 1; next < count; next++) {
            const struct flow_site *site = &flow->sites.items[sorted[next]];
            if (site->label != label || strcmp(site->file, file) != 0 || strcmp(site->module, module) != 0)
                break;
        }
        for (size_t twin = i; twin < next; twin++) {
            struct flow_site *site = &flow->sites.items[sorted[twin]];
            site->twin = (uint32_t)(twin - i);
            site->twins = (uint32_t)(next - i);
            if (site->twins == 1)
                continue;
            char text[1100];
            snprintf(text, sizeof text, "%s #%zu", label, twin - i + 1);
            site->label = strtab_intern(flow->texts, text);
        }
    }
    free(sorted);
}

static void peaks(struct flow *flow)
{
    for (uint32_t i = 1; i < flow->trails.count; i++) {
        const struct trail *trail = &flow->trails.items[i];
        if (trail->site == FLOW_NONE)
            continue;
        struct flow_site *site = &flow->sites.items[trail->site];
        bool counted = trail->depth <= TRAIL_COUNTED_DEPTH;
        site->live_peak = counted ? trail->live_peak : trail->count;
        site->peak_bytes = counted ? trail->peak_bytes : trail->bytes;
        if (site->live_peak > site->count)
            site->live_peak = site->count;
        if (site->peak_bytes > site->bytes)
            site->peak_bytes = site->bytes;
    }
}

void live_sites_draw(struct flow *flow)
{
    struct drawing drawing = {.flow = flow, .lines = strtab_new()};
    size_t trails = flow->trails.count;
    drawing.used = mem_zalloc((trails + 1) * sizeof *drawing.used);
    /* A trail's count holds its outer frames' too: what ends on it is the rest. */
    uint64_t *own = mem_zalloc((trails + 1) * sizeof *own), *own_bytes = mem_zalloc((trails + 1) * sizeof *own_bytes);
    for (uint32_t i = 1; i < trails; i++) {
        const struct trail *trail = &flow->trails.items[i];
        own[i] += trail->count;
        own_bytes[i] += trail->bytes;
        own[trail->parent] -= trail->count;
        own_bytes[trail->parent] -= trail->bytes;
    }
    bool *ends = mem_zalloc(trails + 1);
    for (uint32_t i = 1; i < trails; i++)
        ends[i] = own[i] > 0;
    for (uint32_t i = 0; i < flow->sampled_objects; i++) {
        const struct record *record = pool_at(&flow->records, flow->objects.items[i]);
        if (record->trail == FLOW_NONE)
            continue;
        ends[record->trail] = true;
        struct flow_totals totals = flow_object_totals(flow, i);
        flow_totals_add(&drawing.used[record->trail], &totals);
    }
    for (uint32_t i = 1; i < trails; i++) {
        if (ends[i])
            expand_chain(&drawing, i);
    }
    array_each (&drawing.chains, struct site_chain, chain)
        identity(&drawing, chain->first);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        array_each (&drawing.chains, struct site_chain, chain)
            advance(&drawing, chain);
        if (!weigh(&drawing))
            break;
    }
    array_each (&drawing.chains, struct site_chain, chain) {
        uint32_t site = site_on(&drawing, drawing.steps.items[chain->at].trail, chain);
        count_leaf(flow, chain->leaf, site, own[chain->leaf], own_bytes[chain->leaf]);
        flow_totals_add(&flow->sites.items[site].totals, &drawing.used[chain->leaf]);
        ends[chain->leaf] = false;
    }
    for (uint32_t i = 1; i < trails; i++) {
        if (!ends[i])
            continue;
        uint32_t site = site_on(&drawing, i, NULL);
        count_leaf(flow, i, site, own[i], own_bytes[i]);
        flow_totals_add(&flow->sites.items[site].totals, &drawing.used[i]);
    }
    peaks(flow);
    number_twins(flow);
    free(ends);
    free(own);
    free(own_bytes);
    free(drawing.used);
    array_free(&drawing.steps);
    array_free(&drawing.chains);
    array_free(&drawing.wrapper);
    strtab_free(drawing.lines);
    array_each (&flow->reuses, struct flow_reuse, reuse)
        reuse->site = live_site_of(flow, reuse->site);
}
