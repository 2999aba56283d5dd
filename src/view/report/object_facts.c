#include "view/report/object_facts.h"

#include "base/text.h"
#include "base/number.h"
#include "view/paragraph.h"

#include <stdarg.h>
#include <string.h>

enum { NAME_SHOWN = 32, SHOWN_PHASES = 4 };

static void put(FILE *out, unsigned width, const char *title, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put(FILE *out, unsigned width, const char *title, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    paragraph_labelled(out, title, 2, 15, width, "%s", text);
}

/* "worker (1234)", of one who is named; the buffers are reused. */
static const char *thread_text(const struct flow *flow, uint32_t index)
{
    static _Thread_local char texts[4][NAME_SHOWN + 24];
    static _Thread_local unsigned at;
    const struct flow_thread *thread = index != FLOW_NONE ? flow_thread(flow, index) : NULL;
    char *text = texts[at++ % 4];
    if (!thread)
        return "no thread";
    snprintf(text, sizeof texts[0], "%.*s (%u)", NAME_SHOWN, *thread->name ? thread->name : "thread", thread->tid);
    return text;
}

static const char *node_text(const struct flow *flow, int node)
{
    static _Thread_local char texts[4][24];
    static _Thread_local unsigned at;
    const struct topology *topology = flow_topology(flow);
    char *text = texts[at++ % 4];
    if (topology->node_count < 2)
        return "";
    if (node < 0)
        return ", node unknown";
    snprintf(text, sizeof texts[0], " on node %d", topology->nodes[node].os_index);
    return text;
}

static void put_use(const struct facts_subject *subject, unsigned width, FILE *out)
{
    if (subject->use == USE_READ_ONLY)
        put(out, width, "use", "read-only once initialised");
    else
        put(out, width, "use", "%s by %u thread%s after its initialisation",
            subject->use == USE_READ_MOSTLY ? "read mostly, written" : "written", subject->writers,
            text_plural(subject->writers));
}

static void put_sharing(const struct facts_subject *subject, unsigned width, FILE *out)
{
    static const char *const texts[] = {[SHARING_THREAD] = "private to a thread",
                                        [SHARING_NODE] = "shared by threads of one node",
                                        [SHARING_ALL] = "shared by threads of several nodes"};
    if (subject->sharing == SHARING_THREAD)
        put(out, width, "sharing", "%s", texts[subject->sharing]);
    else
        put(out, width, "sharing", "%s: %u threads, %u node%s", texts[subject->sharing], subject->using_threads,
            subject->using_nodes, text_plural(subject->using_nodes));
}

static void put_concurrency(const struct facts_subject *subject, unsigned width, FILE *out)
{
    char changes[80] = "";
    if (subject->switches)
        snprintf(changes, sizeof changes, "; %s change%s of thread, %s apart", number_count(subject->switches),
                 text_plural(subject->switches), number_seconds((double)subject->switch_ns * 1e-9));
    if (subject->concurrency == CONCURRENCY_CONCURRENT)
        put(out, width, "concurrency", "threads use it at the same time%s", changes);
    else if (subject->concurrency == CONCURRENCY_DISJOINT)
        put(out, width, "concurrency", "threads take turns%s", changes);
}

static void put_places(const struct flow *flow, const struct facts_subject *subject, unsigned width, FILE *out)
{
    uint64_t touched = 0, by_toucher = 0;
    array_each (&subject->users, const struct fact_user, user) {
        touched += user->touched;
        if (user->thread == subject->toucher)
            by_toucher = user->touched;
    }
    if (touched)
        put(out, width, "touched", "first by %s%s: %s of %s page%s", thread_text(flow, subject->toucher),
            node_text(flow, subject->toucher_node), number_count(by_toucher), number_count(touched),
            text_plural(touched));
    put(out, width, "used", "mostly by %s%s%s%s", thread_text(flow, subject->main_user),
        node_text(flow, subject->main_user_node), subject->first_remote == UINT64_MAX ? "" : "; remotely from ",
        subject->first_remote == UINT64_MAX ? "" : number_seconds((double)subject->first_remote * 1e-9));
    char more[160] = "";
    if (subject->pages_moved)
        snprintf(more, sizeof more, ", %s moved", number_count(subject->pages_moved));
    if (subject->mixed_pages)
        snprintf(more + strlen(more), sizeof more - strlen(more), ", %s with objects of other nodes' threads on %s",
                 number_count(subject->mixed_pages), subject->mixed_pages == 1 ? "it" : "them");
    put(out, width, "pages", "%s%s", number_count(subject->pages), more);
}

static void put_lines(const struct facts_subject *subject, unsigned width, FILE *out)
{
    if (subject->false_sharing)
        put(out, width, "lines", "%s of its samples on lines where threads use different bytes (worst 0x%lx)",
            number_percent(subject->false_sharing, subject->totals.samples), (unsigned long)subject->worst_line);
    if (subject->true_sharing)
        put(out, width, "lines", "%s of its samples on lines where threads use the same bytes, one of them writing",
            number_percent(subject->true_sharing, subject->totals.samples));
}

static void put_shape(const struct facts_subject *subject, unsigned width, FILE *out)
{
    char share[16];
    snprintf(share, sizeof share, "%.0f%%", subject->shape_share * 100);
    if (subject->shape == SHAPE_RANDOM)
        put(out, width, "order", "random (%s of the steps)", share);
    else if (subject->shape != SHAPE_UNKNOWN)
        put(out, width, "order", "%s, mostly %ld bytes on (%s of the steps)", fact_word(FACT_SHAPE, subject->shape),
            (long)subject->stride, share);
}

static void put_phases(const struct flow *flow, const struct facts_subject *subject, unsigned width, FILE *out)
{
    char text[320] = "";
    for (size_t i = 0; i < subject->phases.count && i < SHOWN_PHASES; i++) {
        const struct fact_phase *phase = &subject->phases.items[i];
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%sfrom %s to %s", i ? ", " : "",
                 number_seconds((double)(phase->start - flow_start(flow)) * 1e-9),
                 number_seconds((double)(phase->end - flow_start(flow)) * 1e-9));
    }
    if (subject->phases.count > SHOWN_PHASES)
        snprintf(text + strlen(text), sizeof text - strlen(text), " and %zu more times",
                 subject->phases.count - SHOWN_PHASES);
    if (*text)
        put(out, width, "hot", "%s after the start", text);
}

