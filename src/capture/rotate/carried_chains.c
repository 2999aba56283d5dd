#include "capture/rotate/carried_chains.h"

#include "trace/varint.h"

static uint64_t outer(const struct event_stack *stack, unsigned at)
{
    return stack->frames[stack->depth - 1 - at];
}

void carried_chains_put(struct carried_chains *chains, const struct event_stack *stack)
{
    size_t shared = 0, most = chains->last.count < stack->depth ? chains->last.count : stack->depth;
    while (shared < most && chains->last.items[shared] == outer(stack, (unsigned)shared))
        shared++;
    array_reserve(&chains->bytes, chains->bytes.count + (3 + stack->depth - shared) * VARINT_MAX);
    uint8_t *at = chains->bytes.items + chains->bytes.count;
    at = varint_put(at, zigzag((uint64_t)stack->id - chains->last_id));
    at = varint_put(at, (uint64_t)stack->depth << 1 | (stack->cut != 0));
    at = varint_put(at, shared);
    array_reserve(&chains->last, stack->depth);
    for (unsigned i = (unsigned)shared; i < stack->depth; i++) {
        at = varint_put(at, zigzag(outer(stack, i) - (i ? chains->last.items[i - 1] : 0)));
        chains->last.items[i] = outer(stack, i);
    }
    chains->last.count = stack->depth;
    chains->last_id = stack->id;
    chains->bytes.count = (size_t)(at - chains->bytes.items);
}

static uint64_t take(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    varint_get(at, end, &value);
    return value;
}

void carried_chains_replay(const struct carried_chains *chains, struct event like,
                           void (*put)(void *context, const struct event *event), void *context)
{
    const uint8_t *at = chains->bytes.items, *end = at + chains->bytes.count;
    array_of(uint64_t) outermost = {0}, frames = {0};
    like.stack.id = 0;
    while (at < end) {
        like.stack.id += (uint32_t)unzigzag(take(&at, end));
        uint64_t depth = take(&at, end);
        like.stack.cut = depth & 1;
        like.stack.depth = (uint16_t)(depth >> 1);
        array_reserve(&outermost, like.stack.depth + 1u);
        array_reserve(&frames, like.stack.depth + 1u);
        for (size_t i = take(&at, end); i < like.stack.depth; i++)
            outermost.items[i] = unzigzag(take(&at, end)) + (i ? outermost.items[i - 1] : 0);
        for (unsigned i = 0; i < like.stack.depth; i++)
            frames.items[i] = outermost.items[like.stack.depth - 1 - i];
        like.stack.frames = frames.items;
        put(context, &like);
    }
    array_free(&outermost);
    array_free(&frames);
}

void carried_chains_free(struct carried_chains *chains)
{
    array_free(&chains->bytes);
    array_free(&chains->last);
}
