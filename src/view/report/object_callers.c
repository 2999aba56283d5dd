/* view/report/object_callers.c - the call chains that an object is accessed by, as functions. */
#include "view/report/object_callers.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/strtab.h"
#include "base/number.h"
#include "view/table.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 64, TOP_CHAINS = 6 };

struct callers {
    uint32_t text; /* "bottom < middle < main" */
    uint64_t samples;
    bool any; /* more than the function that accesses it */
};

struct chains {
    const struct flow *flow;
    struct strtab *texts;
    struct map64 of_stack, of_text; /* to a place in `list`, from 1 */
    array_of(struct callers) list;
};

static size_t chain_of(struct chains *chains, uint32_t process, uint32_t stack)
{
    struct symbol_frame frames[MAX_FRAMES];
    size_t count = flow_stack_frames(chains->flow, process, stack, frames, MAX_FRAMES), size;
    char *text = NULL;
    FILE *out = mem_stream(&text, &size);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%s", i ? " < " : "", *frames[i].function ? frames[i].function : "?");
    mem_stream_end(out, &text);
    struct callers callers = {.text = strtab_add(chains->texts, text), .any = count > 1};
    free(text);
    uint64_t *place = map64_insert(&chains->of_text, callers.text, NULL);
    if (!*place) {
        array_push(&chains->list, callers);
        *place = chains->list.count;
    }
    return *place;
}

ORDER_BY(by_samples, struct callers, a->samples != b->samples ? ORDER(b->samples, a->samples) : ORDER(a->text, b->text))

static bool read_chains(struct chains *chains, uint32_t object)
{
    struct flow_access access;
    struct flow_iter *iter = flow_object_accesses(chains->flow, object);
    bool any = false;
    while (flow_next(iter, &access)) {
        const struct flow_thread *thread = flow_thread(chains->flow, access.thread);
        if (!thread || !access.stack)
            continue;
        uint64_t *place = map64_insert(&chains->of_stack, (uint64_t)thread->process << 32 | access.stack, NULL);
        if (!*place)
            *place = chain_of(chains, thread->process, access.stack);
        struct callers *callers = &chains->list.items[*place - 1];
        callers->samples++;
        any |= callers->any;
    }
    flow_iter_free(iter);
    array_sort(&chains->list, by_samples);
    return any;
}

void object_callers_text(const struct flow *flow, uint32_t object, uint64_t samples, const struct view_options *options,
                         FILE *out)
{
    struct chains chains = {.flow = flow, .texts = strtab_new()};
    size_t limit = options->limit ? options->limit : options->verbose ? SIZE_MAX : TOP_CHAINS;
    if (read_chains(&chains, object)) {
        struct table *table = table_new();
        table_column(table, "share", TABLE_RIGHT);
        table_column(table, "function, its callers", TABLE_SOURCE);
        for (size_t i = 0; i < chains.list.count && i < limit; i++) {
            table_cell(table, "%s", number_percent(chains.list.items[i].samples, samples));
            table_cell(table, "%s", strtab_text(chains.texts, chains.list.items[i].text));
        }
        fputs("\nCalled by\n", out);
        table_print(table, out, 2, options->width, options->color);
    }
    map64_free(&chains.of_stack);
    map64_free(&chains.of_text);
    array_free(&chains.list);
    strtab_free(chains.texts);
}
