/* trace/heap_cursor.c - the reading end of runs of allocations and releases. Whatever the bytes are, it ends in an
 * event or in false. */
#include "trace/heap_model.h"
#include "trace/run_code.h"

/* A number in two columns: its lowest byte, and the rest. */
static inline bool get_split(struct run_cursor *cursor, unsigned column, uint64_t *value)
{
    uint64_t upper;
    if (cursor->at[column] >= cursor->end[column] || !get(cursor, column + 1, &upper) || upper >> 56)
        return false;
    *value = *cursor->at[column]++ | upper << 8;
    return true;
}

static inline bool get_shape(struct run_cursor *cursor, struct heap_model *model, unsigned which, unsigned op)
{
    return !(op & HEAP_SHAPE_CHANGED) ||
           (get(cursor, HEAP_COLUMN_SHAPE, &model->shape[which]) && model->shape[which] >> 24 == 0);
}

static inline bool get_far(struct run_cursor *cursor, struct heap_model *model, unsigned which, uint64_t *addr)
{
    uint64_t code;
    if (!get(cursor, HEAP_COLUMN_FAR, &code))
        return false;
    model->far[which] += unzigzag(code);
    *addr = rotate_left(model->far[which], 4);
    return true;
}

static inline bool get_place(struct run_cursor *cursor, struct heap_model *model, unsigned place, unsigned size_class,
                             struct event_alloc *to)
{
    if (place == HEAP_PLACE_END || place == HEAP_PLACE_FAR) {
        to->addr = model->end;
        if (place == HEAP_PLACE_FAR && !get_far(cursor, model, 0, &to->addr))
            return false;
        model->end = to->addr + heap_chunk(to->size);
        return true;
    }
    if (place >= HEAP_PLACES)
        return false;
    to->addr = place < HEAP_PLACE_END ? heap_recent_take(model, size_class, place)
                                      : heap_recent_take(model, HEAP_UNKNOWN, place - HEAP_PLACE_UNKNOWN);
    return true;
}

static inline bool get_alloc(struct run_cursor *cursor, struct heap_model *model, unsigned op,
                             struct event_alloc *alloc)
{
    struct heap_guess *before = heap_guess_of(model, model->last_stack);
    if (!(op & HEAP_STACK_GUESSED)) {
        uint64_t code;
        if (!get(cursor, HEAP_COLUMN_STACK, &code))
            return false;
        before->next_stack += (uint32_t)unzigzag(code);
    }
    alloc->stack = model->last_stack = before->next_stack;
    struct heap_guess *guess = heap_guess_of(model, alloc->stack);
    if (!(op & HEAP_SIZE_GUESSED) && !get_split(cursor, HEAP_COLUMN_SIZE, &guess->size))
        return false;
    alloc->size = guess->size;
    unsigned size_class = heap_class(alloc->size);
    if (!get_place(cursor, model, op & HEAP_PLACE, size_class, alloc) || !get_shape(cursor, model, 0, op))
        return false;
    alloc->fn = (uint8_t)model->shape[0];
    alloc->cpu = (uint16_t)(model->shape[0] >> 8);
    alloc->pool = 0;
    heap_slot_take(model, alloc->addr, size_class);
    return true;
}

static inline bool get_free(struct run_cursor *cursor, struct heap_model *model, unsigned op,
                            struct event_free *release)
{
    uint64_t slot;
    switch (op & HEAP_PLACE) {
    case HEAP_RELEASE_NEXT:
        slot = (uint64_t)model->released + 1;
        break;
    case HEAP_RELEASE_PREVIOUS:
        slot = (uint64_t)model->released - 1;
        break;
    case HEAP_RELEASE_NEWEST:
        slot = model->newest;
        break;
    case HEAP_RELEASE_SLOT:
        if (!get_split(cursor, HEAP_COLUMN_SLOT, &slot))
            return false;
        break;
    case HEAP_RELEASE_FAR:
        slot = UINT64_MAX;
        if (!get_far(cursor, model, 1, &release->addr))
            return false;
        heap_recent_push(model, HEAP_UNKNOWN, release->addr);
        break;
    default:
        return false;
    }
    if ((op & HEAP_PLACE) != HEAP_RELEASE_FAR) {
        if (slot >= model->slot_count || !model->slots[slot].used)
            return false;
        release->addr = heap_slot_release(model, (uint32_t)slot);
    }
    if (!get_shape(cursor, model, 1, op))
        return false;
    release->fn = (uint8_t)model->shape[1];
    release->cpu = (uint16_t)(model->shape[1] >> 8);
    return true;
}

bool heap_cursor_event(struct run_cursor *cursor, struct event *event)
{
    if (cursor->at[HEAP_COLUMN_OP] >= cursor->end[HEAP_COLUMN_OP])
        return false;
    unsigned op = *cursor->at[HEAP_COLUMN_OP]++;
    event->time = cursor->time;
    event->pid = cursor->pid;
    event->tid = cursor->tid;
    event->kind = op & HEAP_IS_FREE ? EVENT_FREE : EVENT_ALLOC;
    return op & HEAP_IS_FREE ? get_free(cursor, cursor->heap, op, &event->free)
                             : get_alloc(cursor, cursor->heap, op, &event->alloc);
}

bool heap_cursor_step(struct run_cursor *cursor)
{
    uint64_t code;
    if (!get(cursor, 0, &code) || (!(code & 1) && code >> (64 - HEAP_TIME_SHIFT)))
        return false;
    uint64_t difference = code & 1 ? code >> 1 : code >> 1 << HEAP_TIME_SHIFT;
    if (difference > UINT64_MAX - cursor->time)
        return false;
    cursor->time += difference;
    cursor->remaining--;
    return true;
}
