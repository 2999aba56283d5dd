/* flow/sites.c - draws allocation sites: for each chain that allocates, the frame that matters.
 *
 * Frames are looked through from the inside out. Some are wrappers by name or by library. Others by evidence: when one
 * allocating line serves several calling lines, and its function is named like a constructor or returns a
 * pointer, the callers are what distinguishes the blocks. A function that calls itself is never one, nor one
 * called from the C library (main, a thread's start). Nothing depends on samples: two runs of a program have the same sites. */
#include "base/order.h"
#include "base/text.h"
#include "flow/names/site_names.h"
#include "flow/runtimes.h"
#include "flow/state.h"
#include "flow/wrappers.h"

#include <stdio.h>
#include <string.h>

enum { PASSES = 8 };

struct site_chain {
    uint32_t leaf;
    uint32_t first, count; /* in drawing.steps */
    uint32_t at;           /* the frame that matters so far */
    const char *region;    /* what a runtime uses a map for, which is drawn where that is seen; or NULL */
    bool script;           /* begins at a line of a program that is interpreted, or compiled while it runs */
};

struct call {                /* a line that allocates, called from one place */
    uint32_t callee, caller; /* identities, of a line and of a call */
};

struct drawing {
    struct flow *flow;
    array_of(struct site_step) steps;
    array_of(struct site_chain) chains;
    struct strtab *lines;        /* identity of a logical frame */
    array_of(uint8_t) wrapper;   /* by identity: 1 = looked through by evidence */
    struct flow_totals *used;    /* by leaf trail */
    array_of(uint32_t) chain_of; /* by site; FLOW_NONE without one */
    struct map64 site_of;        /* of script lines and regions: an identity, to its site */
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

/* Of a chain with lines of a program that is interpreted, or compiled while it runs: all other frames, and those of packages. */
static bool script_through(struct drawing *drawing, uint32_t step)
{
    const struct symbol_frame *frame = step_frame(drawing, step);
    if (!runtime_module(step_module(drawing, step)) || !frame->line || runtime_library_file(frame->file))
        return true;
    uint32_t line = identity(drawing, step); /* may move the array */
    return drawing->wrapper.items[line];
}

static void advance(struct drawing *drawing, struct site_chain *chain)
{
    uint32_t end = chain->first + chain->count, at = chain->at;
    if (chain->region)
        return;
    if (chain->script) {
        while (at < end && script_through(drawing, at))
            at++;
        chain->at = at < end ? at : chain->at;
        return;
    }
    while (at < end && looked_through(drawing, at))
        at++;
    if (at < end) {
        chain->at = at;
        return;
    }
    /* Nothing but wrappers: the outermost in the program's own code has the best name, such as a parallel sort of the C++ library in
     * a thread of its own; else the innermost that is not malloc itself. */
    for (at = end; at-- > chain->first;) {
        chain->at = at;
        if (*step_frame(drawing, at)->function && !step_module(drawing, at)->wraps)
            return;
    }
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
        array_push(&drawing->steps, (struct site_step){.trail = trail, .name = frame->plain_name});
        return;
    }
    live_frame_names(flow, number);
    for (uint32_t i = 0; i < frame->name_count; i++)
        array_push(&drawing->steps, (struct site_step){.trail = trail, .name = frame->first_name + i});
}

static void find_region(struct drawing *drawing, struct site_chain *chain)
{
    unsigned rank = UINT32_MAX;
    chain->region = runtime_module_region(step_module(drawing, chain->first)->name);
    for (uint32_t at = chain->first; at < chain->first + chain->count; at++) {
        const char *region = runtime_region(step_frame(drawing, at)->function, &rank);
        if (!region)
            continue;
        chain->region = region;
        chain->at = at;
    }
}

/* What a runtime allocates for itself, in its innermost functions. */
static void find_block(struct drawing *drawing, struct site_chain *chain)
{
    enum { INNER = 5 };
    const char *first = step_module(drawing, chain->first)->name;
    bool libraries = true; /* only, up to here */
    for (uint32_t at = chain->first; at < chain->first + chain->count && at < chain->first + INNER; at++) {
        const struct module_info *module = step_module(drawing, at);
        const char *function = step_frame(drawing, at)->function;
        chain->region = runtime_block(module->name, function);
        if (!chain->region && libraries && runtime_openmp(module->name, function))
            chain->region = "OpenMP runtime";
        libraries &= module->wraps;
        if (chain->region || (!module->wraps && strcmp(module->name, first) != 0))
            return;
    }
}

