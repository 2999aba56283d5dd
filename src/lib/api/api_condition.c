/* lib/api/api_condition.c - conditions of a group as a user writes them: KEY=VALUE[,VALUE...] and KEY!=... */
#include "base/text.h"
#include "lib/api/api.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum access_bit { BIT_READ = 1, BIT_WRITE = 2, BIT_REMOTE = 4, BIT_LOCAL = 8 };

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* A value of digits only means the number, anything else is a pattern of one of the texts. */
static bool fits(const struct condition *condition, uint64_t number, const char *text, const char *other,
                 const char *variable)
{
    array_each (&condition->values, const char *const, value) {
        if (is_number(*value) ? strtoull(*value, NULL, 10) == number
                              : fnmatch(*value, text, 0) == 0 || (other && fnmatch(*value, other, 0) == 0) ||
                                    (variable && *variable && fnmatch(*value, variable, 0) == 0))
            return true;
    }
    return false;
}

static bool fits_text(const struct condition *condition, const char *text)
{
    array_each (&condition->values, const char *const, value) {
        if (fnmatch(*value, text, 0) == 0)
            return true;
    }
    return false;
}

static bool object_is(const struct condition *condition, const nlens_object *object)
{
    return fits(condition, object->id, object->label, object->name, object->variable);
}

static bool object_site_is(const struct condition *condition, const nlens_object *object)
{
    const nlens_site *site = object->site;
    return site && fits(condition, site->id, site->label, site->function, site->variable);
}

static bool object_kind_is(const struct condition *condition, const nlens_object *object)
{
    return condition->bits & 1u << object->kind;
}

static bool object_file_is(const struct condition *condition, const nlens_object *object)
{
    return fits_text(condition, text_file_name(object->file));
}

static bool object_module_is(const struct condition *condition, const nlens_object *object)
{
    return fits_text(condition, text_file_name(object->module));
}

static bool thread_is(const struct condition *condition, const nlens_thread *thread)
{
    return fits(condition, thread->tid, thread->name, NULL, NULL);
}

static bool thread_process_is(const struct condition *condition, const nlens_thread *thread)
{
    return fits(condition, thread->pid, text_file_name(thread->process->exe), NULL, NULL);
}

static bool function_is(const struct condition *condition, const nlens_function *function)
{
    return fits_text(condition, function->name);
}

static bool node_is(const struct condition *condition, int node)
{
    return node >= 0 && fits(condition, (uint64_t)node, "", NULL, NULL);
}

static bool access_from_is(const struct condition *condition, const nlens_access *access)
{
    return node_is(condition, access->from);
}

static bool access_home_is(const struct condition *condition, const nlens_access *access)
{
    return node_is(condition, access->home);
}

static bool access_time_is(const struct condition *condition, const nlens_access *access)
{
    return access->time >= condition->low && access->time < condition->high;
}

static bool access_latency_is(const struct condition *condition, const nlens_access *access)
{
    return access->has_latency && access->latency >= condition->low && access->latency < condition->high;
}

static bool access_way_is(const struct condition *condition, const nlens_access *access)
{
    bool local = !access->remote && access->from >= 0 && access->home >= 0;
    return ((condition->bits & BIT_READ) && access->read) || ((condition->bits & BIT_WRITE) && access->write) ||
           ((condition->bits & BIT_REMOTE) && access->remote) || ((condition->bits & BIT_LOCAL) && local);
}

enum values { PATTERNS, NUMBERS, KINDS, WAYS, SECONDS, LATENCIES };

static const struct {
    const char *key;
    enum values values;
    bool (*object)(const struct condition *condition, const nlens_object *object);
    bool (*thread)(const struct condition *condition, const nlens_thread *thread);
    bool (*function)(const struct condition *condition, const nlens_function *function);
    bool (*access)(const struct condition *condition, const nlens_access *access);
} keys[] = {
    {"object", PATTERNS, .object = object_is},           {"site", PATTERNS, .object = object_site_is},
    {"kind", KINDS, .object = object_kind_is},           {"file", PATTERNS, .object = object_file_is},
    {"module", PATTERNS, .object = object_module_is},    {"thread", PATTERNS, .thread = thread_is},
    {"process", PATTERNS, .thread = thread_process_is},  {"function", PATTERNS, .function = function_is},
    {"from", NUMBERS, .access = access_from_is},         {"home", NUMBERS, .access = access_home_is},
    {"time", SECONDS, .access = access_time_is},         {"access", WAYS, .access = access_way_is},
    {"latency", LATENCIES, .access = access_latency_is},
};

enum { KEYS = sizeof keys / sizeof *keys };

