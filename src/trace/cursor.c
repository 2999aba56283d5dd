/* trace/cursor.c - the reading end of trace/run.h. Whatever the bytes are, it ends in an event or in false. */
#include "trace/event_rows.h"
#include "trace/run_code.h"

#include <string.h>

bool run_cursor_event(struct run_cursor *cursor, struct event *event)
{
    event->time = cursor->time;
    event->pid = cursor->pid;
    event->tid = cursor->tid;
    event->kind = cursor->kind;
    return event_rows[cursor->kind].decode(cursor, event);
}

bool run_cursor_step(struct run_cursor *cursor)
{
    uint64_t difference;
    if (!get(cursor, 0, &difference) || difference > UINT64_MAX - cursor->time)
        return false;
    cursor->time += difference;
    cursor->remaining--;
    return true;
}

bool run_cursor_begin(struct run_cursor *cursor, uint8_t kind, uint32_t pid, uint32_t tid, uint32_t count,
                      uint64_t first_time)
{
    cursor->kind = kind;
    cursor->pid = pid;
    cursor->tid = tid;
    cursor->remaining = count;
    cursor->time = first_time;
    memset(&cursor->state, 0, sizeof cursor->state);
    return run_cursor_step(cursor);
}
