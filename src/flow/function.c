/* flow/function.c - the functions and lines that access memory: the innermost frame of each sample's chain. */
#include "base/order.h"
#include "flow/runtimes.h"
#include "flow/state.h"
#include "flow/wrappers.h"

#include <stdio.h>
#include <string.h>

ORDER_BY(by_samples, struct flow_function,
         ORDER(b->totals.samples, a->totals.samples) ?: strcmp(a->function, b->function) ?: strcmp(a->module, b->module)
         ?: ORDER(a->line, b->line))

/* Inlined pieces of the C++ library belong to the function that used them. */
static const struct symbol_frame *own_frame(const struct flow *flow, const struct frame *frame)
{
    const struct symbol_frame *names = &flow->names.items[frame->first_name];
    uint32_t at = 0;
    while (at + 1 < frame->name_count && names[at].inlined && wrapper_by_name(names[at].function, names[at].file))
        at++;
    return &names[at];
}

/* Rows were numbered as they came: sorts them and sees to it that ids and stacks follow. */
static void sort(struct flow *flow, struct code_rows *rows)
{
    array_sort(&rows->items, by_samples);
    uint32_t *moved = mem_alloc((rows->items.count + 1) * sizeof *moved);
    for (uint32_t i = 0; i < rows->items.count; i++) {
        moved[rows->items.items[i].id] = i;
        rows->items.items[i].id = i;
    }
    for (size_t i = 0; i < flow->stacks.count; i++) {
        if (rows->of_stack[i] != FLOW_NONE)
            rows->of_stack[i] = moved[rows->of_stack[i]];
    }
    free(moved);
}

/* The number of the function that a frame is in, or of its line: equal names in one file and module are one, and so is a line
 * of several instances of a template. `called`: what the function is called. */
static uint32_t number_of(struct flow *flow, struct strtab *keys, uint32_t index, bool by_line, const char **called)
{
    live_frame_names(flow, index);
    const struct frame *frame = &flow->frames.items[index];
    const struct symbol_frame *name = own_frame(flow, frame);
    const struct module_info *module = &flow->modules.items[frame->module];
    const char *directory = name->directory ? name->directory : "";
    char text[900];
    *called = *name->function ? name->function : NULL;
    if (!*called) {
        snprintf(text, sizeof text, "%s+0x%lx", *module->name ? module->name : "?", (unsigned long)frame->addr);
        *called = strtab_intern(flow->texts, text);
    }
    uint32_t line = by_line && *name->file ? name->line : 0;
    snprintf(text, sizeof text, "%u:%u:%.400s:%.200s:%.200s", frame->module, line, line ? "" : *called, name->file,
             directory);
    return strtab_add(keys, text) - 1; /* "" is 0 */
}

/* Code without a name that an interpreter has called is known by the line of the program that runs. */
static uint32_t named_frame(struct flow *flow, const struct stack *stack)
{
    live_frame_names(flow, stack->frame);
    if (*own_frame(flow, &flow->frames.items[stack->frame])->function)
        return stack->frame;
    uint32_t script = runtime_frame(flow, stack);
    return script == FLOW_NONE ? stack->frame : script;
}

static void make(struct flow *flow, struct code_rows *rows, bool by_line)
{
    struct strtab *keys = strtab_new();
    array_of(uint64_t) hottest = {0};
    rows->of_stack = mem_alloc((flow->stacks.count + 1) * sizeof *rows->of_stack);
    array_each (&flow->stacks, struct stack, stack) {
        rows->of_stack[stack - flow->stacks.items] = FLOW_NONE;
        if (stack->tally == FLOW_NONE || stack->frame == FLOW_NONE)
            continue;
        const char *function;
        uint32_t at = named_frame(flow, stack);
        uint32_t number = number_of(flow, keys, at, by_line, &function);
        const struct frame *frame = &flow->frames.items[at];
        const struct symbol_frame *name = own_frame(flow, frame);
        while (rows->items.count <= number) {
            array_push(&rows->items, (struct flow_function){.id = number,
                                                            .function = function,
                                                            .file = name->file,
                                                            .directory = name->directory ? name->directory : "",
                                                            .module = flow->modules.items[frame->module].name,
                                                            .line = name->line});
            array_push(&hottest, 0);
        }
        rows->of_stack[stack - flow->stacks.items] = number;
        const struct tally *tally = pool_at(&flow->tallies, stack->tally);
        struct flow_function *row = &rows->items.items[number];
        struct flow_totals more = tally_totals(tally);
        flow_totals_add(&row->totals, &more);
        if (tally->samples > hottest.items[number]) {
            hottest.items[number] = tally->samples;
            row->line = name->line;
            row->function = function;
        }
    }
    array_free(&hottest);
    strtab_free(keys);
    sort(flow, rows);
}

void code_rows_free(struct code_rows *rows)
{
    array_free(&rows->items);
    free(rows->of_stack);
}

static const struct code_rows *rows_of(const struct flow *const_flow, bool by_line)
{
    struct flow *flow = (struct flow *)const_flow; /* a cache */
    struct code_rows *rows = by_line ? &flow->lines : &flow->functions;
    if (!rows->of_stack)
        make(flow, rows, by_line);
    return rows;
}

static uint32_t row_of_stack(const struct flow *flow, const struct code_rows *rows, uint32_t process, uint32_t stack)
{
    if (process >= flow->processes.count)
        return FLOW_NONE;
    uint32_t index = live_stack_of(flow->processes.items[process], stack);
    return index == FLOW_NONE ? FLOW_NONE : rows->of_stack[index];
}

size_t flow_function_count(const struct flow *flow)
{
    return rows_of(flow, false)->items.count;
}

const struct flow_function *flow_function(const struct flow *flow, uint32_t index)
{
    return index < flow_function_count(flow) ? &flow->functions.items.items[index] : NULL;
}

uint32_t flow_stack_function(const struct flow *flow, uint32_t process, uint32_t stack)
{
    return row_of_stack(flow, rows_of(flow, false), process, stack);
}

size_t flow_line_count(const struct flow *flow)
{
    return rows_of(flow, true)->items.count;
}

const struct flow_function *flow_line(const struct flow *flow, uint32_t index)
{
    return index < flow_line_count(flow) ? &flow->lines.items.items[index] : NULL;
}

uint32_t flow_stack_line(const struct flow *flow, uint32_t process, uint32_t stack)
{
    return row_of_stack(flow, rows_of(flow, true), process, stack);
}

uint32_t flow_access_line(const struct flow *flow, const struct flow_access *access)
{
    const struct flow_thread *thread = flow_thread(flow, access->thread);
    return thread ? flow_stack_line(flow, thread->process, access->stack) : FLOW_NONE;
}