/* A block that a runtime allocates for a line of the program in its own language is known by that line. What it maps is its heap,
 * which is no line's. */
static void find_script(struct drawing *drawing, struct site_chain *chain)
{
    uint8_t kind = drawing->flow->trails.items[chain->leaf].kind;
    if (kind == OBJECT_MAP)
        find_region(drawing, chain);
    for (uint32_t at = chain->first; kind == OBJECT_HEAP && at < chain->first + chain->count && !chain->script; at++) {
        chain->script = runtime_module(step_module(drawing, at)) && step_frame(drawing, at)->line;
        chain->at = chain->script ? at : chain->at;
    }
    if (kind == OBJECT_HEAP && !chain->script)
        find_block(drawing, chain);
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
    find_script(drawing, &chain);
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

ORDER_BY(by_callee, struct call, ORDER(a->callee, b->callee) ?: ORDER(a->caller, b->caller))

/* One pass over the evidence. Returns whether a line was found to be a wrapper. */
static bool weigh(struct drawing *drawing)
{
    array_of(struct call) calls = {0};
    array_of(uint8_t) never = {0}; /* by identity: calls itself, or is an entry */
    array_of(uint8_t) maker = {0}; /* likewise: what it allocates is its callers' */
    array_each (&drawing->chains, struct site_chain, chain) {
        if (chain->region)
            continue;
        uint32_t callee = identity(drawing, chain->at);
        uint32_t caller = chain->at + 1 < chain->first + chain->count ? call_identity(drawing, chain->at + 1) : 0;
        while (never.count < drawing->wrapper.count) {
            array_push(&never, 0);
            array_push(&maker, 0);
        }
        const struct symbol_frame *frame = step_frame(drawing, chain->at);
        maker.items[callee] = frame->gives || wrapper_like_constructor(frame->function);
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
        array_push(&calls, (struct call){.callee = callee, .caller = caller});
    }
    array_sort(&calls, by_callee);
    bool found = false;
    for (size_t i = 0, next; i < calls.count; i = next) {
        uint32_t callee = calls.items[i].callee;
        bool several = false;
        for (next = i + 1; next < calls.count && calls.items[next].callee == callee; next++)
            several |= calls.items[next].caller != calls.items[i].caller;
        if (several && maker.items[callee] && !never.items[callee]) {
            drawing->wrapper.items[callee] = 1;
            found = true;
        }
    }
    array_free(&calls);
    array_free(&never);
    array_free(&maker);
    return found;
}

static const char *via_text(struct drawing *drawing, const struct site_chain *chain)
{
    const char *custom = live_custom_name(drawing->flow, drawing->flow->trails.items[chain->leaf].fn);
    char text[512] = "";
    size_t used = custom ? (size_t)snprintf(text, sizeof text, "%.255s", custom) : 0;
    for (uint32_t at = chain->first; at < chain->at; at++) {
        const struct symbol_frame *frame = step_frame(drawing, at);
        if (chain->script && (!runtime_module(step_module(drawing, at)) || !frame->line))
            continue;
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
    site->directory = frame->directory ? frame->directory : "";
    site->line = frame->line;
    site->module = module->name;
    site->via = via_text(drawing, chain);
    const char *region = chain->region;
    if (region) {
        snprintf(label, sizeof label, "%s", region);
        site->function = region;
        site->file = site->via = "";
        site->line = 0;
        site->runtime = true;
    } else if (*frame->function && frame->line)
        snprintf(label, sizeof label, "%s (%s:%u)", frame->function, text_file_name(frame->file), frame->line);
    else if (*frame->function)
        snprintf(label, sizeof label, "%s+0x%lx (%s)", frame->function, (unsigned long)frame->offset, module->name);
    else
        snprintf(label, sizeof label, "%s+0x%lx", *module->name ? module->name : "?", (unsigned long)frame->offset);
    site->label = strtab_intern(flow->texts, label);
}

/* The site of all chains of one line of a script, and of all maps of one region: native code on the way distinguishes nothing that the
 * program's author knows. NULL: of any other. */
static uint64_t *site_of_all(struct drawing *drawing, const struct site_chain *chain)
{
    if (!chain || (!chain->script && !chain->region))
        return NULL;
    uint32_t id = chain->region ? strtab_add(drawing->lines, chain->region) : identity(drawing, chain->at);
    bool is_new;
    uint64_t *place = map64_insert(&drawing->site_of, id, &is_new);
    if (is_new)
        *place = FLOW_NONE;
    return place;
}

static uint32_t site_on(struct drawing *drawing, uint32_t trail_index, const struct site_chain *chain)
{
    struct flow *flow = drawing->flow;
    struct trail *trail = &flow->trails.items[trail_index];
    if (trail->site != FLOW_NONE)
        return trail->site;
    uint64_t *all = site_of_all(drawing, chain);
    if (all && *all != FLOW_NONE)
        return trail->site = (uint32_t)*all;
    trail->site = (uint32_t)flow->sites.count;
    if (all)
        *all = trail->site;
    const struct stack *stack = trail->stack != FLOW_NONE ? &flow->stacks.items[trail->stack] : NULL;
    struct flow_site site = {.id = trail->site,
                             .kind = trail->kind,
                             .alloc_fn = trail->fn < ALLOC_CUSTOM_FIRST ? trail->fn : ALLOC_CUSTOM,
                             .function = "",
                             .file = "",
                             .directory = "",
                             .module = "",
                             .via = "",
                             .variable = "",
                             .type = "",
                             .stack = stack ? stack->id : 0,
                             .process = stack ? stack->process : 0,
                             .start = trail->start,
                             .end = UINT64_MAX};
    if (chain) {
        name_site(drawing, &site, chain);
    } else {
        char label[96], size[32] = "";
        double bytes = trail->count ? (double)trail->bytes / (double)trail->count : 0;
        if (flow->unchained && trail->kind == OBJECT_HEAP)
            snprintf(size, sizeof size,
                     bytes < 1024      ? " of %.0f B"
                     : bytes < 1 << 20 ? " of %.1f KiB"
                                       : " of %.1f MiB",
                     bytes < 1024      ? bytes
                     : bytes < 1 << 20 ? bytes / 1024
                                       : bytes / (1 << 20));
        snprintf(label, sizeof label, "%s%s without a call chain",
                 live_custom_name(flow, trail->fn) ? live_custom_name(flow, trail->fn)
                 : trail->fn < ALLOC_FNS           ? alloc_fn_name(trail->fn)
                                                   : "mmap",
                 size);
        site.label = strtab_intern(flow->texts, label);
    }
    array_push(&flow->sites, site);
    array_push(&drawing->chain_of, chain ? (uint32_t)(chain - drawing->chains.items) : FLOW_NONE);
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
    return strcmp(a->label, b->label) ?: strcmp(a->file, b->file) ?: strcmp(a->module, b->module)
           ?: ORDER(a->start, b->start) ?: ORDER(a->id, b->id);
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
            if (next - i == 1)
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
        site->live_peak += counted ? trail->live_peak : trail->count;
        site->peak_bytes += counted ? trail->peak_bytes : trail->bytes;
        if (site->live_peak > site->count)
            site->live_peak = site->count;
        if (site->peak_bytes > site->bytes)
            site->peak_bytes = site->bytes;
    }
}

static void name_sites(struct drawing *drawing)
{
    size_t count = drawing->flow->sites.count;
    array_of(struct site_step) steps = {0};
    uint32_t *first = mem_alloc((count + 1) * sizeof *first);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = drawing->chain_of.items[i];
        first[i] = (uint32_t)steps.count;
        for (uint32_t at = 0; number != FLOW_NONE; at++) {
            const struct site_chain *chain = &drawing->chains.items[number];
            array_push(&steps, drawing->steps.items[chain->first + at]);
            if (chain->first + at == chain->at)
                break;
        }
    }
    first[count] = (uint32_t)steps.count;
    site_names_make(drawing->flow, steps.items, first);
    array_free(&steps);
    free(first);
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
    name_sites(&drawing);
    number_twins(flow);
    free(ends);
    free(own);
    free(own_bytes);
    free(drawing.used);
    array_free(&drawing.steps);
    array_free(&drawing.chains);
    array_free(&drawing.wrapper);
    map64_free(&drawing.site_of);
    array_free(&drawing.chain_of);
    strtab_free(drawing.lines);
    array_each (&flow->reuses, struct flow_reuse, reuse)
        reuse->site = live_site_of(flow, reuse->site);
}
