/* See reuse_report.h. */
#include "view/problems/reuse_report.h"

#include "analysis/reuse/reuse.h"
#include "base/json.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/problems/problems.h"
#include "view/report/rows.h"
#include "view/table.h"

enum { SIZES = 5, OBJECTS_TEXT = 8, MIB = 1 << 20 };

static const struct {
    unsigned mib;
    const char *title;
} sizes[SIZES] = {{1, "1 MiB"}, {2, "2 MiB"}, {8, "8 MiB"}, {32, "32 MiB"}, {128, "128 MiB"}};

struct answers {
    struct reuse *reuse;
    struct reuse_answer of[SIZES];
};

static bool ask(struct answers *answers, const struct flow *flow)
{
    answers->reuse = reuse_make(flow);
    for (unsigned i = 0; answers->reuse && i < SIZES; i++)
        reuse_ask(answers->reuse, (double)sizes[i].mib * MIB, &answers->of[i]);
    return answers->reuse;
}

static void forget(struct answers *answers)
{
    for (unsigned i = 0; i < SIZES; i++)
        reuse_answer_free(&answers->of[i]);
    reuse_free(answers->reuse);
}

static const struct reuse_object *find(const struct reuse_answer *answer, const struct reuse_object *same)
{
    array_each (&answer->objects, const struct reuse_object, object) {
        if (object->site == same->site && (object->site != FLOW_NONE || object->object == same->object))
            return object;
    }
    return NULL;
}

static struct row row_of(struct rows *names, const struct reuse_object *object)
{
    if (object->object == FLOW_NONE)
        return (struct row){.name = "(not attributed)"};
    struct row row = object->site != FLOW_NONE ? rows_site(names->flow, object->site, object->object)
                                               : rows_object(names->flow, object->object);
    rows_variable(names, &row);
    return row;
}

/* With two standard errors to either side. */
static void bytes_cell(struct table *table, const struct reuse_answer *answer, const struct reuse_bytes *bytes)
{
    double all = bytes->read + bytes->written, error = 2 * (bytes->read_error + bytes->written_error);
    double low = all > error ? all - error : 0;
    table_cell(table, "%s%.2f (%.2f-%.2f)", answer->known ? "" : "at most ", all / 1e9, low / 1e9, (all + error) / 1e9);
}

void reuse_text(const struct flow *flow, const struct view_options *options, FILE *out)
{
    struct answers answers;
    struct rows names = {.flow = flow};
    if (!ask(&answers, flow))
        return;
    problem_heading(options, out, "GB/s by the size of the cache that each thread has");
    struct table *table = table_new();
    for (unsigned i = 0; i < SIZES; i++)
        table_column(table, sizes[i].title, TABLE_RIGHT);
    table_column(table, "object", TABLE_FLEX);
    for (unsigned i = 0; i < SIZES; i++)
        bytes_cell(table, &answers.of[i], &answers.of[i].all);
    table_cell(table, "all");
    for (size_t k = 0; k < answers.of[0].objects.count && k < OBJECTS_TEXT; k++) {
        const struct reuse_object *object = &answers.of[0].objects.items[k];
        for (unsigned i = 0; i < SIZES; i++)
            bytes_cell(table, &answers.of[i], &find(&answers.of[i], object)->bytes);
        table_cell(table, "%s", row_of(&names, object).name);
    }
    table_print(table, out, 2, options->width, options->color);
    paragraph(out, 2, options->width, "",
              "From %u long bursts, known up to caches of %s; the program makes %.2f accesses a ns of CPU time.",
              reuse_burst_count(answers.reuse), number_bytes((uint64_t)reuse_known_bytes(answers.reuse)),
              reuse_access_rate(answers.reuse));
    forget(&answers);
    rows_variables_free(&names);
}

static void put_bytes(struct json *json, const struct reuse_bytes *bytes)
{
    json_real(json, "read_bytes_s", bytes->read, 0);
    json_real(json, "write_bytes_s", bytes->written, 0);
    json_real(json, "read_error_bytes_s", bytes->read_error, 0);
    json_real(json, "write_error_bytes_s", bytes->written_error, 0);
}

void reuse_json(const struct flow *flow, const struct view_options *options, struct json *json)
{
    struct answers answers;
    struct rows names = {.flow = flow};
    (void)options;
    if (!ask(&answers, flow))
        return;
    json_object(json, "reuse");
    json_number(json, "long_bursts", reuse_burst_count(answers.reuse));
    json_real(json, "cpu_s", reuse_cpu_seconds(answers.reuse), 3);
    json_real(json, "accesses_ns", reuse_access_rate(answers.reuse), 4);
    json_real(json, "known_up_to_bytes", reuse_known_bytes(answers.reuse), 0);
    json_array(json, "caches");
    for (unsigned i = 0; i < SIZES; i++) {
        json_object(json, NULL);
        json_number(json, "bytes", (uint64_t)sizes[i].mib * MIB);
        json_bool(json, "known", answers.of[i].known);
        put_bytes(json, &answers.of[i].all);
        json_array(json, "objects");
        array_each (&answers.of[i].objects, const struct reuse_object, object) {
            struct row row = row_of(&names, object);
            json_object(json, NULL);
            json_text(json, "name", row.name);
            json_number(json, "line", row.line);
            json_number(json, "bursts", object->bursts);
            put_bytes(json, &object->bytes);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    forget(&answers);
    rows_variables_free(&names);
}
