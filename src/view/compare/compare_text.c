/* view/compare/compare_text.c - numalens compare A B as text. */
#include "view/compare/compare_rows.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/report.h"
#include "view/table.h"

#include <string.h>

enum { NODES_SHOWN = 8 };

static struct row row_of(const struct profile_entry *entry)
{
    return (struct row){.name = entry->name,
                        .file = entry->file,
                        .module = entry->module,
                        .via = "",
                        .variable = "",
                        .kind = entry->kind,
                        .totals = {.samples = entry->samples,
                                   .writes = entry->writes,
                                   .remote = entry->remote,
                                   .home_known = entry->home_known}};
}

bool difference_passes(const struct difference *difference, const struct difference_row *row,
                       const struct view_filter *filter)
{
    for (unsigned side = 0; side < 2; side++) {
        if (!row->sides[side])
            continue;
        struct row made = row_of(row->sides[side]);
        if (row_passes(filter, &made, difference->sides[side]->totals.samples))
            return true;
    }
    return false;
}

bool difference_is_real(const struct difference_row *row)
{
    return row->real[DIFFERENCE_SHARE] || row->real[DIFFERENCE_REMOTE] || row->real[DIFFERENCE_LATENCY];
}

static const char *arrow(const struct view_options *options)
{
    return options->ascii ? "->" : "→";
}

/* "62.1% → 8.0%", and "~" behind what may be chance. */
static void change_cell(struct table *table, const struct view_options *options, const char *before, const char *after,
                        bool real)
{
    table_cell(table, "%s %s %s%s", before, arrow(options), after, real ? "  " : " ~");
    if (real)
        table_hot(table);
}

static const char *percent(const struct ratio *ratio)
{
    return ratio ? number_percent((uint64_t)ratio->x, (uint64_t)ratio->n) : "-";
}

static const char *mean(const struct ratio *ratio, const char *unit)
{
    return ratio ? number_latency((uint64_t)ratio->x, (uint64_t)ratio->n, unit) : "-";
}

static const char *share(const struct difference *difference, const struct difference_row *row, unsigned side)
{
    return row->sides[side] ? percent(&row->sides[side]->share)
                            : number_percent(0, difference->sides[side]->totals.samples);
}

static void put_row(struct table *table, const struct difference *difference, const struct difference_row *row,
                    const struct view_options *options)
{
    const struct profile_entry *a = row->sides[0], *b = row->sides[1];
    char names[2][512];
    change_cell(table, options, share(difference, row, 0), share(difference, row, 1), row->real[DIFFERENCE_SHARE]);
    change_cell(table, options, percent(a ? &a->far : NULL), percent(b ? &b->far : NULL), row->real[DIFFERENCE_REMOTE]);
    change_cell(table, options, mean(a ? &a->latency : NULL, difference->sides[0]->unit),
                mean(b ? &b->latency : NULL, difference->sides[1]->unit), row->real[DIFFERENCE_LATENCY]);
    const char *left = a ? profile_entry_text(a, names[0], sizeof names[0]) : NULL;
    const char *right = b ? profile_entry_text(b, names[1], sizeof names[1]) : NULL;
    if (row->renamed) {
        table_cell(table, "%s, was %s", right, left);
        table_shorter(table, "%s, was %s", right, a->name);
    } else if (left && right && a->line && b->line && a->line != b->line && a->kind != OBJECT_KINDS) {
        table_cell(table, "%s, before at line %u", right, a->line);
    } else {
        table_cell(table, "%s%s", right ? right : left, !left ? ", only after" : !right ? ", only before" : "");
    }
}

static void put_table(const struct difference *difference, enum profile_table which,
                      const struct compare_options *options, FILE *out)
{
    const struct view_options *view = options->view;
    static const char *const titles[] = {"object", "site", "function", "thread"};
    struct table *table = table_new();
    size_t shown = 0, noise = 0, matching = 0;
    problem_heading(view, out, "%c%s", profile_table_name(which)[0] - 'a' + 'A', profile_table_name(which) + 1);
    table_columns(table, TABLE_RIGHT, "share", "remote", "latency");
    table_column(table, titles[which], TABLE_FLEX);
    array_each (&difference->tables[which], const struct difference_row, row) {
        if (!difference_passes(difference, row, &view->filter))
            continue;
        if (!difference_is_real(row) && !options->with_noise) {
            noise++;
            continue;
        }
        matching++;
        if (view->limit && shown >= view->limit)
            continue;
        put_row(table, difference, row, view);
        shown++;
    }
    table_print(table, out, 2, view->width, view->color);
    if (matching > shown)
        fprintf(out, "  %s more: --limit 0\n", number_count(matching - shown));
    if (noise)
        fprintf(out, "  %s%s did not change significantly: --all\n", number_count(noise),
                shown == 0   ? ""
                : noise == 1 ? " other"
                             : " others");
}