static int take_word(struct condition *condition, const char *value, const char *const *words, size_t count,
                     struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(value, words[i]) == 0) {
            condition->bits |= 1u << i;
            return 0;
        }
    }
    size_t used = 0;
    char all[128] = "";
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
    return error_set(err, -EINVAL, "'%.60s' is none of %s", value, all);
}

/* One end of a range, in units of `scale`; `otherwise` when it was not given. */
static int take_end(const char *text, double scale, uint64_t otherwise, uint64_t *end, struct error *err)
{
    char *rest;
    *end = otherwise;
    if (!*text)
        return 0;
    double value = strtod(text, &rest);
    if (rest == text || *rest || !(value >= 0) || !isfinite(value))
        return error_set(err, -EINVAL, "'%.60s' is no number of 0 or more", text);
    *end = value * scale < 1.8e19 ? (uint64_t)(value * scale + 0.5) : UINT64_MAX;
    return 0;
}

static int take_range(struct condition *condition, char *text, double scale, uint64_t base, struct error *err)
{
    char *dots = strstr(text, "..");
    if (!dots)
        return error_set(err, -EINVAL, "'%.60s' is no range; write FROM..TO, FROM.. or ..TO", text);
    *dots = 0;
    if (take_end(text, scale, 0, &condition->low, err) < 0 ||
        take_end(dots + 2, scale, UINT64_MAX, &condition->high, err) < 0)
        return err ? err->code : -EINVAL;
    if (condition->low >= condition->high)
        return error_set(err, -EINVAL, "the range %.60s..%.60s is empty", text, dots + 2);
    condition->low += base;
    condition->high = condition->high > UINT64_MAX - base ? UINT64_MAX : condition->high + base;
    return 0;
}

static int take_value(struct condition *condition, enum values values, char *value, struct error *err)
{
    static const char *const ways[] = {"read", "write", "remote", "local"};
    const char *kinds[OBJECT_KINDS];
    switch (values) {
    case KINDS:
        for (unsigned i = 0; i < OBJECT_KINDS; i++)
            kinds[i] = object_kind_name(i);
        return take_word(condition, value, kinds, OBJECT_KINDS, err);
    case WAYS:
        return take_word(condition, value, ways, sizeof ways / sizeof *ways, err);
    case NUMBERS:
        if (!is_number(value))
            return error_set(err, -EINVAL, "'%.60s' is no number of a node", value);
        break;
    default:
        if (!*value)
            return error_set(err, -EINVAL, "a value is missing");
        break;
    }
    array_push(&condition->values, value);
    return 0;
}

static int parse(nlens_trace *trace, struct condition *condition, const char *text, struct error *err)
{
    size_t name = strcspn(text, "!="), key = 0;
    while (key < KEYS && (strlen(keys[key].key) != name || strncmp(keys[key].key, text, name) != 0))
        key++;
    condition->negated = text[name] == '!';
    const char *values = text + name + condition->negated;
    if (key == KEYS || *values != '=')
        return error_set(err, -EINVAL,
                         "'%.60s' is no condition; write KEY=VALUE with one of object, site, kind, file, module, "
                         "thread, process, function, from, home, time, access, latency",
                         text);
    condition->object = keys[key].object;
    condition->thread = keys[key].thread;
    condition->function = keys[key].function;
    condition->access = keys[key].access;
    condition->level = keys[key].object     ? ASKS_OBJECTS
                       : keys[key].thread   ? ASKS_THREADS
                       : keys[key].function ? ASKS_FUNCTIONS
                                            : ASKS_ACCESSES;
    condition->text = mem_strdup(values + 1);
    int failed = 0;
    if (keys[key].values == SECONDS) {
        failed = take_range(condition, condition->text, 1e9, flow_start(trace->flow), err);
    } else if (keys[key].values == LATENCIES) {
        failed = take_range(condition, condition->text, 1, 0, err);
    } else {
        char *at = condition->text, *value;
        while (failed == 0 && (value = strsep(&at, ",")))
            failed = take_value(condition, keys[key].values, value, err);
    }
    if (failed < 0)
        error_prefix(err, "%s", keys[key].key);
    return failed;
}

struct condition *condition_parse(nlens_trace *trace, const char *text, struct error *err)
{
    struct condition *condition = mem_zalloc(sizeof *condition);
    if (parse(trace, condition, text, err) == 0)
        return condition;
    condition_free(condition);
    return NULL;
}

struct condition *condition_window(uint64_t start, uint64_t end)
{
    struct condition *condition = mem_zalloc(sizeof *condition);
    *condition = (struct condition){.level = ASKS_ACCESSES, .access = access_time_is, .low = start, .high = end};
    return condition;
}

void condition_free(struct condition *condition)
{
    if (!condition)
        return;
    array_free(&condition->values);
    free(condition->text);
    free(condition);
}
