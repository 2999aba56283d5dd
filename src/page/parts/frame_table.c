#include "page/parts/frame_table.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/strtab.h"

#include <inttypes.h>

struct frame_chain {
    uint32_t first, count; /* in members */
};

struct frames {
    const struct flow *flow;
    struct strtab *keys;
    array_of(struct flow_frame) items;
    array_of(struct frame_chain) chains;
    array_of(uint32_t) members;
    struct map64 chain_of; /* process << 32 | stack */
    struct flow_frame *room;
};

struct frames *frames_new(const struct flow *flow)
{
    struct frames *frames = mem_zalloc(sizeof *frames);
    frames->flow = flow;
    frames->keys = strtab_new();
    frames->room = mem_alloc(FRAMES_DEPTH * sizeof *frames->room);
    return frames;
}

void frames_free(struct frames *frames)
{
    strtab_free(frames->keys);
    array_free(&frames->items);
    array_free(&frames->chains);
    array_free(&frames->members);
    map64_free(&frames->chain_of);
    free(frames->room);
    free(frames);
}

/* Names that are equal are one pointer each or compare equal as texts; what has no name is distinguished by its address. */
uint32_t frames_add(struct frames *frames, const struct flow_frame *frame)
{
    const struct symbol_frame *symbol = &frame->symbol;
    char *key = mem_format("%s\n%s\n%s\n%u%d %" PRIx64, symbol->function, symbol->file, frame->module, symbol->line,
                           symbol->inlined, *symbol->function ? 0 : frame->addr);
    uint32_t number = strtab_add(frames->keys, key) - 1; /* "" is 0 */
    free(key);
    if (number == frames->items.count)
        array_push(&frames->items, *frame);
    return number;
}

uint32_t frames_add_stack(struct frames *frames, uint32_t process, uint32_t stack)
{
    if (process == FLOW_NONE || stack == FLOW_NONE || stack == 0)
        return FLOW_NONE;
    bool is_new;
    uint64_t *place = map64_insert(&frames->chain_of, (uint64_t)process << 32 | stack, &is_new);
    if (!is_new)
        return (uint32_t)*place;
    size_t count = flow_stack_places(frames->flow, process, stack, frames->room, FRAMES_DEPTH);
    *place = count ? frames->chains.count : FLOW_NONE;
    if (count == 0)
        return FLOW_NONE;
    struct frame_chain chain = {.first = (uint32_t)frames->members.count, .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        uint32_t number = frames_add(frames, &frames->room[i]);
        array_push(&frames->members, number);
    }
    array_push(&frames->chains, chain);
    return (uint32_t)frames->chains.count - 1;
}

static void put_frame(struct json *json, const struct flow_frame *frame)
{
    const struct symbol_frame *symbol = &frame->symbol;
    json_object(json, NULL);
    if (*symbol->function) {
        json_text(json, "function", symbol->function);
    } else {
        char *name = mem_format("%s+0x%" PRIx64, *frame->module ? frame->module : "?", frame->addr);
        json_text(json, "function", name);
        free(name);
    }
    json_text(json, "file", symbol->file);
    json_number(json, "line", symbol->line);
    json_text(json, "module", frame->module);
    json_bool(json, "inlined", symbol->inlined);
    json_end(json);
}

void frames_put(const struct frames *frames, struct json *json)
{
    json_array(json, "stacks");
    array_each (&frames->chains, const struct frame_chain, chain) {
        json_array(json, NULL);
        for (uint32_t i = 0; i < chain->count; i++)
            json_number(json, NULL, frames->members.items[chain->first + i]);
        json_end(json);
    }
    json_end(json);
    json_array(json, "frames");
    array_each (&frames->items, const struct flow_frame, frame)
        put_frame(json, frame);
    json_end(json);
}