/* Those that no sentence above has. */
static void put_others(const struct flow *flow, const struct facts_subject *subject, unsigned width, FILE *out)
{
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++) {
        struct fact_value value = fact_value(fact, subject, flow);
        if (!(fact->shown & FACT_LINE) || !value.known || (!value.word && value.number == 0 && value.real <= 0))
            continue;
        char number[32];
        snprintf(number, sizeof number, "%.*f", value.decimals, value.decimals ? value.real : (double)value.number);
        put(out, width, "also", "%s: %s", fact->meaning, value.word ? value.word : number);
    }
}

void object_facts_text(const struct facts *facts, const struct facts_subject *subject, unsigned width, FILE *out)
{
    fputs("\nFacts\n", out);
    put_use(subject, width, out);
    put_sharing(subject, width, out);
    put_concurrency(subject, width, out);
    put_places(facts->flow, subject, width, out);
    put_lines(subject, width, out);
    put_shape(subject, width, out);
    put_phases(facts->flow, subject, width, out);
    put_others(facts->flow, subject, width, out);
}

static void json_node(struct json *json, const struct flow *flow, const char *key, int node)
{
    json_integer_if(json, key, node >= 0, flow_topology(flow)->nodes[node].os_index);
}

static void json_thread(struct json *json, const struct flow *flow, const char *key, uint32_t thread)
{
    json_number_if(json, key, thread != FLOW_NONE, flow_thread(flow, thread)->tid);
}

static void json_time(struct json *json, const struct flow *flow, const char *key, uint64_t time)
{
    json_real(json, key, ((double)time - (double)flow_start(flow)) * 1e-9, 6);
}

static void json_users(struct json *json, const struct flow *flow, const struct facts_subject *subject)
{
    json_array(json, "users");
    array_each (&subject->users, const struct fact_user, user) {
        json_object(json, NULL);
        json_thread(json, flow, "tid", user->thread);
        json_node(json, flow, "node", user->node);
        json_number(json, "samples", user->samples);
        json_number(json, "bursts", user->bursts);
        json_number(json, "reads", user->reads);
        json_number(json, "writes", user->writes);
        json_number_if(json, "remote", flow_has_homes(flow), user->remote);
        json_number(json, "init", user->init);
        json_number(json, "touched", user->touched);
        if (user->samples) {
            json_time(json, flow, "first_s", user->first);
            json_time(json, flow, "last_s", user->last);
        }
        json_end(json);
    }
    json_end(json);
}

static void json_phases(struct json *json, const struct flow *flow, const struct facts_subject *subject)
{
    json_array(json, "phases");
    array_each (&subject->phases, const struct fact_phase, phase) {
        json_object(json, NULL);
        json_time(json, flow, "start_s", phase->start);
        json_time(json, flow, "end_s", phase->end);
        json_number(json, "samples", phase->samples);
        json_number_if(json, "remote", flow_has_homes(flow), phase->remote);
        json_end(json);
    }
    json_end(json);
}

static void json_fact(struct json *json, const char *name, const struct fact_value *value)
{
    if (!value->known)
        json_null(json, name);
    else if (value->word)
        json_text(json, name, value->word);
    else if (value->decimals)
        json_real(json, name, value->real, value->decimals);
    else
        json_integer(json, name, value->number);
}

void object_facts_json(struct json *json, const struct flow *flow, const struct facts_subject *subject, bool all)
{
    for (const struct fact *fact = fact_table; fact < fact_table + FACTS; fact++) {
        struct fact_value value = fact_value(fact, subject, flow);
        if (fact->shown & (all ? FACT_TABLES | FACT_OBJECT : FACT_TABLES))
            json_fact(json, fact->name, &value);
    }
    if (!all)
        return;
    json_users(json, flow, subject);
    json_phases(json, flow, subject);
}
