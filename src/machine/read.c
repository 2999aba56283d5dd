/* machine/read.c - a model's text: a key and its values a line, '#' begins a comment. Every refusal names file and line. */
#include "machine/model.h"

#include "base/mem.h"
#include "base/text.h"
#include "topology/topology.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 4096 };

struct reading {
    const char *path;
    unsigned line;
    struct model *machine; /* its matrices are made by the topology's line */
    bool *has_latency, *has_read;
    struct error *err;
};

#define REFUSE(reading, ...) refuse(reading, mem_format(__VA_ARGS__))

static int refuse(struct reading *reading, char *cause)
{
    error_set(reading->err, -EINVAL, "%s:%u: %s", reading->path, reading->line, cause);
    free(cause);
    return -EINVAL;
}

/* The next word of a line as a number between the bounds; NAN when there is none such. */
static double number_within(const char *word, double min, double max)
{
    char *end;
    if (!word)
        return NAN;
    double value = strtod(word, &end);
    return *end == '\0' && end != word && value >= min && value <= max ? value : NAN;
}

static int set_text(struct reading *reading, char **to, const char *key, const char *text)
{
    if (*to)
        return REFUSE(reading, "'%s' stands there twice", key);
    if (!*text)
        return REFUSE(reading, "'%s' has no value", key);
    *to = mem_strdup(text);
    return 0;
}

static int set_topology(struct reading *reading, const char *text)
{
    struct model *machine = reading->machine;
    int failed = set_text(reading, &machine->topology, "topology", text);
    if (failed)
        return failed;
    struct error why = {0};
    struct topology *topology = strstr(text, ".xml") ? NULL : topology_simulate(text, ASSIGN_PACKED, &why);
    if (!topology)
        return REFUSE(reading, "'%.80s' is no synthetic topology, such as \"numa:2 core:8\": %.200s", text, why.text);
    uint32_t nodes = topology->node_count, cpus = topology->cpu_count;
    topology_free(topology);
    if (nodes > MODEL_NODES || cpus > MODEL_CPUS)
        return REFUSE(reading, "%u nodes and %u CPUs; a model has at most %u and %u", nodes, cpus, MODEL_NODES,
                      MODEL_CPUS);
    machine->node_count = nodes;
    machine->cpus_per_node = cpus / nodes;
    size_t cells = (size_t)nodes * nodes;
    machine->latency = mem_zalloc(sizeof *machine->latency * cells);
    machine->read = mem_zalloc(sizeof *machine->read * cells);
    reading->has_latency = mem_zalloc(nodes);
    reading->has_read = mem_zalloc(nodes);
    return 0;
}

/* "latency 0 89 143": from node 0 to each node. */
static int set_row(struct reading *reading, const char *key, double *matrix, bool *has, double most, char *words)
{
    uint32_t nodes = reading->machine->node_count;
    if (nodes == 0)
        return REFUSE(reading, "'%s' stands before 'topology', which says how many nodes there are", key);
    double from = number_within(strsep(&words, " \t"), 0, nodes - 1);
    if (isnan(from) || from != floor(from))
        return REFUSE(reading, "'%s' begins with the number of a node, 0 to %u", key, nodes - 1);
    uint32_t row = (uint32_t)from, column = 0;
    if (has[row])
        return REFUSE(reading, "'%s %u' stands there twice", key, row);
    for (const char *word; (word = strsep(&words, " \t"));) {
        if (!*word)
            continue;
        double value = number_within(word, MODEL_LEAST, most);
        if (isnan(value))
            return REFUSE(reading, "'%.40s' is no %s: a number above 0 and up to %g", word, key, most);
        if (column == nodes)
            return REFUSE(reading, "'%s %u' has more values than there are nodes (%u)", key, row, nodes);
        matrix[row * nodes + column++] = value;
    }
    if (column < nodes)
        return REFUSE(reading, "'%s %u' has %u value%s for %u nodes", key, row, column, column == 1 ? "" : "s", nodes);
    has[row] = true;
    return 0;
}

static int set_share(struct reading *reading, const char *key, double *to, double most, const char *text)
{
    double value = number_within(text, MODEL_LEAST, most);
    if (*to > 0)
        return REFUSE(reading, "'%s' stands there twice", key);
    if (isnan(value))
        return REFUSE(reading, "'%s' is '%.40s': a number above 0 and up to %g belongs there", key, text, most);
    *to = value;
    return 0;
}

