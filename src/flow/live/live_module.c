/* flow/live/live_module.c - which binary is mapped where in a process. */
#include "base/bisect.h"
#include "base/text.h"
#include "flow/state.h"
#include "flow/wrappers.h"

#include <string.h>

static uint32_t module_number(struct flow *flow, uint32_t pid, const struct event_module *event)
{
    const char *path = event->path ? event->path : "";
    size_t id_size = event->build_id_size <= sizeof event->build_id ? event->build_id_size : 0;
    char key[4096 + sizeof event->build_id];
    size_t length = strnlen(path, 4096);
    memcpy(key, event->build_id, id_size);
    memcpy(key + id_size, path, length);
    uint32_t number = strtab_add_bytes(flow->module_keys, key, id_size + length);
    while (flow->modules.count <= number)
        array_push(&flow->modules, (struct module_info){.path = "", .name = ""});
    struct module_info *module = &flow->modules.items[number];
    if (number && !module->symbols) {
        module->path = strtab_intern(flow->texts, path);
        module->name = strtab_intern(flow->texts, text_file_name(path));
        module->wraps = wrapper_by_module(module->name);
        module->symbols = symbols_module(flow->symbols, module->path, event->build_id, id_size);
    }
    if (module->symbols)
        symbols_module_of_process(module->symbols, pid);
    return number;
}

void live_module_list_drop(struct module_list *list)
{
    if (list && --list->refs == 0)
        free(list);
}

/* A list with [from, until) taken out and room for one more in that place; `old`, which others may have too, is let go. */
static struct module_list *list_cut(struct module_list *old, size_t from, size_t until)
{
    uint32_t count = old ? old->count : 0;
    size_t after = count - until;
    struct module_list *list = old;
    if (!old || old->refs > 1 || old->room < from + 1 + after) {
        uint32_t room = (uint32_t)(from + 1 + after) * 2;
        list = mem_alloc(sizeof *list + room * sizeof *list->places);
        *list = (struct module_list){.refs = 1, .room = room};
        if (from)
            memcpy(list->places, old->places, from * sizeof *list->places);
    }
    if (after)
        memmove(list->places + from + 1, old->places + until, after * sizeof *list->places);
    list->count = (uint32_t)(from + 1 + after);
    if (list != old)
        live_module_list_drop(old);
    return list;
}

/* Changes the process's list into one without [start, end) and, when `added` is given, with it. */
static void rebuild(struct process *process, uint64_t start, uint64_t end, const struct module_place *added)
{
    const struct module_list *old = process->modules;
    uint32_t count = old ? old->count : 0;
    size_t from = bisect(count, i, old->places[i].end <= start);
    size_t until = bisect(count, i, old->places[i].start < end);
    struct module_list *list = process->modules = list_cut(process->modules, from, until > from ? until : from);
    if (added)
        list->places[from] = *added;
    else
        memmove(list->places + from, list->places + from + 1, (--list->count - from) * sizeof *list->places);
}

static void forget_names(struct flow *flow, struct process *process, struct addrtree *tree, uint64_t start,
                         uint64_t end, uint64_t time)
{
    uint64_t key = start;
    uint32_t record;
    while (addrtree_ceiling(tree, key, &key, &record) && key < end) {
        addrtree_remove(tree, ADDRTREE_NOWHERE, key, &record);
        live_record_end(flow, process, record, time);
    }
}

void live_names_forget(struct flow *flow, struct process *process, uint64_t start, uint64_t end, uint64_t time)
{
    forget_names(flow, process, &process->statics, start, end, time);
    forget_names(flow, process, &process->sections, start, end, time);
}

void live_module_load(struct flow *flow, struct process *process, const struct event *event)
{
    const struct event_module *module = &event->module;
    if (module->end <= module->start)
        return;
    const struct module_place *there = live_module_at(process, module->start);
    struct module_place place = {.start = module->start,
                                 .end = module->end,
                                 .bias = module->bias,
                                 .module = module_number(flow, process->row.pid, module)};
    if (there && there->start == place.start && there->end == place.end && there->module == place.module)
        return; /* a fork or an attach reports what is known already */
    live_names_forget(flow, process, module->start, module->end, event->time);
    rebuild(process, module->start, module->end, &place);
}

void live_module_unload(struct flow *flow, struct process *process, const struct event *event)
{
    const struct module_place *place = live_module_at(process, event->module.start);
    if (!place)
        return;
    uint64_t start = place->start, end = place->end;
    live_names_forget(flow, process, start, end, event->time);
    rebuild(process, start, end, NULL);
}

const struct module_place *live_module_at(const struct process *process, uint64_t addr)
{
    const struct module_list *list = process->modules;
    if (!list)
        return NULL;
    size_t low = bisect(list->count, i, list->places[i].start <= addr);
    return low && addr < list->places[low - 1].end ? &list->places[low - 1] : NULL;
}
