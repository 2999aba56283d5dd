#include "cli/commands/report/report_words.h"

#include "cli/report_job.h"
#include "cli/usage/nearest.h"
#include "cli/usage/perf_habits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    view_problem *show;
} problems[] = {{"patterns", view_patterns}, {"pages", view_pages}, {"map", view_map}, {"traffic", view_traffic}};

static view_problem *problem_named(const char *name)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (strcmp(problems[i].name, name) == 0)
            return problems[i].show;
    return NULL;
}

/* What the report of a job has not. */
static bool for_one_trace(const struct report_arguments *arguments)
{
    const struct view_filter *filter = &arguments->view.filter;
    return arguments->problem || arguments->accesses || arguments->one_object || arguments->annotated ||
           arguments->type || arguments->table != VIEW_TABLES || arguments->html || arguments->machine.machine ||
           arguments->view.sort || arguments->window.since.kind || arguments->window.until.kind || filter->text ||
           filter->kind >= 0 || filter->min_share > 0 || filter->min_remote > 0 || filter->min_samples || filter->pid;
}

/* Tables of one thing, which has its name behind them. */
static const struct of_one {
    const char *name, *wants;
} of_one[] = {{"object", "an id; 'numalens report objects' lists them"},
              {"type", "a name; 'numalens report types' lists them"},
              {"annotate", "a file or function; 'numalens report lines' lists them"}};

static const struct of_one *of_one_named(const char *word)
{
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (strcmp(of_one[i].name, word) == 0)
            return &of_one[i];
    return NULL;
}

static bool is_table(const char *word)
{
    return problem_named(word) || view_problems_named(word) || view_table_named(word) != VIEW_TABLES ||
           of_one_named(word);
}

/* `report before.data objects` means `report objects before.data`: a table comes first, one of one thing with its name. A file that is
 * named like a table is one. */
static void put_table_first(struct report_arguments *arguments)
{
    char **words = arguments->words.files.items;
    size_t count = arguments->words.files.count;
    if (count == 0 || is_table(words[0]) || access(words[0], F_OK) != 0)
        return;
    for (size_t at = 1; at < count; at++) {
        size_t taken = of_one_named(words[at]) ? 2 : is_table(words[at]);
        if (taken == 0 || at + taken > count || access(words[at], F_OK) == 0)
            continue;
        for (size_t moved = 0; moved < taken; moved++) {
            char *word = words[at + moved];
            memmove(words + moved + 1, words + moved, at * sizeof *words);
            words[moved] = word;
        }
        return;
    }
}

/* "; did you mean objects?" of a word that is neither a table nor a file. */
static const char *meant(const char *word)
{
    static const char *const names[] = {"patterns", "sharing", "latency",   "balance",   "pages",   "map",
                                        "traffic",  "objects", "sites",     "threads",   "lines",   "types",
                                        "object",   "type",    "functions", "processes", "annotate"};
    return strchr(word, '/') || strchr(word, '.') ? NULL : nearest_name(word, names, sizeof names / sizeof *names);
}

/* A table of one thing: 2 words; or negative. */
static int understand_one(struct report_arguments *arguments, const struct of_one *table, struct error *err)
{
    const char *name = arguments->words.files.count > 1 ? arguments->words.files.items[1] : NULL;
    char *end = NULL;
    unsigned long number = name ? strtoul(name, &end, 10) : 0;
    arguments->one_object = strcmp(table->name, "object") == 0;
    if (!name || (arguments->one_object && (end == name || *end || number >= FLOW_NONE)))
        return error_set(err, -EINVAL, "'%s' wants %s", table->name, table->wants);
    if (arguments->one_object)
        arguments->object = (uint32_t)number;
    else
        *(*table->name == 't' ? &arguments->type : &arguments->annotated) = name;
    return 2;
}

/* What the first words say beside files; how many they are, or negative. */
static int understand_table(struct report_arguments *arguments, struct error *err)
{
    put_table_first(arguments);
    size_t count = arguments->words.files.count;
    const char *first = count ? arguments->words.files.items[0] : NULL;
    const char *last = count ? arguments->words.files.items[count - 1] : NULL;
    arguments->table = VIEW_TABLES;
    if (first && of_one_named(first))
        return understand_one(arguments, of_one_named(first), err);
    if (last && of_one_named(last) && access(last, F_OK) != 0)
        return error_set(err, -EINVAL, "'%s' wants %s", last, of_one_named(last)->wants);
    if (first && problem_named(first))
        arguments->problem = problem_named(first);
    else if (first && view_problems_named(first))
        arguments->accesses = view_problems_named(first);
    else if (first && view_table_named(first) != VIEW_TABLES)
        arguments->table = view_table_named(first);
    else
        return 0;
    return 1;
}

