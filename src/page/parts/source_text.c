/* page/parts/source_text.c - the source around the hottest lines, where it is at hand: a few lines of each, in the order of the files. */
#include "base/order.h"
#include "flow/names/sources.h"

#include "page/parts/parts.h"

#include <string.h>

enum { HOTTEST = 300, AROUND = 10, MOST_BYTES = 512 << 10, LONGEST_LINE = 500 };

static int by_file(const struct flow_function *a, const struct flow_function *b)
{
    return strcmp(a->file, b->file) ?: strcmp(a->directory, b->directory);
}

ORDER_BY(by_place, struct flow_function *, by_file(*a, *b) ?: ORDER((*a)->line, (*b)->line))

struct place { /* how far a file is read */
    const char *at, *end;
    uint32_t number; /* of the line at `at` */
};

/* The lines `first` to `last`, or fewer where the file ends. Returns their bytes. */
static size_t put_piece(struct json *json, const char *file, struct place *place, uint32_t first, uint32_t last)
{
    size_t bytes = 0;
    json_object(json, NULL);
    json_text(json, "file", file);
    json_number(json, "first", first);
    json_array(json, "text");
    for (; place->at < place->end && place->number <= last; place->number++) {
        const char *end = memchr(place->at, '\n', (size_t)(place->end - place->at));
        size_t size = (size_t)((end ? end : place->end) - place->at);
        size_t kept = size < LONGEST_LINE ? size : LONGEST_LINE;
        if (place->number >= first) {
            char *line = mem_format("%.*s", (int)kept, place->at);
            json_text(json, NULL, line);
            free(line);
            bytes += kept;
        }
        place->at = end ? end + 1 : place->end;
    }
    json_end(json);
    json_end(json);
    return bytes;
}

void sources_put(const struct parts *parts, struct json *json)
{
    const struct flow *flow = parts->flow;
    const struct flow_function *lines[HOTTEST] = {NULL};
    const struct flow_process *process = flow_process(flow, 0);
    struct sources *sources = sources_new();
    struct place place = {0};
    size_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < flow_line_count(flow) && count < HOTTEST; i++)
        if (flow_line(flow, i)->line)
            lines[count++] = flow_line(flow, i);
    qsort(lines, count, sizeof *lines, by_place);
    json_array(json, "sources");
    for (size_t i = 0, end; i < count && bytes < MOST_BYTES; i = end) {
        uint32_t first = lines[i]->line > AROUND ? lines[i]->line - AROUND : 1, last = lines[i]->line + AROUND;
        bool same = i > 0 && by_file(lines[i], lines[i - 1]) == 0;
        if (!same) {
            size_t size;
            struct source_file file = {lines[i]->file, lines[i]->directory, process ? process->exe : ""};
            place.at = sources_text(sources, &file, &size);
            place.end = place.at ? place.at + size : NULL;
            place.number = 1;
        }
        for (end = i + 1; end < count && lines[end]->line <= last + AROUND + 1 && by_file(lines[end], lines[i]) == 0;
             end++)
            last = lines[end]->line + AROUND;
        if (place.at)
            bytes += put_piece(json, lines[i]->file, &place, first, last);
    }
    json_end(json);
    sources_free(sources);
}
