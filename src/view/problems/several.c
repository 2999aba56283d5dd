/* view/problems/several.c - numalens report sharing, latency, balance: one of them, or several over accesses that are read once. */
#include "base/json.h"
#include "view/problems/problems.h"
#include "view/report/report.h"

#include <string.h>

static const struct {
    const char *name;
    enum view_problem problem;
    void (*show)(const struct accesses *accesses, const struct view_options *options, struct json *json, FILE *out);
} reports[] = {
    {"sharing", VIEW_SHARING, sharing_show},
    {"latency", VIEW_LATENCY, latency_show},
    {"balance", VIEW_BALANCE, balance_show},
};

enum { REPORTS = sizeof reports / sizeof *reports };

unsigned view_problems_named(const char *names)
{
    unsigned which = 0;
    for (;;) {
        size_t length = strcspn(names, ",");
        unsigned found = 0;
        for (unsigned i = 0; i < REPORTS; i++)
            if (strlen(reports[i].name) == length && memcmp(reports[i].name, names, length) == 0)
                found = reports[i].problem;
        if (!found || which & found)
            return 0;
        which |= found;
        if (!names[length])
            return which;
        names += length + 1;
    }
}

int view_problems(const struct flow *flow, unsigned which, const struct view_options *options, FILE *out,
                  struct error *err)
{
    bool several = which & (which - 1);
    struct accesses *accesses = accesses_load(flow, err);
    if (!accesses)
        return -1;
    struct json *json = options->json ? json_new(out) : NULL;
    if (json) {
        json_object(json, NULL);
        report_json_head(json, flow, options);
    }
    for (unsigned i = 0, shown = 0; i < REPORTS; i++) {
        if (!(which & reports[i].problem))
            continue;
        if (json && several)
            json_object(json, reports[i].name);
        else if (several)
            fprintf(out, "%s%s%s%s\n", shown++ ? "\n" : "", options->color ? "\033[1m" : "", reports[i].name,
                    options->color ? "\033[0m" : "");
        reports[i].show(accesses, options, json, out);
        if (json && several)
            json_end(json);
    }
    accesses_free(accesses);
    return json ? json_finish(json, err) : report_flush(out, err);
}
