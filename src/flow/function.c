/* flow/function.c - the functions that access memory: the innermost frame of each sample's chain. */
#include "flow/state.h"
#include "flow/wrappers.h"

#include <stdio.h>
#include <string.h>

static int by_samples(const void *left, const void *right)
{
    const struct flow_function *a = left, *b = right;
    if (a->totals.samples != b->totals.samples)
        return a->totals.samples > b->totals.samples ? -1 : 1;
    int order = strcmp(a->function, b->function);
    return order ? order : strcmp(a->module, b->module);
}

static void add(struct flow_totals *totals, const struct tally *tally)
{
    totals->samples += tally->samples;
    totals->reads += tally->reads;
    totals->writes += tally->writes;
    totals->remote += tally->remote;
    totals->home_known += tally->home_known;
    totals->latency_sum += tally->latency_sum;
    totals->latency_count += tally->latency_count;
}

/* Inlined pieces of the C++ library belong to the function that used them. */
static const struct symbol_frame *own_frame(const struct flow *flow, const struct frame *frame)
{
    const struct symbol_frame *names = &flow->names.items[frame->first_name];
    uint32_t at = 0;
    while (at + 1 < frame->name_count && names[at].inlined && wrapper_by_name(names[at].function, names[at].file))
        at++;
    return &names[at];
}

/* Functions were numbered as they came: sorts them and sees to it that ids and stacks follow. */
static void sort(struct flow *flow)
{
    array_sort(&flow->functions, by_samples);
    uint32_t *moved = mem_alloc((flow->functions.count + 1) * sizeof *moved);
    for (uint32_t i = 0; i < flow->functions.count; i++) {
        moved[flow->functions.items[i].id] = i;
        flow->functions.items[i].id = i;
    }
    for (size_t i = 0; i < flow->stacks.count; i++) {
        if (flow->stack_functions[i] != FLOW_NONE)
            flow->stack_functions[i] = moved[flow->stack_functions[i]];
    }
    free(moved);
}

/* The number of the function that a frame is in: equal names in one file and module are one. `called`: what it is called. */
static uint32_t number_of(struct flow *flow, struct strtab *keys, uint32_t index, const char **called)
{
    live_frame_names(flow, index);
    const struct frame *frame = &flow->frames.items[index];
    const struct symbol_frame *name = own_frame(flow, frame);
    const struct module_info *module = &flow->modules.items[frame->module];
    char text[700];
    *called = *name->function ? name->function : NULL;
    if (!*called) {
        snprintf(text, sizeof text, "%s+0x%lx", *module->name ? module->name : "?", (unsigned long)frame->addr);
        *called = strtab_intern(flow->texts, text);
    }
    snprintf(text, sizeof text, "%u:%.400s:%.200s", frame->module, *called, name->file);
    return strtab_add(keys, text) - 1; /* "" is 0 */
}

static void make(struct flow *flow)
{
    struct strtab *keys = strtab_new();
    array_of(uint64_t) hottest = {0};
    flow->functions_made = true;
    flow->stack_functions = mem_alloc((flow->stacks.count + 1) * sizeof *flow->stack_functions);
    array_each (&flow->stacks, struct stack, stack) {
        flow->stack_functions[stack - flow->stacks.items] = FLOW_NONE;
        if (stack->tally == FLOW_NONE || stack->frame == FLOW_NONE)
            continue;
        const char *function;
        uint32_t number = number_of(flow, keys, stack->frame, &function);
        const struct frame *frame = &flow->frames.items[stack->frame];
        const struct symbol_frame *name = own_frame(flow, frame);
        while (flow->functions.count <= number) {
            array_push(&flow->functions, (struct flow_function){.id = number,
                                                                .function = function,
                                                                .file = name->file,
                                                                .module = flow->modules.items[frame->module].name,
                                                                .line = name->line});
            array_push(&hottest, 0);
        }
        flow->stack_functions[stack - flow->stacks.items] = number;
        const struct tally *tally = pool_at(&flow->tallies, stack->tally);
        struct flow_function *row = &flow->functions.items[number];
        add(&row->totals, tally);
        if (tally->samples > hottest.items[number]) {
            hottest.items[number] = tally->samples;
            row->line = name->line;
        }
    }
    array_free(&hottest);
    strtab_free(keys);
    sort(flow);
}

size_t flow_function_count(const struct flow *flow)
{
    if (!flow->functions_made)
        make((struct flow *)flow); /* a cache */
    return flow->functions.count;
}

const struct flow_function *flow_function(const struct flow *flow, uint32_t index)
{
    return index < flow_function_count(flow) ? &flow->functions.items[index] : NULL;
}

uint32_t flow_stack_function(const struct flow *flow, uint32_t process, uint32_t stack)
{
    if (flow_function_count(flow) == 0 || process >= flow->processes.count)
        return FLOW_NONE;
    uint32_t index = live_stack_of(flow->processes.items[process], stack);
    return index == FLOW_NONE ? FLOW_NONE : flow->stack_functions[index];
}
