/* See reuse_report.h. */
#include "view/problems/reuse_report.h"

#include "analysis/reuse/reuse.h"
#include "base/json.h"
#include "base/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/rows.h"
#include "view/table.h"

enum { SIZES = 5, OBJECTS_TEXT = 8, MIB = 1 << 20 };

static const struct {
    unsigned mib;
    const char *title;
} sizes[SIZES] = {{1, "1 MiB"}, {2, "2 MiB"}, {8, "8 MiB"}, {32, "32 MiB"}, {128, "128 MiB"}};

struct reuse_sizes {
    const struct reuse *reuse;
    const struct calibration *calibration;
    struct reuse_answer of[SIZES];
};

struct reuse_sizes *reuse_sizes_new(const struct flow *flow)
{
    const struct reuse *reuse = reuse_of(flow);
    if (!reuse)
        return NULL;
    struct reuse_sizes *answers = mem_zalloc(sizeof *answers);
    answers->reuse = reuse;
    answers->calibration = flow_calibration(flow);
    for (unsigned i = 0; i < SIZES; i++)
        reuse_ask(reuse, (double)sizes[i].mib * MIB, &answers->of[i]);
    return answers;
}

void reuse_sizes_free(struct reuse_sizes *answers)
{
    if (!answers)
        return;
    for (unsigned i = 0; i < SIZES; i++)
        reuse_answer_free(&answers->of[i]);
    free(answers);
}

static const struct reuse_object *find(const struct reuse_answer *answer, uint32_t number, uint32_t site)
{
    array_each (&answer->objects, const struct reuse_object, object) {
        if (object->site == site && (object->site != FLOW_NONE || object->object == number))
            return object;
    }
    return NULL;
}

static struct row row_of(const struct flow *flow, const struct reuse_object *object)
{
    if (object->object == FLOW_NONE)
        return (struct row){.name = "(not attributed)"};
    return object->site != FLOW_NONE ? rows_site(flow, object->site, object->object)
                                     : rows_object(flow, object->object);
}

/* With two standard errors to either side. */
static void bytes_cell(struct table *table, const struct reuse_answer *answer, const struct reuse_bytes *bytes)
{
    double all = bytes->read + bytes->written, error = 2 * (bytes->read_error + bytes->written_error);
    double low = all > error ? all - error : 0;
    table_cell(table, "%s%.2f (%.2f-%.2f)", answer->known ? "" : "at most ", all / 1e9, low / 1e9, (all + error) / 1e9);
    table_shorter(table, "%s%.2f", answer->known ? "" : "<=", all / 1e9);
}

/* Up to which cache bursts show what it holds, and from there on watches. */
static void put_evidence(const struct reuse *reuse, const struct view_options *options, FILE *out)
{
    double known = reuse_known_bytes(reuse), by_bursts = reuse_burst_bytes(reuse), rate = reuse_access_rate(reuse);
    if (known > by_bursts)
        paragraph(
            out, 2, options->width, "",
            "From %u long bursts, known up to caches of %s, and from there to %s from %u watches behind them; the "
            "program makes %.2f accesses a ns of CPU time.",
            reuse_burst_count(reuse), number_bytes((uint64_t)by_bursts), number_bytes((uint64_t)known),
            reuse_watch_count(reuse), rate);
    else
        paragraph(out, 2, options->width, "",
                  "From %u long bursts, known up to caches of %s; the program makes %.2f accesses a ns of CPU time.",
                  reuse_burst_count(reuse), number_bytes((uint64_t)known), rate);
}

void reuse_text(const struct reuse_sizes *answers, const struct flow *flow, const struct view_options *options,
                FILE *out)
{
    if (!answers)
        return;
    problem_heading(options, out, "GB/s by the size of the cache that each thread has");
    struct table *table = table_new();
    for (unsigned i = 0; i < SIZES; i++)
        table_column(table, sizes[i].title, TABLE_RIGHT);
    table_column(table, "object", TABLE_FLEX);
    for (unsigned i = 0; i < SIZES; i++)
        bytes_cell(table, &answers->of[i], &answers->of[i].all);
    table_cell(table, "all");
    for (size_t k = 0; k < answers->of[0].objects.count && k < OBJECTS_TEXT; k++) {
        const struct reuse_object *object = &answers->of[0].objects.items[k];
        for (unsigned i = 0; i < SIZES; i++)
            bytes_cell(table, &answers->of[i], &find(&answers->of[i], object->object, object->site)->bytes);
        table_cell(table, "%s", row_of(flow, object).name);
    }
    table_print(table, out, 2, options->width, options->color);
    put_evidence(answers->reuse, options, out);
    struct reuse_check check = reuse_check(answers->reuse, answers->calibration);
    if (check.inside && check.beyond)
        paragraph(out, 2, options->width, "",
                  "Loads timed at the ends of bursts: of %u lines that should be in the cache of %s by their reuse "
                  "%.0f%% were, and "
                  "of %u that should not %.0f%% were not.",
                  check.inside, number_bytes(check.cache), 100.0 * check.near / check.inside, check.beyond,
                  100.0 * check.far / check.beyond);
}

static void put_bytes(struct json *json, const struct reuse_bytes *bytes)
{
    json_real(json, "read_bytes_s", bytes->read, 0);
    json_real(json, "write_bytes_s", bytes->written, 0);
    json_real(json, "read_error_bytes_s", bytes->read_error, 0);
    json_real(json, "write_error_bytes_s", bytes->written_error, 0);
}

static void put_size(struct json *json, const struct reuse_answer *answer, const struct reuse_bytes *bytes)
{
    json_object(json, NULL);
    json_number(json, "bytes", (uint64_t)answer->bytes);
    json_bool(json, "known", answer->known);
    put_bytes(json, bytes);
    json_end(json);
}

void reuse_object_json(const struct reuse_sizes *answers, uint32_t object, uint32_t site, struct json *json)
{
    const struct reuse_object *first = answers ? find(&answers->of[0], object, site) : NULL;
    if (!first) {
        json_null(json, "traffic");
        return;
    }
    json_object(json, "traffic");
    json_number(json, "bursts", first->bursts);
    json_real(json, "known_up_to_bytes", reuse_known_bytes(answers->reuse), 0);
    json_array(json, "caches");
    for (unsigned i = 0; i < SIZES; i++)
        put_size(json, &answers->of[i], &find(&answers->of[i], object, site)->bytes);
    json_end(json);
    json_end(json);
}

void reuse_json(const struct reuse_sizes *answers, struct json *json)
{
    if (!answers)
        return;
    json_object(json, "reuse");
    json_number(json, "long_bursts", reuse_burst_count(answers->reuse));
    json_real(json, "cpu_s", reuse_cpu_seconds(answers->reuse), 3);
    json_real(json, "accesses_ns", reuse_access_rate(answers->reuse), 4);
    json_real(json, "known_up_to_bytes", reuse_known_bytes(answers->reuse), 0);
    struct reuse_check check = reuse_check(answers->reuse, answers->calibration);
    json_object(json, "check");
    json_number(json, "cache_bytes", check.cache);
    json_number(json, "inside", check.inside);
    json_number(json, "inside_near", check.near);
    json_number(json, "beyond", check.beyond);
    json_number(json, "beyond_far", check.far);
    json_end(json);
    json_array(json, "caches");
    for (unsigned i = 0; i < SIZES; i++)
        put_size(json, &answers->of[i], &answers->of[i].all);
    json_end(json);
    json_end(json);
}
