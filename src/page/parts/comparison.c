#include "page/parts/comparison.h"

#include "page/parts/put.h"

#include <math.h>

enum { PAGE_CHANGES = 2000 }; /* rows of a table, those that changed most */

/* Entries have the flow's numbers, which the page does not know: its own take their place. */
static void number_as_page(struct profile *profile, const struct parts *parts)
{
    static const uint32_t most[PROFILE_TABLES] = {[PROFILE_FUNCTIONS] = PAGE_FUNCTIONS, [PROFILE_THREADS] = UINT16_MAX};
    for (unsigned table = 0; table < PROFILE_TABLES; table++) {
        array_each (&profile->tables[table], struct profile_entry, entry) {
            if (table == PROFILE_OBJECTS || table == PROFILE_SITES)
                entry->number = rank_of(table == PROFILE_OBJECTS ? &parts->objects : &parts->sites, entry->number);
            else if (entry->number >= most[table])
                entry->number = FLOW_NONE;
        }
    }
}

int comparison_take(struct comparison *comparison, const struct parts *parts, struct error *err)
{
    const struct view_options *view = parts->run->view;
    struct profile **side = &comparison->sides[comparison->sides[0] != NULL];
    *side = profile_make_judged(parts->flow, parts->findings, view && view->path ? view->path : parts->run->label,
                                view ? view->ending : NULL, err);
    if (!*side)
        return -1;
    number_as_page(*side, parts);
    if (comparison->sides[1])
        comparison->difference = difference_make(comparison->sides[0], comparison->sides[1]);
    return 0;
}

static void put_ratio(struct json *json, const char *key, const struct ratio *ratio, int decimals)
{
    json_real(json, key, ratio->n > 0 ? ratio_value(ratio) : NAN, decimals);
}

static void put_side(struct json *json, const char *key, const struct profile_entry *entry)
{
    if (!entry) {
        json_null(json, key);
        return;
    }
    json_object(json, key);
    put_index(json, "row", entry->number);
    json_text(json, "name", entry->name);
    json_text(json, "file", *entry->file ? entry->file : NULL);
    json_number_if(json, "line", entry->line, entry->line);
    json_number(json, "samples", entry->samples);
    put_ratio(json, "share", &entry->share, 6);
    put_ratio(json, "remote_share", &entry->far, 6);
    json_real(json, "latency_mean", entry->latency_count ? entry->latency_mean : NAN, 2);
    json_end(json);
}

static void put_table(struct json *json, const struct difference *difference, enum profile_table which)
{
    size_t put = 0;
    json_array(json, profile_table_name(which));
    array_each (&difference->tables[which], const struct difference_row, row) {
        if (put++ == PAGE_CHANGES)
            break;
        json_object(json, NULL);
        json_bool(json, "renamed", row->renamed);
        json_bool(json, "share_significant", row->real[DIFFERENCE_SHARE]);
        json_bool(json, "remote_significant", row->real[DIFFERENCE_REMOTE]);
        json_bool(json, "latency_significant", row->real[DIFFERENCE_LATENCY]);
        put_side(json, "before", row->sides[0]);
        put_side(json, "after", row->sides[1]);
        json_end(json);
    }
    json_end(json);
}

/* Findings of a profile have the places that those of the run have. */
static uint32_t place_of(const struct profile *profile, const struct profile_finding *finding)
{
    return finding ? (uint32_t)(finding - profile->findings.items) : FLOW_NONE;
}

static void put_findings(struct json *json, const struct difference *difference)
{
    json_array(json, "findings");
    array_each (&difference->findings, const struct difference_finding, fate) {
        const struct profile_finding *finding = fate->after ? fate->after : fate->before;
        json_object(json, NULL);
        json_text(json, "pattern", pattern_name(finding->pattern));
        json_text(json, "name", finding->name);
        json_text(json, "fate", finding_fate_name(fate->fate));
        json_text(json, "why", *fate->why ? fate->why : NULL);
        put_index(json, "before", place_of(difference->sides[0], fate->before));
        put_index(json, "after", place_of(difference->sides[1], fate->after));
        json_end(json);
    }
    json_end(json);
}

void comparison_put(const struct comparison *comparison, struct json *json)
{
    const struct difference *difference = comparison->difference;
    if (!difference)
        return;
    char *verdict = mem_format("%.*s", (int)difference->verdict, difference->what);
    const char *more = difference->what + difference->verdict;
    json_object(json, "comparison");
    json_text(json, "verdict", verdict);
    json_text(json, "more", *more ? more + 1 : NULL);
    json_text(json, "proof", difference->proof);
    json_text(json, "note", *difference->note ? difference->note : NULL);
    json_bool(json, "comparable", difference->comparable);
    json_bool(json, "remote_significant", difference->whole.real[DIFFERENCE_REMOTE]);
    json_bool(json, "latency_significant", difference->whole.real[DIFFERENCE_LATENCY]);
    put_findings(json, difference);
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        put_table(json, difference, (enum profile_table)table);
    json_end(json);
    free(verdict);
}

void comparison_free(struct comparison *comparison)
{
    difference_free(comparison->difference);
    profile_free(comparison->sides[0]);
    profile_free(comparison->sides[1]);
}
