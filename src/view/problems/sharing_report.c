/* view/problems/sharing_report.c - numalens report sharing: private and shared data, and how slow each is. */
#include "analysis/problems/sharing.h"

#include "base/json.h"
#include "base/order.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/table.h"

#include <string.h>

enum { NAMED_WRITERS = 3 };

static void put_grain(struct json *json, const char *key, const struct sharing_grain_totals *totals)
{
    struct access_tally shared = sharing_shared(totals);
    json_object(json, key);
    put_tally(json, "private", &totals->classes[CLASS_PRIVATE]);
    put_tally(json, "shared", &shared);
    put_tally(json, "same_node", &totals->classes[CLASS_SAME_NODE]);
    put_tally(json, "cross_node", &totals->classes[CLASS_CROSS_NODE]);
    put_tally(json, "shared_written", &totals->written);
    json_object(json, "pieces");
    json_number(json, "private", totals->pieces[CLASS_PRIVATE]);
    json_number(json, "same_node", totals->pieces[CLASS_SAME_NODE]);
    json_number(json, "cross_node", totals->pieces[CLASS_CROSS_NODE]);
    json_number(json, "shared_written", totals->written_pieces);
    json_end(json);
    json_end(json);
}

static void put_user(struct json *json, const struct flow *flow, const struct sharing_user *user)
{
    const struct flow_thread *thread = flow_thread(flow, user->thread);
    json_object(json, NULL);
    json_number(json, "tid", thread->tid);
    json_text(json, "name", thread->name);
    json_integer_if(json, "node", user->node >= 0, node_os(flow, user->node));
    json_number(json, "accesses", user->all.accesses);
    json_number(json, "writes", user->writes);
    json_number_if(json, "remote", flow_has_homes(flow), user->remote);
    json_end(json);
}

static void put_row(struct json *json, const struct sharing *sharing, const struct sharing_row *row)
{
    json_object(json, NULL);
    put_thing(json, sharing->accesses, row->thing);
    json_number(json, "threads", row->users.count);
    json_number(json, "nodes", row->nodes);
    put_tally(json, "all", &row->all);
    put_tally(json, "remote", &row->remote);
    for (unsigned i = 0; i < GRAINS; i++)
        put_grain(json, sharing_grain_name(i), &row->grains[i]);
    json_array(json, "writers");
    array_each (&row->users, const struct sharing_user, user)
        if (user->writes)
            put_user(json, sharing->accesses->flow, user);
    json_end(json);
    json_array(json, "users");
    array_each (&row->users, const struct sharing_user, user)
        put_user(json, sharing->accesses->flow, user);
    json_end(json);
    json_end(json);
}

/* Where waiting for shared data is worst comes first. */
static int by_shared(const void *left, const void *right)
{
    const struct sharing_row *a = *(const struct sharing_row *const *)left,
                             *b = *(const struct sharing_row *const *)right;
    struct access_tally x = sharing_shared(&a->grains[GRAIN_LINE]), y = sharing_shared(&b->grains[GRAIN_LINE]);
    return ORDER(y.latency, x.latency)
    ?: ORDER(y.accesses, x.accesses)
    ?: ORDER(b->all.accesses, a->all.accesses)
    ?: ORDER(a->thing, b->thing);
}

struct shown {
    array_of(const struct sharing_row *) rows;
    size_t matching;
};

static void choose(struct shown *shown, const struct sharing *sharing, const struct view_options *options)
{
    array_each (&sharing->rows, const struct sharing_row, row)
        if (row->all.accesses && thing_passes(sharing->accesses, row->thing, options))
            array_push(&shown->rows, row);
    array_sort(&shown->rows, by_shared);
    shown->matching = shown->rows.count;
    if (options->limit && shown->rows.count > options->limit)
        shown->rows.count = options->limit;
}

static void put_sharing(struct json *json, const struct sharing *sharing, const struct shown *shown)
{
    for (unsigned i = 0; i < GRAINS; i++)
        put_grain(json, sharing_grain_name(i), &sharing->grains[i]);
    json_number(json, "matching", shown->matching);
    json_array(json, "objects");
    array_each (&shown->rows, const struct sharing_row *const, row)
        put_row(json, sharing, *row);
    json_end(json);
}

/* The writers' names, most accesses first: "one (101), two (102) and 3 more". */
static void writers_cell(struct table *table, const struct flow *flow, const struct sharing_row *row)
{
    char text[256] = "";
    size_t used = 0;
    unsigned named = 0;
    array_each (&row->users, const struct sharing_user, user) {
        if (user->writes == 0 || named == NAMED_WRITERS)
            continue;
        const struct flow_thread *thread = flow_thread(flow, user->thread);
        int length =
            snprintf(text + used, sizeof text - used, "%s%.32s (%u)", named ? ", " : "", thread->name, thread->tid);
        used += length > 0 ? (size_t)length : 0;
        named++;
    }
    if (row->writers > named)
        snprintf(text + used, sizeof text - used, " and %u more", row->writers - named);
    table_cell(table, "%s", *text ? text : "no thread");
}

