/* view/memory/map_text.c - numalens report map: memory over time, drawn with blocks in the terminal (SPEC C14, C15).
 *
 * Time goes along, memory goes down, in order of address; objects are named at the left. The more accesses, the stronger
 * the mark. With colours a letter shows two rows of memory, and its colour what kind of accesses they mostly are. */
#include "base/order.h"
#include "base/text.h"
#include "view/memory/map.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/report.h"

#include <math.h>
#include <string.h>

enum {
    HEIGHT = 24,
    MIN_PLOT = 20,
    MOST_LABEL = 22,
    STEPS = 4,
    PHASE_SLICES = 500 /* or more: phases may be short */,
    JSON_SLICES = 100,
    JSON_LEAVES = 1000
};

struct drawing {
    const struct memory_map *map;
    const struct view_options *options;
    const struct phases *phases;
    struct object_names *names;
    FILE *out;
    bool *shared; /* by leaf: several threads use it */
    enum view_map_by by;
    unsigned label, fine, columns;
    double high; /* accesses of a spot from which on it is drawn at its strongest */
    uint64_t drawn, skipped, filtered;
};

static const char *const glyphs[] = {" ", "░", "▒", "▓", "█"};
static const char *const plain[] = {" ", ".", ":", "*", "#"};
static const uint8_t cool[] = {24, 31, 38, 45}, warm[] = {94, 130, 172, 214};

static const char *faint(const struct drawing *d)
{
    return d->options->color ? "\033[2m" : "";
}

static const char *bold(const struct drawing *d)
{
    return d->options->color ? "\033[1m" : "";
}

static const char *normal(const struct drawing *d)
{
    return d->options->color ? "\033[0m" : "";
}

/* A letter that is not in ASCII, or what stands for it. */
static const char *letter(const struct drawing *d, const char *fine, const char *ascii)
{
    return d->options->ascii ? ascii : fine;
}

static void repeat(const struct drawing *d, const char *text, size_t count)
{
    while (count-- > 0)
        fputs(text, d->out);
}

/* A text of the trace, made safe and cut, with blanks before it up to `width`. */
static void put_right(const struct drawing *d, const char *text, unsigned width, const char *style)
{
    char *safe = text_safe_fit(text, width);
    size_t columns = text_width(safe);
    repeat(d, " ", columns < width ? width - columns : 0);
    fprintf(d->out, "%s%s%s", style, safe, *style ? normal(d) : "");
    free(safe);
}

ORDER_BY(by_number, uint32_t, ORDER(*a, *b))

/* Where the strongest mark begins: what only one spot in twenty exceeds. */
static double high_of(const struct map_spot *spots, size_t count)
{
    uint32_t *numbers = mem_alloc((count + 1) * sizeof *numbers);
    size_t some = 0;
    for (size_t i = 0; i < count; i++) {
        if (spots[i].accesses)
            numbers[some++] = spots[i].accesses;
    }
    qsort(numbers, some, sizeof *numbers, by_number);
    double high = some ? numbers[some * 19 / 20] : 1;
    free(numbers);
    return high;
}

static unsigned step_of(const struct drawing *d, const struct map_spot *spot)
{
    if (spot->accesses == 0)
        return 0;
    double part = sqrt(spot->accesses / d->high);
    return part >= 1 ? STEPS : 1 + (unsigned)(part * STEPS);
}

static bool is_warm(const struct drawing *d, const struct map_spot *spot)
{
    switch (d->by) {
    case MAP_BY_SHARED:
        return spot->shared * 2ul >= spot->accesses;
    case MAP_BY_WRITE:
        return spot->writes * 2ul >= spot->accesses;
    default:
        return spot->home_known && spot->remote * 2ul >= spot->home_known;
    }
}

static unsigned color_of(const struct drawing *d, const struct map_spot *spot)
{
    unsigned step = step_of(d, spot);
    step = step > STEPS ? STEPS : step;
    return step == 0 ? 0 : is_warm(d, spot) ? warm[step - 1] : cool[step - 1];
}

/* Two spots in one letter: the upper half in the letter's colour, the lower in that of the ground. */
static void put_halves(const struct drawing *d, unsigned above, unsigned below)
{
    if (above && below)
        fprintf(d->out, "\033[38;5;%u;48;5;%um▀\033[0m", above, below);
    else if (above || below)
        fprintf(d->out, "\033[38;5;%um%s\033[0m", above ? above : below, above ? "▀" : "▄");
    else
        fputc(' ', d->out);
}