/* "cache 2 1280K 1": level, size, cores that share it. */
static int add_cache(struct reading *reading, char *words)
{
    struct model *machine = reading->machine;
    double level = number_within(strsep(&words, " \t"), 1, 4);
    char *size = strsep(&words, " \t");
    double cores = number_within(words, 1, MODEL_CPUS);
    char *suffix = NULL;
    double amount = size ? strtod(size, &suffix) : NAN;
    double unit = suffix && strcmp(suffix, "K") == 0 ? 1024 : suffix && strcmp(suffix, "M") == 0 ? 1 << 20 : NAN;
    if (isnan(level) || isnan(cores) || !(amount * unit >= MODEL_CACHE_LEAST && amount * unit <= MODEL_CACHE_MOST))
        return REFUSE(reading, "a cache is level, size and how many cores share it, such as 'cache 2 1280K 1'");
    if (machine->cache_count == MODEL_CACHES)
        return REFUSE(reading, "more than %d caches", MODEL_CACHES);
    machine->caches[machine->cache_count++] =
        (struct model_cache){.level = (uint32_t)level, .bytes = (uint64_t)(amount * unit), .cores = (uint32_t)cores};
    return 0;
}

/* "loaded 0.5 1.2": at half of the bandwidth a load takes 1.2 times as long as on an idle machine. */
static int add_load(struct reading *reading, char *words)
{
    struct model *machine = reading->machine;
    double use = number_within(strsep(&words, " \t"), MODEL_LEAST, 1), factor = number_within(words, 1, 100);
    if (isnan(use) || isnan(factor))
        return REFUSE(reading,
                      "'loaded' has a share of the bandwidth (to 1) and a factor (1 to 100), such as 'loaded 0.5 1.2'");
    if (machine->loads.count) {
        const struct model_load *last = &machine->loads.items[machine->loads.count - 1];
        if (use <= last->use || factor < last->factor)
            return REFUSE(reading, "'loaded' must rise from line to line");
    }
    array_push(&machine->loads, (struct model_load){use, factor});
    return 0;
}

static int set_key(struct reading *reading, const char *key, char *value)
{
    struct model *machine = reading->machine;
    if (strcmp(key, "title") == 0)
        return set_text(reading, &machine->title, key, value);
    if (strcmp(key, "source") == 0)
        return set_text(reading, &machine->source, key, value);
    if (strcmp(key, "licence") == 0)
        return set_text(reading, &machine->licence, key, value);
    if (strcmp(key, "topology") == 0)
        return set_topology(reading, value);
    if (strcmp(key, "latency") == 0)
        return set_row(reading, key, machine->latency, reading->has_latency, MODEL_MOST, value);
    if (strcmp(key, "read") == 0)
        return set_row(reading, key, machine->read, reading->has_read, MODEL_MOST, value);
    if (strcmp(key, "mixed") == 0)
        return set_share(reading, key, &machine->mixed, 2, value);
    if (strcmp(key, "core") == 0)
        return set_share(reading, key, &machine->core, 1e4, value);
    if (strcmp(key, "cache") == 0)
        return add_cache(reading, value);
    if (strcmp(key, "loaded") == 0)
        return add_load(reading, value);
    return REFUSE(
        reading,
        "unknown key '%.40s'; there are title, source, licence, topology, latency, read, mixed, core, cache, loaded",
        key);
}

static int read_line(struct reading *reading, char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
    char *key = line + strspn(line, " \t");
    char *end = key + strcspn(key, " \t"), *value = end + strspn(end, " \t");
    for (size_t length = strlen(value); length && strchr(" \t", value[length - 1]);)
        value[--length] = '\0';
    if (!*key)
        return 0;
    if (*end)
        *end = '\0';
    return set_key(reading, key, value);
}

/* What no single line can show. */
static int check_whole(struct reading *reading)
{
    struct model *machine = reading->machine;
    if (!machine->title || !machine->source)
        return REFUSE(reading, "there is no '%s'", machine->title ? "source" : "title");
    if (!machine->topology)
        return REFUSE(reading, "there is no 'topology'");
    for (uint32_t node = 0; node < machine->node_count; node++) {
        if (!reading->has_latency[node] || !reading->has_read[node])
            return REFUSE(reading, "there is no '%s %u': each of the %u nodes needs one",
                          reading->has_latency[node] ? "read" : "latency", node, machine->node_count);
    }
    return 0;
}

struct model *model_read(FILE *in, const char *path, struct error *err)
{
    struct reading reading = {.path = path, .machine = mem_zalloc(sizeof *reading.machine), .err = err};
    char *line = NULL;
    size_t size = 0;
    int failed = 0;
    reading.machine->name = text_file_stem(path);
    while (!failed && getline(&line, &size, in) >= 0) {
        if (++reading.line > MOST_LINES)
            failed = REFUSE(&reading, "more than %d lines: this is no model of a machine", MOST_LINES);
        else
            failed = read_line(&reading, line);
    }
    if (!failed && ferror(in))
        failed = error_set(err, -EIO, "cannot read %s", path);
    if (!failed)
        failed = check_whole(&reading);
    free(line);
    free(reading.has_latency);
    free(reading.has_read);
    if (!failed)
        return reading.machine;
    model_free(reading.machine);
    return NULL;
}
