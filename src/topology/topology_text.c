/* topology/topology_text.c - a topology as one line of text and back.
 *
 *     v1 simulated assign=packed home=bind:1 nodes=0:1024,1:0 cpus=0*2,1*2,- distances=10,20*2,10 spec=numa:2 core:2
 *
 * Lists are run-length coded: "20*2" is "20,20". CPUs are given by their node's place in `nodes`, "-" for none. The spec
 * comes last and goes to the end of the line. Reading trusts nothing. */
#include "topology/topology_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_run(FILE *out, const char *separator, long value, size_t run)
{
    fputs(separator, out);
    if (value < 0)
        fputc('-', out);
    else
        fprintf(out, "%ld", value);
    if (run > 1)
        fprintf(out, "*%zu", run);
}

#define PUT_LIST(out, list, count)                                                                                     \
    do {                                                                                                               \
        size_t run_ = 1;                                                                                               \
        for (size_t at_ = 0; at_ < (count); at_ += run_) {                                                             \
            for (run_ = 1; at_ + run_ < (count) && (list)[at_ + run_] == (list)[at_];)                                 \
                run_++;                                                                                                \
            put_run(out, at_ ? "," : "", (list)[at_], run_);                                                           \
        }                                                                                                              \
    } while (0)

char *topology_to_text(const struct topology *topology)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = mem_stream(&text, &size);
    char assign[TOPOLOGY_ASSIGN_TEXT], home[TOPOLOGY_ASSIGN_TEXT];
    fprintf(out, "v1 %s assign=%s home=%s nodes=", topology->simulated ? "simulated" : "real",
            topology_assign_text(topology, assign), topology_home_text(topology, home));
    for (uint32_t i = 0; i < topology->node_count; i++)
        fprintf(out, "%s%d:%" PRIu64, i ? "," : "", topology->nodes[i].os_index, topology->nodes[i].memory);
    fputs(" cpus=", out);
    PUT_LIST(out, topology->node_of_cpu, topology->cpu_count);
    fputs(" distances=", out);
    PUT_LIST(out, topology->distances, (size_t)topology->node_count * topology->node_count);
    fputs(" spec=", out);
    for (const char *at = topology->spec; *at; at++)
        fputc(*at == '\n' || *at == '\r' ? ' ' : *at, out);
    mem_stream_end(out, &text);
    return text;
}

/* The rest of the text, eaten from the front. Each function leaves it alone and returns false when it does not fit. */
struct text {
    const char *at;
};

static bool eat(struct text *text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

static bool eat_number(struct text *text, uint64_t most, uint64_t *number)
{
    if (*text->at < '0' || *text->at > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text->at, &end, 10);
    if (errno != 0 || value > most)
        return false;
    text->at = end;
    *number = value;
    return true;
}

/* One run of a list: `*number` is `none` for "-". */
static bool eat_run(struct text *text, uint64_t most, uint64_t none, uint64_t *number, uint64_t *run)
{
    *number = none;
    *run = 1;
    if (!eat(text, "-") && !eat_number(text, most, number))
        return false;
    return !eat(text, "*") || (eat_number(text, (uint64_t)TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES, run) && *run > 0);
}

/* Reads a list into `values` (which may be NULL to count only). True when it ends in a space and has at most `room`. */
static bool eat_list(struct text *text, uint64_t most, int64_t *values, size_t room, size_t *count)
{
    *count = 0;
    do {
        uint64_t number, run;
        if (!eat_run(text, most, UINT64_MAX, &number, &run) || run > room - *count)
            return false;
        for (uint64_t i = 0; values && i < run; i++)
            values[*count + i] = (int64_t)number;
        *count += run;
    } while (eat(text, ","));
    return eat(text, " ");
}

static bool eat_nodes(struct text *text, struct topology_node *nodes, uint32_t *count)
{
    *count = 0;
    do {
        uint64_t os_index;
        if (*count == TOPOLOGY_MAX_NODES || !eat_number(text, INT32_MAX, &os_index) || !eat(text, ":") ||
            !eat_number(text, UINT64_MAX, &nodes[*count].memory))
            return false;
        nodes[*count].os_index = (int32_t)os_index;
        nodes[(*count)++].cpu_count = 0;
    } while (eat(text, ","));
    return eat(text, " ");
}

static bool os_indices_differ(const struct topology *topology)
{
    for (uint32_t i = 0; i < topology->node_count; i++)
        if (topology_node_index(topology, topology->nodes[i].os_index) != (int)i)
            return false;
    return true;
}

struct head {
    bool simulated;
    char assign[32], home[32];
    struct topology_node nodes[TOPOLOGY_MAX_NODES];
    uint32_t node_count;
};

/* A word that is judged later, up to the next blank. */
static bool eat_word(struct text *text, char word[32])
{
    size_t length = strcspn(text->at, " ");
    if (length >= 32)
        return false;
    memcpy(word, text->at, length);
    word[length] = '\0';
    text->at += length;
    return true;
}

static bool eat_head(struct text *text, struct head *head)
{
    if (!eat(text, "v1 "))
        return false;
    head->simulated = eat(text, "simulated ");
    if (!head->simulated && !eat(text, "real "))
        return false;
    if (!eat(text, "assign=") || !eat_word(text, head->assign) || !eat(text, " home=") || !eat_word(text, head->home))
        return false;
    return eat(text, " nodes=") && eat_nodes(text, head->nodes, &head->node_count) && eat(text, "cpus=");
}

/* The two lists, in a topology made for their lengths; NULL when the text does not fit. */
static struct topology *eat_lists(struct text *text, const struct head *head)
{
    size_t cells = (size_t)head->node_count * head->node_count, count;
    struct text cpus = *text;
    if (!eat_list(text, head->node_count - 1, NULL, TOPOLOGY_MAX_CPUS, &count))
        return NULL;
    struct topology *topology = topology_new(head->node_count, (uint32_t)count, "");
    memcpy(topology->nodes, head->nodes, head->node_count * sizeof *head->nodes);
    int64_t *values = mem_alloc((cells > count ? cells : count) * sizeof *values);
    eat_list(&cpus, head->node_count - 1, values, count, &count);
    for (size_t cpu = 0; cpu < count; cpu++) {
        topology->node_of_cpu[cpu] = (int32_t)values[cpu];
        if (values[cpu] >= 0)
            topology->nodes[values[cpu]].cpu_count++;
    }
    bool good = eat(text, "distances=") && eat_list(text, UINT16_MAX, values, cells, &count) && count == cells;
    for (size_t cell = 0; good && cell < cells; cell++) {
        topology->distances[cell] = (uint16_t)values[cell];
        good = values[cell] >= 0;
    }
    free(values);
    if (good && eat(text, "spec=") && os_indices_differ(topology))
        return topology;
    topology_free(topology);
    return NULL;
}

struct topology *topology_from_text(const char *text, struct error *err)
{
    struct text rest = {text};
    struct head *head = mem_alloc(sizeof *head);
    struct topology *topology = eat_head(&rest, head) ? eat_lists(&rest, head) : NULL;
    if (topology) {
        topology->simulated = head->simulated;
        free(topology->spec);
        topology->spec = mem_strdup(rest.at);
    }
    if (topology && (topology_set_assign(topology, head->assign, NULL) != 0 ||
                     topology_parse_home(topology, head->home, NULL) != 0)) {
        topology_free(topology);
        topology = NULL;
    }
    free(head);
    if (!topology)
        error_set(err, -EINVAL, "not a topology (at '%.20s')", rest.at);
    return topology;
}
