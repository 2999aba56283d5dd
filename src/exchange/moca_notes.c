#include "exchange/moca_notes.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 512 << 10 }; /* of each text: a reader of traces takes sessions of up to 1 MiB */

void moca_notes_free(struct moca_notes *notes)
{
    array_each (&notes->chunks, struct moca_chunk_note, note)
        free(note->mask);
    array_free(&notes->chunks);
    array_free(&notes->tasks);
}

static char *tasks_text(const struct moca_notes *notes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    array_each (&notes->tasks, const struct moca_task, task)
        fprintf(out, "%u %u %u %u;", task->id, task->pid, task->event_pid, task->event_tid);
    fclose(out);
    return text;
}

static char *chunks_text(const struct moca_notes *notes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    array_each (&notes->chunks, const struct moca_chunk_note, note) {
        fprintf(out, "%u %" PRIu64, note->task, note->number);
        if (note->has_id)
            fprintf(out, " i%" PRIu64, note->id);
        if (note->has_count)
            fprintf(out, " n%" PRIu64, note->count);
        if (note->is_empty)
            fprintf(out, " s%" PRIu64 " e%" PRIu64, note->start, note->end);
        if (note->has_mask)
            fprintf(out, " m%s", note->mask);
        putc(';', out);
    }
    fclose(out);
    return text;
}

bool moca_notes_keep(const struct moca_notes *notes, struct trace_session *session)
{
    const struct moca_style *style = &notes->style;
    trace_session_setf(session, "moca_style", "%d %u %d %u %" PRIu64 " %d", style->address_prefix,
                       style->address_digits, style->mask_hexadecimal, style->mask_digits, style->page_size,
                       style->order);
    char *tasks = tasks_text(notes), *chunks = chunks_text(notes);
    bool fits = strlen(tasks) <= MOST_BYTES / 2 && strlen(chunks) <= MOST_BYTES;
    if (strlen(tasks) <= MOST_BYTES / 2)
        trace_session_set(session, "moca_tasks", tasks);
    if (fits)
        trace_session_set(session, "moca_chunks", chunks);
    free(tasks);
    free(chunks);
    return fits;
}

static bool find_style(struct moca_style *style, const char *text)
{
    int prefix, hexadecimal, order;
    unsigned digits;
    uint32_t mask;
    uint64_t page;
    if (!text ||
        sscanf(text, "%d %u %d %" SCNu32 " %" SCNu64 " %d", &prefix, &digits, &hexadecimal, &mask, &page, &order) !=
            6 ||
        digits > 16 || mask > 65536 || order < 0 || order > MOCA_BY_TIME)
        return false;
    *style = (struct moca_style){prefix != 0, hexadecimal != 0, digits, mask, page, (enum moca_order)order};
    return true;
}

static bool find_task(struct moca_notes *notes, char *text)
{
    struct moca_task task;
    if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &task.id, &task.pid, &task.event_pid,
               &task.event_tid) != 4)
        return false;
    array_push(&notes->tasks, task);
    return true;
}

static bool find_chunk(struct moca_notes *notes, char *text)
{
    struct moca_chunk_note note = {0};
    int used = 0;
    if (sscanf(text, "%" SCNu32 " %" SCNu64 "%n", &note.task, &note.number, &used) != 2)
        return false;
    char *rest = text + used, *word;
    bool good = true;
    while (good && (word = strsep(&rest, " "))) {
        uint64_t number = strtoull(*word ? word + 1 : word, NULL, 10);
        switch (*word) {
        case 0:
            break;
        case 'i':
            note.has_id = true;
            note.id = number;
            break;
        case 'n':
            note.has_count = true;
            note.count = number;
            break;
        case 's':
            note.is_empty = true;
            note.start = number;
            break;
        case 'e':
            note.end = number;
            break;
        case 'm':
            good = !note.has_mask && word[1 + strspn(word + 1, "0123456789abcdefABCDEFxX")] == 0;
            note.has_mask = good;
            note.mask = good ? mem_strdup(word + 1) : note.mask;
            break;
        default:
            good = false;
        }
    }
    if (!good) {
        free(note.mask);
        return false;
    }
    array_push(&notes->chunks, note);
    return true;
}

static bool each_part(struct moca_notes *notes, const char *text, bool (*find)(struct moca_notes *notes, char *part))
{
    char *copy = mem_strdup(text ? text : ""), *rest = copy, *part;
    bool good = true;
    while (good && (part = strsep(&rest, ";")))
        good = *part == 0 || find(notes, part);
    free(copy);
    return good;
}

static int by_task(const void *left, const void *right)
{
    const struct moca_chunk_note *a = left, *b = right;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

bool moca_notes_find(struct moca_notes *notes, const struct trace_session *session)
{
    *notes = (struct moca_notes){0};
    if (session && find_style(&notes->style, trace_session_get(session, "moca_style")) &&
        each_part(notes, trace_session_get(session, "moca_tasks"), find_task) &&
        each_part(notes, trace_session_get(session, "moca_chunks"), find_chunk)) {
        array_sort(&notes->chunks, by_task);
        return true;
    }
    moca_notes_free(notes);
    *notes = (struct moca_notes){0};
    return false;
}