static void put_findings(const struct difference *difference, const struct compare_options *options, FILE *out)
{
    const struct view_options *view = options->view;
    if (difference->findings.count == 0)
        return;
    problem_heading(view, out, "Findings");
    array_each (&difference->findings, const struct difference_finding, fate) {
        const struct profile_finding *finding = fate->before ? fate->before : fate->after;
        const char *why = fate->fate == FATE_NEW ? finding->evidence : fate->why;
        paragraph_labelled(out, finding_fate_name(fate->fate), 2, 11, view->width, "%s on %s%s%s%s",
                           pattern_name(finding->pattern), finding->name, *why ? ": " : "", why,
                           *why && why[strlen(why) - 1] != '.' ? "." : "");
    }
}

static void whole_row(struct table *table, const struct view_options *options, const char *name, const char *before,
                      const char *after, bool real)
{
    table_cell(table, "%s", name);
    change_cell(table, options, before, after, real);
}

static void put_whole(const struct difference *difference, const struct compare_options *options, FILE *out)
{
    const struct view_options *view = options->view;
    const struct profile *a = difference->sides[0], *b = difference->sides[1];
    struct table *table = table_new();
    problem_heading(view, out, "The whole run");
    table_column(table, "", TABLE_LEFT);
    table_column(table, "", TABLE_RIGHT);
    whole_row(table, view, "remote accesses", percent(&a->far), percent(&b->far),
              difference->whole.real[DIFFERENCE_REMOTE]);
    whole_row(table, view, "mean latency", mean(&a->latency, a->unit), mean(&b->latency, b->unit),
              difference->whole.real[DIFFERENCE_LATENCY]);
    whole_row(table, view, "  of local accesses", mean(&a->near_latency, a->unit), mean(&b->near_latency, b->unit),
              difference->latency_real[0]);
    whole_row(table, view, "  of remote accesses", mean(&a->far_latency, a->unit), mean(&b->far_latency, b->unit),
              difference->latency_real[1]);
    char quantiles[2][3][32];
    static const double parts[] = {0.5, 0.95, 0.99};
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < 3; i++)
            snprintf(quantiles[side][i], sizeof quantiles[side][i], "%u %s",
                     latency_quantile(&difference->sides[side]->histogram, parts[i]), difference->sides[side]->unit);
    if (a->histogram.number && b->histogram.number) {
        static const char *const names[] = {"  half within", "  95% within", "  99% within"};
        for (unsigned i = 0; i < 3; i++) {
            table_cell(table, "%s", names[i]);
            table_cell(table, "%s %s %s  ", quantiles[0][i], arrow(view), quantiles[1][i]);
        }
    }
    for (uint32_t node = 0; node < difference->nodes && difference->nodes > 1 && node < NODES_SHOWN; node++) {
        char name[48];
        snprintf(name, sizeof name, "to memory of node %d", a->node_numbers[node]);
        whole_row(table, view, name, percent(&a->homes[node]), percent(&b->homes[node]), difference->home_real[node]);
    }
    const struct {
        const char *name;
        double before, after;
    } times[] = {{"run time, recorded", a->duration_s, b->duration_s}, {"CPU time", a->cpu_s, b->cpu_s}};
    for (unsigned i = 0; i < 2; i++) {
        if (times[i].before <= 0 || times[i].after <= 0)
            continue;
        table_cell(table, "%s", times[i].name);
        table_cell(table, "%s %s %s  ", number_seconds(times[i].before), arrow(view), number_seconds(times[i].after));
    }
    table_cell(table, "samples");
    table_cell(table, "%s %s %s  ", number_count(a->totals.samples), arrow(view), number_count(b->totals.samples));
    table_print(table, out, 2, view->width, view->color);
    paragraph(out, 2, view->width, "",
              "~ not significant. Run times, CPU times and quantiles are not tested: they are from one run each.");
}

static void put_names(const struct difference *difference, const struct view_options *view, FILE *out)
{
    static const char *const labels[] = {"before", "after"};
    fputc('\n', out);
    for (unsigned side = 0; side < 2; side++) {
        const struct profile *profile = difference->sides[side];
        paragraph_labelled(out, labels[side], 2, 11, view->width, "%s: %s%s%s", profile->path, profile->command,
                           *profile->placement ? ", placement " : "", profile->placement);
    }
}

static void difference_text(const struct difference *difference, const struct compare_options *options, FILE *out)
{
    const struct view_options *view = options->view;
    paragraph(out, 2, view->width, view->color ? "\033[1m" : "", "%s", difference->what);
    paragraph(out, 2, view->width, "", "%s", difference->proof);
    if (*difference->note)
        paragraph(out, 2, view->width, "", "%s", difference->note);
    put_names(difference, view, out);
    put_findings(difference, options, out);
    put_whole(difference, options, out);
    for (unsigned table = 0; table < PROFILE_TABLES; table++)
        if (options->tables >> table & 1)
            put_table(difference, (enum profile_table)table, options, out);
}

int view_difference(const struct difference *difference, const struct compare_options *options, FILE *out,
                    struct error *err)
{
    if (options->view->json)
        return difference_json(difference, options, out, err);
    difference_text(difference, options, out);
    return report_flush(out, err);
}