static void answer(const struct sharing *sharing, const struct view_options *options, FILE *out)
{
    const struct sharing_grain_totals *lines = &sharing->grains[GRAIN_LINE];
    struct access_tally shared = sharing_shared(lines), all = shared;
    const struct access_tally *alone = &lines->classes[CLASS_PRIVATE], *cross = &lines->classes[CLASS_CROSS_NODE];
    const char *unit = accesses_unit(sharing->accesses->flow);
    tally_join(&all, alone);
    if (all.accesses == 0) {
        paragraph(out, 2, options->width, "", "No memory access was sampled.");
        return;
    }
    paragraph(
        out, 2, options->width, "",
        "%s of the accesses go to cache lines that several threads use, %s to lines that threads of several nodes "
        "use.",
        number_percent(shared.accesses, all.accesses), number_percent(cross->accesses, all.accesses));
    if (shared.timed && alone->timed)
        paragraph(out, 2, options->width, "", "A shared one takes %.1f %s on average, a private one %.1f %s.",
                  tally_mean(&shared), unit, tally_mean(alone), unit);
}

static void put_grains(const struct sharing *sharing, const struct view_options *options, FILE *out)
{
    static const struct {
        const char *name;
        int class;
    } classes[] = {{"private", CLASS_PRIVATE},
                   {"shared", -1},
                   {"of them on one node", CLASS_SAME_NODE},
                   {"of them on several", CLASS_CROSS_NODE}};
    struct table *table = table_new();
    table_columns(table, TABLE_LEFT, "grain", "");
    tally_columns(table, "TL", "TN", "AL");
    table_column(table, "accesses", TABLE_RIGHT);
    table_column(table, "pieces", TABLE_RIGHT | TABLE_OPTIONAL);
    for (unsigned grain = 0; grain < GRAINS; grain++) {
        const struct sharing_grain_totals *totals = &sharing->grains[grain];
        for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
            int class = classes[i].class;
            struct access_tally tally = class < 0 ? sharing_shared(totals) : totals->classes[class];
            uint64_t pieces =
                class < 0 ? totals->pieces[CLASS_SAME_NODE] + totals->pieces[CLASS_CROSS_NODE] : totals->pieces[class];
            table_cell(table, "%s", i ? "" : sharing_grain_name(grain));
            table_cell(table, "%s", classes[i].name);
            tally_cells(table, &tally);
            table_cell(table, "%s", number_count(tally.accesses));
            table_cell(table, "%s", number_count(pieces));
        }
    }
    table_print(table, out, 2, options->width, options->color);
}

static void put_objects(const struct sharing *sharing, const struct shown *shown, const struct view_options *options,
                        FILE *out)
{
    const struct accesses *accesses = sharing->accesses;
    struct table *table = table_new();
    table_columns(table, TABLE_RIGHT, "shared TL", "TN", "AL");
    table_column(table, "private AL", TABLE_RIGHT | TABLE_OPTIONAL);
    table_columns(table, TABLE_RIGHT, "cross-node", "threads");
    table_column(table, "nodes", TABLE_RIGHT | TABLE_OPTIONAL);
    table_column(table, "object", TABLE_FLEX);
    table_column(table, "written by", TABLE_LEFT | TABLE_OPTIONAL);
    array_each (&shown->rows, const struct sharing_row *const, place) {
        const struct sharing_row *row = *place;
        const struct sharing_grain_totals *lines = &row->grains[GRAIN_LINE];
        struct access_tally shared = sharing_shared(lines);
        struct row named = thing_row(accesses, row->thing);
        tally_cells(table, &shared);
        if (lines->classes[CLASS_PRIVATE].timed)
            table_cell(table, "%.2f", tally_mean(&lines->classes[CLASS_PRIVATE]));
        else
            table_cell(table, "-");
        table_cell(table, "%s", number_percent(lines->classes[CLASS_CROSS_NODE].accesses, row->all.accesses));
        table_cell(table, "%zu", row->users.count);
        table_cell(table, "%u", row->nodes);
        table_object(table, accesses->flow, &named);
        writers_cell(table, accesses->flow, row);
    }
    table_print(table, out, 2, options->width, options->color);
    if (shown->matching > shown->rows.count)
        fprintf(out, "  %s more\n", number_count(shown->matching - shown->rows.count));
}

static void sharing_text(const struct sharing *sharing, const struct shown *shown, const struct view_options *options,
                         FILE *out)
{
    answer(sharing, options, out);
    problem_heading(options, out, "Private and shared (latency in %s: TL of all, TN how many, AL on average)",
                    accesses_unit(sharing->accesses->flow));
    put_grains(sharing, options, out);
    problem_heading(options, out, "Objects by latency of shared cache lines");
    put_objects(sharing, shown, options, out);
}

void sharing_show(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out)
{
    struct sharing *sharing = sharing_make(accesses);
    struct shown shown = {0};
    choose(&shown, sharing, options);
    if (json)
        put_sharing(json, sharing, &shown);
    else
        sharing_text(sharing, &shown, options, out);
    array_free(&shown.rows);
    sharing_free(sharing);
}