static void put_row(const struct drawing *d, const struct map_spot *row)
{
    for (uint32_t column = 0; column < d->columns; column++) {
        const struct map_spot *spot = &row[column];
        if (d->fine == 2) {
            put_halves(d, color_of(d, spot), color_of(d, spot + d->columns));
            continue;
        }
        unsigned step = step_of(d, spot);
        const char *glyph = (d->options->ascii ? plain : glyphs)[step > STEPS ? STEPS : step];
        if (d->options->color && step)
            fprintf(d->out, "\033[38;5;%um%s\033[0m", color_of(d, spot), glyph);
        else
            fputs(glyph, d->out);
    }
}

static void region_name(const struct drawing *d, const struct map_region *region, char *name, size_t size)
{
    const struct memory_leaf *leaf = &d->map->leaves.items[region->first_leaf];
    if (region->object != FLOW_NONE)
        snprintf(name, size, "%s", object_name(d->names, region->object));
    else if (leaf->object != FLOW_NONE)
        snprintf(name, size, "%s%s", object_name(d->names, leaf->object), region->leaves > 1 ? ", ..." : "");
    else
        snprintf(name, size, "0x%lx", (unsigned long)leaf->addr);
}

static void put_region(const struct drawing *d, const struct map_region *region, const struct map_spot *spots)
{
    for (uint32_t i = 0; i < region->rows; i++) {
        char text[256] = "";
        if (i == 0)
            region_name(d, region, text, sizeof text);
        else if (i == 1)
            snprintf(text, sizeof text, "%s", number_bytes(region->bytes));
        put_right(d, text, d->label, i == 1 ? faint(d) : "");
        fprintf(d->out, " %s", letter(d, i == 0 ? "┤" : "│", i == 0 ? "+" : "|"));
        put_row(d, spots + (size_t)i * d->fine * d->columns);
        fputc('\n', d->out);
    }
}

/* All of memory, or one thread's, in so many rows. */
static void put_memory(struct drawing *d, uint32_t thread, unsigned rows, double high)
{
    struct map_regions regions;
    map_regions_make(&regions, d->map, thread, rows, d->names, d->options);
    size_t all = 0, at = 0;
    array_each (&regions.items, const struct map_region, region)
        all += (size_t)region->rows * d->fine * d->columns;
    struct map_spot *spots = mem_zalloc((all + 1) * sizeof *spots);
    map_spots(spots, &regions, d->map, thread, d->shared, d->fine, d->columns);
    d->high = high > 0 ? high : high_of(spots, all);
    array_each (&regions.items, const struct map_region, region) {
        put_region(d, region, spots + at);
        at += (size_t)region->rows * d->fine * d->columns;
    }
    d->skipped += regions.skipped;
    d->filtered += regions.filtered;
    d->drawn += regions.accesses - regions.skipped - regions.filtered;
    free(spots);
    array_free(&regions.items);
}

struct busy {
    uint32_t thread;
    uint64_t accesses;
};

ORDER_BY(by_accesses, struct busy, ORDER(b->accesses, a->accesses) ?: ORDER(a->thread, b->thread))

ORDER_BY(by_thread, struct busy, ORDER(a->thread, b->thread))

static void put_gantt(struct drawing *d, unsigned height)
{
    const struct flow *flow = d->map->flow;
    size_t threads = flow_thread_count(flow), busy = 0;
    struct busy *all = mem_zalloc((threads + 1) * sizeof *all);
    for (uint32_t i = 0; i < threads; i++)
        all[i].thread = i;
    array_each (&d->map->cells, const struct memory_cell, cell)
        all[cell->thread].accesses += cell->accesses;
    qsort(all, threads, sizeof *all, by_accesses);
    while (busy < threads && all[busy].accesses)
        busy++;
    size_t most = height / 3 ? height / 3 : 1, shown = busy < most ? busy : most;
    for (size_t i = shown; i < busy; i++)
        d->skipped += all[i].accesses;
    qsort(all, shown, sizeof *all, by_thread);
    unsigned rows = shown ? height / (unsigned)shown : 1;
    for (size_t i = 0; i < shown; i++) {
        const struct flow_thread *thread = flow_thread(flow, all[i].thread);
        int node = flow_thread_node(flow, all[i].thread);
        char text[256];
        snprintf(text, sizeof text, "%s (%u)", *thread->name ? thread->name : "thread", thread->tid);
        put_right(d, text, d->label, bold(d));
        fprintf(d->out, " %s %s%s of the accesses", letter(d, "┼", "+"), faint(d),
                number_percent(all[i].accesses, d->map->shown));
        if (node >= 0)
            fprintf(d->out, ", from node %d", node_os(flow, node));
        fprintf(d->out, "%s\n", normal(d));
        put_memory(d, all[i].thread, rows > 2 ? rows - 1 : 1, 0);
    }
    if (busy > shown)
        fprintf(d->out, "%*s %s %s more threads\n", (int)d->label, "", letter(d, "┼", "+"), number_count(busy - shown));
    free(all);
}

