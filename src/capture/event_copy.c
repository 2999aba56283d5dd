#include "capture/event_copy.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The texts of an event: none, one or two. */
static unsigned texts_of(struct event *event, const char **texts[2])
{
    switch (event->kind) {
    case EVENT_PROCESS_START:
        texts[0] = &event->process.exe;
        texts[1] = &event->process.command;
        return 2;
    case EVENT_THREAD_START:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_EXIT:
        texts[0] = &event->thread.name;
        return 1;
    case EVENT_MODULE_LOAD:
    case EVENT_MODULE_UNLOAD:
        texts[0] = &event->module.path;
        return 1;
    case EVENT_MAP:
    case EVENT_UNMAP:
        texts[0] = &event->map.path;
        return 1;
    default:
        return 0;
    }
}

struct event event_copy(const struct event *event)
{
    struct event copy = *event;
    const char **texts[2];
    unsigned count = texts_of(&copy, texts);
    for (unsigned i = 0; i < count; i++)
        *texts[i] = mem_strdup(*texts[i] ? *texts[i] : "");
    if (copy.kind == EVENT_STACK) {
        size_t bytes = copy.stack.depth * sizeof *copy.stack.frames;
        uint64_t *frames = mem_alloc(bytes ? bytes : 1);
        if (bytes)
            memcpy(frames, copy.stack.frames, bytes);
        copy.stack.frames = frames;
    }
    return copy;
}

void event_copy_free(struct event *event)
{
    const char **texts[2];
    unsigned count = texts_of(event, texts);
    for (unsigned i = 0; i < count; i++)
        free((char *)*texts[i]);
    if (event->kind == EVENT_STACK)
        free((uint64_t *)event->stack.frames);
}
