#include "view/view.h"

#include "analysis/traffic/traffic.h"
#include "view/report/report.h"
#include "view/report/rows.h"

int view_report(const struct flow *flow, const struct view_options *options, FILE *out, struct error *err)
{
    return options->json ? report_json(flow, options, out, err) : report_text(flow, options, out, err);
}

int view_rows(const struct flow *flow, enum view_table table, const struct view_options *options, FILE *out,
              struct error *err)
{
    struct rows rows;
    if (table == VIEW_TYPES)
        return view_types(flow, options, out, err);
    rows_make(&rows, flow, table, options, NULL, options->limit);
    if (table != VIEW_PROCESSES)
        rows.traffic = rows_traffic(flow, options);
    int failed = table == VIEW_FUNCTIONS ? 0 : rows_facts(&rows, NULL, err);
    bool has_facts = options->json && (table == VIEW_OBJECTS || table == VIEW_SITES);
    if (failed == 0 && has_facts && !(rows.facts = facts_make(flow, err)))
        failed = -1;
    if (failed == 0 && options->json)
        failed = rows_json(&rows, options, out, err);
    else if (failed == 0)
        failed = rows_text(&rows, options, out, err);
    traffic_free(rows.traffic);
    rows_free(&rows);
    return failed;
}