/* A time of the run, since its start. */
static const char *moment(double seconds)
{
    return seconds < 1e-9 ? "0 s" : number_seconds(seconds);
}

static uint32_t column_of(const struct drawing *d, uint64_t time)
{
    uint64_t column = (time - d->map->start) * d->columns / (d->map->end - d->map->start);
    return column < d->columns ? (uint32_t)column : d->columns;
}

/* The phases' numbers where they begin. */
static void put_phase_line(const struct drawing *d)
{
    put_right(d, "phases", d->label, faint(d));
    fprintf(d->out, " %s", letter(d, "┌", "+"));
    for (size_t i = 0; i < d->phases->items.count; i++) {
        const struct phase *phase = &d->phases->items.items[i];
        uint32_t width = column_of(d, phase->end) - column_of(d, phase->start);
        char number[24];
        uint32_t length = (uint32_t)snprintf(number, sizeof number, "%zu", i + 1);
        if (width == 0)
            continue;
        if (i) {
            fputs(letter(d, "┬", "|"), d->out);
            width--;
        }
        if (length <= width) {
            fprintf(d->out, "%s%s%s", bold(d), number, normal(d));
            width -= length;
        }
        repeat(d, letter(d, "─", "-"), width);
    }
    fputc('\n', d->out);
}

static void put_time_line(const struct drawing *d)
{
    double start = (double)(d->map->start - flow_start(d->map->flow)) * 1e-9;
    double span = (double)d->map->slice_ns * d->map->slices * 1e-9;
    char texts[3][32];
    repeat(d, " ", d->label + 1);
    fputs(letter(d, "└", "+"), d->out);
    for (uint32_t i = 0; i < d->columns; i++)
        fputs(i == d->columns / 2 || i + 1 == d->columns ? letter(d, "┴", "+") : letter(d, "─", "-"), d->out);
    fputc('\n', d->out);
    for (unsigned i = 0; i < 3; i++)
        snprintf(texts[i], sizeof texts[i], "%s", moment(start + span * i / 2));
    size_t middle = d->columns / 2, left = strlen(texts[0]), half = strlen(texts[1]) / 2;
    repeat(d, " ", d->label + 2);
    fprintf(d->out, "%s%s", faint(d), texts[0]);
    repeat(d, " ", middle > left + half ? middle - left - half : 1);
    fputs(texts[1], d->out);
    size_t at = (middle > left + half ? middle - half : left + 1) + strlen(texts[1]), end = d->columns;
    repeat(d, " ", end > at + strlen(texts[2]) ? end - at - strlen(texts[2]) : 1);
    fprintf(d->out, "%s%s\n", texts[2], normal(d));
}

static void put_phases(const struct drawing *d)
{
    unsigned width = d->options->width;
    problem_heading(d->options, d->out, d->phases->items.count > 1 ? "Phases" : "One phase");
    for (size_t i = 0; i < d->phases->items.count; i++) {
        const struct phase *phase = &d->phases->items.items[i];
        char number[48];
        char when[64];
        snprintf(number, sizeof number, "%zu", i + 1);
        snprintf(when, sizeof when, "%s", moment((double)(phase->start - flow_start(d->map->flow)) * 1e-9));
        paragraph_labelled(d->out, number, 2, 5, width, "%s to %s: %s (%s%s%s%s)", when,
                           number_seconds((double)(phase->end - flow_start(d->map->flow)) * 1e-9), phase->name,
                           phase->accesses ? number_count(phase->accesses) : "no sample",
                           phase->accesses ? " accesses" : "", phase->remote ? ", remote " : "",
                           phase->remote ? number_percent(phase->remote, phase->accesses) : "");
    }
}

static void put_legend(const struct drawing *d)
{
    static const char *const kinds[][2] = {[MAP_BY_REMOTE] = {"mostly local", "mostly remote"},
                                           [MAP_BY_SHARED] = {"private pages", "shared pages"},
                                           [MAP_BY_WRITE] = {"mostly reads", "mostly writes"}};
    repeat(d, " ", d->label + 2);
    if (d->options->color) {
        for (unsigned warmth = 0; warmth < 2; warmth++) {
            for (unsigned step = 0; step < STEPS; step++)
                fprintf(d->out, "\033[38;5;%um%s\033[0m", (warmth ? warm : cool)[step], letter(d, "█", "#"));
            fprintf(d->out, " %s   ", kinds[d->by][warmth]);
        }
        fputs("few to many\n", d->out);
        return;
    }
    for (unsigned step = 1; step <= STEPS; step++)
        fputs((d->options->ascii ? plain : glyphs)[step], d->out);
    fputs(" few to many accesses\n", d->out);
}

