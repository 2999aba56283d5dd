/* view/filter.c - what the user may ask of a table: kinds, least shares, texts; keys to sort by. */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *view_kind_name(unsigned kind)
{
    return object_kind_name(kind);
}

const char *view_object_kind(const struct flow_object *object)
{
    return flow_object_thread_local(object) ? "thread-local" : view_kind_name(object->kind);
}

static const char *const tables[VIEW_TABLES] = {
    [VIEW_OBJECTS] = "objects", [VIEW_SITES] = "sites", [VIEW_THREADS] = "threads",     [VIEW_FUNCTIONS] = "functions",
    [VIEW_LINES] = "lines",     [VIEW_TYPES] = "types", [VIEW_PROCESSES] = "processes",
};

enum view_table view_table_named(const char *name)
{
    for (unsigned i = 0; i < VIEW_TABLES; i++) {
        if (strcmp(name, tables[i]) == 0)
            return i;
    }
    return VIEW_TABLES;
}

const char *view_sort_keys(enum view_table table)
{
    switch (table) {
    case VIEW_OBJECTS:
    case VIEW_SITES:
        return "samples, remote, remote-share, reads, writes, latency, size, count, allocated, name";
    case VIEW_PROCESSES:
        return "samples, remote, remote-share, reads, writes, latency, allocated, name";
    default:
        return "samples, remote, remote-share, reads, writes, latency, name";
    }
}

bool view_key_among(const char *keys, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = keys; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strcspn(at, ",") == length && strncmp(at, key, length) == 0)
            return length > 0;
    }
    return false;
}

bool view_sort_key(enum view_table table, const char *key)
{
    return view_key_among(view_sort_keys(table), key);
}

static int parse_share(const char *text, double *share, struct error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || value < 0 || (*end && strcmp(end, "%") != 0))
        return error_set(err, -EINVAL, "'%.60s' is no share; write 2%% or 0.02", text);
    if (*end == '%')
        value /= 100;
    if (value > 1)
        return error_set(err, -EINVAL, "'%.60s' is more than the whole; write 2%% or 0.02", text);
    *share = value;
    return 0;
}

static int parse_count(const char *text, uint64_t *count, struct error *err)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end || errno || text[0] == '-')
        return error_set(err, -EINVAL, "'%.60s' is no number", text);
    *count = value;
    return 0;
}

int view_filter_parse(struct view_filter *filter, const char *text, struct error *err)
{
    uint64_t number = 0;
    if (strncmp(text, "kind=", 5) == 0) {
        for (unsigned i = 0; i < OBJECT_KINDS; i++) {
            if (strcmp(text + 5, object_kind_name(i)) == 0) {
                filter->kind = (int)i;
                return 0;
            }
        }
        return error_set(err, -EINVAL, "'%.60s' is no kind of object; use heap, static, map, file, section or stack",
                         text + 5);
    }
    if (strncmp(text, "min-share=", 10) == 0)
        return parse_share(text + 10, &filter->min_share, err);
    if (strncmp(text, "min-remote=", 11) == 0)
        return parse_share(text + 11, &filter->min_remote, err);
    if (strncmp(text, "min-samples=", 12) == 0)
        return parse_count(text + 12, &filter->min_samples, err);
    if (strncmp(text, "pid=", 4) == 0) {
        int failed = parse_count(text + 4, &number, err);
        filter->pid = (uint32_t)number;
        return failed;
    }
    filter->text = text;
    return 0;
}
