#include "trace/heap_model.h"

#include "base/mem.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

struct heap_model *heap_model_new(void)
{
    return mem_zalloc_aligned(_Alignof(struct heap_model), sizeof(struct heap_model));
}

void heap_model_begin(struct heap_model *model)
{
    struct heap_slot *slots = model->slots;
    uint32_t room = model->slot_room;
    memset(model, 0, sizeof *model);
    model->slots = slots;
    model->slot_room = room;
}

bool heap_model_grow(struct heap_model *model)
{
    if (model->slot_room > HEAP_SLOTS)
        return false;
    model->slot_room = model->slot_room ? model->slot_room * 2 : FIRST_SLOTS;
    model->slots = mem_resize(model->slots, model->slot_room * sizeof *model->slots);
    return true;
}