static void put_rest(const struct drawing *d)
{
    const struct memory_map *map = d->map;
    const char *path = d->options->path ? d->options->path : "";
    if (d->skipped)
        paragraph(d->out, 2, d->options->width, "",
                  "Not drawn: %s of the accesses, spread over memory with too few for a row.",
                  number_percent(d->skipped, map->shown));
    if (d->filtered)
        paragraph(d->out, 2, d->options->width, "", "Not shown because of --filter: %s of the accesses.",
                  number_percent(d->filtered, map->shown));
    if (map->without_addr)
        paragraph(d->out, 2, d->options->width, "", "%s accesses carry no physical address.",
                  number_count(map->without_addr));
    if (map->without_thread)
        paragraph(d->out, 2, d->options->width, "", "%s accesses are from unknown threads.",
                  number_count(map->without_thread));
    char *word = text_shell(path);
    paragraph(d->out, 2, d->options->width, "", "Next: numalens report map%s %s; numalens report --html page.html %s",
              d->options->gantt ? "" : " --gantt", word, word);
    free(word);
}

static enum view_map_by choose_by(const struct flow *flow, enum view_map_by asked)
{
    if (asked != MAP_BY_DEFAULT)
        return asked;
    struct flow_totals totals = flow_totals(flow);
    return totals.remote ? MAP_BY_REMOTE : flow_thread_count(flow) > 1 ? MAP_BY_SHARED : MAP_BY_WRITE;
}

static void mark_shared(bool *shared, const struct memory_map *map)
{
    uint32_t *user = mem_alloc((map->leaves.count + 1) * sizeof *user);
    for (size_t i = 0; i < map->leaves.count; i++)
        user[i] = FLOW_NONE;
    array_each (&map->cells, const struct memory_cell, cell) {
        if (user[cell->leaf] == FLOW_NONE)
            user[cell->leaf] = cell->thread;
        else if (user[cell->leaf] != cell->thread)
            shared[cell->leaf] = true;
    }
    free(user);
}

static uint64_t touched_bytes(const struct memory_map *map)
{
    uint64_t bytes = 0;
    array_each (&map->leaves, const struct memory_leaf, leaf)
        bytes += leaf->bytes;
    return bytes;
}

static void map_text(struct drawing *d)
{
    const struct view_options *options = d->options;
    unsigned height = options->height ? options->height : HEIGHT;
    if (d->map->shown == 0) {
        paragraph(d->out, 0, options->width, "",
                  d->map->without_addr
                      ? "No access has a physical address: record with a source that has them (docs/record.md)."
                      : "No accesses were sampled here.");
        return;
    }
    paragraph(d->out, 0, options->width, bold(d), "%s over time: %s accesses to %s%s; a column is %s.",
              options->gantt ? "Each thread's memory" : "Memory", number_count(d->map->shown),
              number_bytes(touched_bytes(d->map)), d->map->physical ? " of physical memory" : "",
              number_seconds((double)(d->map->end - d->map->start) * 1e-9 / d->columns));
    fputc('\n', d->out);
    put_phase_line(d);
    if (options->gantt)
        put_gantt(d, height);
    else
        put_memory(d, FLOW_NONE, height, 0);
    put_time_line(d);
    put_legend(d);
    put_phases(d);
    fputc('\n', d->out);
    put_rest(d);
}

int view_map(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    unsigned width = options->width ? options->width : 120, label = width / 4 < MOST_LABEL ? width / 4 : MOST_LABEL;
    unsigned columns = width > label + 2 + MIN_PLOT ? width - label - 2 : MIN_PLOT;
    struct memory_map_options how = MEMORY_MAP_WHOLE;
    how.slices = options->json ? JSON_SLICES : (PHASE_SLICES + columns - 1) / columns * columns;
    how.max_leaves = options->json ? JSON_LEAVES : 0;
    how.physical = options->physical;
    if (options->from_s > 0 || options->to_s > 0) {
        how.start = flow_start(flow) + (uint64_t)(options->from_s * 1e9);
        how.end = options->to_s > 0 ? flow_start(flow) + (uint64_t)(options->to_s * 1e9) : flow_end(flow) + 1;
    }
    struct memory_map *map = memory_map_build(flow, &how, err);
    if (!map)
        return -1;
    struct phases *phases = phases_find(map);
    int failed;
    if (options->json) {
        failed = map_json(map, phases, options, out, err);
    } else {
        struct drawing d = {.map = map,
                            .options = options,
                            .phases = phases,
                            .names = object_names_new(flow),
                            .out = out,
                            .shared = mem_zalloc(map->leaves.count + 1),
                            .by = choose_by(flow, options->by),
                            .label = label,
                            .columns = columns,
                            .fine = options->color && !options->ascii ? 2 : 1};
        mark_shared(d.shared, map);
        map_text(&d);
        free(d.shared);
        object_names_free(d.names);
        failed = report_flush(out, err);
    }
    phases_free(phases);
    memory_map_free(map);
    return failed;
}