/* The words behind the first `count` are files. */
static int find_files(struct report_arguments *arguments, size_t count, struct error *err)
{
    char *const *files = arguments->words.files.items + count;
    size_t file_count = arguments->words.files.count - count;
    for (size_t i = 0; i < file_count && count == 0; i++)
        if (access(files[i], F_OK) != 0 && meant(files[i]))
            return error_set(err, -EINVAL, "'%s' is neither a table nor a file; did you mean %s?", files[i],
                             meant(files[i]));
    /* A word that is no file and comes before others was meant as a table. */
    if (file_count && (arguments->input.files.count || (file_count > 1 && count == 0 && access(files[0], F_OK) != 0)))
        return error_set(
            err, -EINVAL,
            "'%s' is no table; there are patterns, sharing, latency, balance, pages, map, traffic, objects, sites, "
            "threads, functions, lines, types, processes, object ID, annotate FILE|FUNCTION and type NAME",
            files[0]);
    for (size_t i = 0; i < file_count; i++)
        input_add(&arguments->input, files[i]);
    int code = input_find(&arguments->input, err);
    return code == -EISDIR && arguments->input.files.count == 1 ? 0 : code; /* the folder of a job */
}

int report_understand(struct report_arguments *arguments, struct error *err)
{
    int words = understand_table(arguments, err);
    if (words < 0 || find_files(arguments, (size_t)words, err) < 0)
        return -1;
    if (arguments->against.files.count && !arguments->html)
        return error_set(err, -EINVAL, "--against is for --html");
    if (arguments->html && (arguments->problem || arguments->accesses || arguments->one_object ||
                            arguments->annotated || arguments->type || arguments->table != VIEW_TABLES ||
                            arguments->view.json || arguments->view.sort || arguments->has_limit))
        return error_set(err, -EINVAL,
                         "--html writes everything: tables, --json, --sort and --limit do not go with it");
    enum view_table sorted = arguments->table == VIEW_TABLES ? VIEW_SITES : arguments->table;
    if (arguments->problem == view_pages && arguments->view.sort) {
        if (!view_key_among(view_page_sort_keys(), arguments->view.sort))
            return error_set(err, -EINVAL, "cannot sort pages by '%s'; the keys are %s", arguments->view.sort,
                             view_page_sort_keys());
        return 0;
    }
    if (arguments->view.physical && arguments->problem != view_pages && arguments->problem != view_map)
        return error_set(err, -EINVAL, "--physical is for 'report pages' and 'report map'");
    if (arguments->for_map && arguments->problem != view_map)
        return error_set(err, -EINVAL, "--gantt, --by, --from, --to, --height and --ascii are for 'report map'");
    if (arguments->view.to_s > 0 && arguments->view.to_s <= arguments->view.from_s)
        return error_set(err, -EINVAL, "--to must be later than --from");
    if (arguments->view.sort && (arguments->problem || arguments->accesses))
        return error_set(err, -EINVAL, "this report is in order already: worst first");
    if (arguments->view.thresholds && !(arguments->accesses & (VIEW_LATENCY | VIEW_BALANCE)))
        return error_set(err, -EINVAL, "--thresholds are for 'report latency' and 'report balance'");
    if (arguments->view.sort && !view_sort_key(sorted, arguments->view.sort) && perf_sort_report(arguments->view.sort))
        return error_set(err, -EINVAL, "rows cannot be sorted by '%s'; use numalens report %s", arguments->view.sort,
                         perf_sort_report(arguments->view.sort));
    if (arguments->view.sort && !view_sort_key(sorted, arguments->view.sort))
        return error_set(err, -EINVAL, "cannot sort by '%s'; the keys are %s", arguments->view.sort,
                         view_sort_keys(sorted));
    if (input_is_folder(arguments->input.path) && for_one_trace(arguments))
        return error_set(
            err, -EINVAL,
            "%s is a folder: of a job there is one report, as text or --json; name a rank's file for tables, "
            "--html, --machine, --sort, --filter and --since",
            arguments->input.path);
    return 0;
}
