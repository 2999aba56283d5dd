#include "plan/plan_table.h"

#include "base/text.h"
#include "symbols/search.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct binary_file {
    char *path;
    const char *base;
    char *refused; /* why offsets in it are not those of the plan, or NULL */
};

struct making {
    struct plan_table *table;
    const struct placement_plan *plan;
    const struct plan_machine *machine;
    struct error *err;
    array_of(struct binary_file) binaries; /* the program first */
    array_of(char *) modules;
    array_of(struct place_entry) entries;
    array_of(struct place_range) ranges;
    array_of(struct place_cpus) cpus;
    uint32_t module; /* of the ranges that are being found */
    bool exact;      /* ranges are of return addresses */
};

static uint32_t module_number(struct making *making, const char *name)
{
    for (uint32_t i = 0; i < making->modules.count; i++)
        if (strcmp(making->modules.items[i], name) == 0)
            return i;
    array_push(&making->modules, mem_strdup(name));
    return (uint32_t)making->modules.count - 1;
}

/* Why offsets for that build are none of this file; NULL when they are, or the build is not known. The caller frees it. */
static char *build_trouble(const char *path, const char *build_id)
{
    char now[SEARCH_BUILD_ID];
    if (!*build_id)
        return NULL;
    if (!search_build_id(path, now))
        return mem_format(
            "%s cannot be read: whether it is the build that the plan was made for (build-id %.16s...) is not known",
            path, build_id);
    if (strcmp(now, build_id) == 0)
        return NULL;
    return mem_format("%s is another build than the plan was made for (build-id %.16s...): offsets are of that one",
                      path, build_id);
}

static void find_binaries(struct making *making, const char *program)
{
    bool matches = false; /* one line is about the program as it is: others of its name are about other files */
    char *path = mem_strdup(program);
    array_push(&making->binaries, (struct binary_file){path, text_file_name(path), NULL});
    array_each (&making->plan->programs, struct plan_program, named) {
        path = plan_name_read(named->path);
        bool is_run = strcmp(text_file_name(path), making->binaries.items[0].base) == 0;
        char *refused = build_trouble(is_run ? program : path, named->build_id);
        if (!is_run) {
            array_push(&making->binaries, (struct binary_file){path, text_file_name(path), refused});
            continue;
        }
        struct binary_file *run = &making->binaries.items[0];
        matches |= !refused;
        free(run->refused);
        run->refused = matches ? NULL : refused;
        free(matches ? refused : NULL);
        free(path);
    }
}

static void add_range(void *context, uint64_t low, uint64_t high)
{
    struct making *making = context;
    array_push(&making->ranges, (struct place_range){low, high, making->module, 0});
}

/* The number behind "!0x..." and perhaps "+0x..."; false: it is none. */
static bool read_offset(const char *text, uint64_t *offset, uint64_t *size)
{
    char *end;
    if (strncmp(text, "0x", 2) != 0)
        return false;
    *offset = strtoull(text, &end, 16);
    *size = 0;
    if (*end == '+') {
        const char *at = end + 1;
        *size = strtoull(at, &end, 0);
        if (end == at)
            return false;
    }
    return *end == '\0';
}

/* "file.c:54" */
static bool read_line_name(const char *what, char *file, size_t room, uint32_t *line)
{
    const char *colon = strrchr(what, ':');
    if (!colon || colon == what || !isdigit((unsigned char)colon[1]) || colon[1 + strspn(colon + 1, "0123456789")] ||
        (size_t)(colon - what) >= room)
        return false;
    memcpy(file, what, (size_t)(colon - what));
    file[colon - what] = '\0';
    *line = (uint32_t)strtoul(colon + 1, NULL, 10);
    return true;
}

enum wanted { WANT_CALL, WANT_OBJECT, WANT_ROUTINE };

/* Of "module!name" and "name": the parts as they are, which the caller frees; module: NULL without. */
static void split_name(const char *what, char **module, char **name)
{
    const char *bang = strrchr(what, '!');
    char *part = bang ? mem_format("%.*s", (int)(bang - what), what) : NULL;
    *module = part ? plan_name_read(part) : NULL;
    *name = plan_name_read(bang ? bang + 1 : what);
    free(part);
}

static char *add_offset(struct making *making, const char *module, uint64_t offset, uint64_t size, enum wanted wanted)
{
    making->module = module_number(making, module);
    array_each (&making->binaries, struct binary_file, file)
        if (strcmp(file->base, module) == 0 && file->refused)
            return mem_strdup(file->refused);
    if (wanted == WANT_CALL) /* a return address: the call before it */
        add_range(making, offset - 1, offset);
    else
        add_range(making, offset, offset + (size ? size : 1));
    return mem_strdup("");
}

static char *add_named(struct making *making, const char *module, const char *name, enum wanted wanted)
{
    size_t before = making->ranges.count;
    uint32_t line = 0;
    char file[1024];
    bool by_line = wanted == WANT_CALL && read_line_name(name, file, sizeof file, &line);
    array_each (&making->binaries, struct binary_file, binary) {
        if (module && strcmp(module, binary->base) != 0)
            continue;
        making->module = module_number(making, binary->base);
        if (by_line)
            search_line(binary->path, file, line, add_range, making);
        else if (wanted == WANT_OBJECT)
            search_object(binary->path, name, add_range, making);
        else
            search_function(binary->path, name, add_range, making);
    }
    if (making->ranges.count > before)
        return mem_strdup("");
    return mem_format("%s has no %s %s%s", making->binaries.items[0].base,
                      by_line                 ? "code at line"
                      : wanted == WANT_OBJECT ? "static object"
                                              : "function",
                      name, by_line ? " (is it built with -g?)" : "");
}

/* Adds the ranges that `what` names; a reason, which the caller frees, "" when there are some. */
static char *find_ranges(struct making *making, const char *what, enum wanted wanted)
{
    char *module, *name;
    uint64_t offset, size;
    split_name(what, &module, &name);
    char *reason = module && read_offset(name, &offset, &size) ? add_offset(making, module, offset, size, wanted)
                                                               : add_named(making, module, name, wanted);
    free(module);
    free(name);
    return reason;
}

static char *find_entry(struct making *making, const struct plan_entry *entry, struct place_entry *made)
{
    char *reason = mem_strdup("");
    if (entry->kind == PLACE_FILE || entry->kind == PLACE_SHM || strcmp(entry->what, "*") == 0 ||
        ((entry->kind == PLACE_THREAD || entry->kind == PLACE_STACK) && strcmp(entry->what, "main") == 0)) {
        char *pattern = plan_pattern(entry->what);
        snprintf(made->name, sizeof made->name, "%s", pattern);
        free(pattern);
        return reason;
    }
    enum wanted wanted = entry->kind == PLACE_SITE     ? WANT_CALL
                         : entry->kind == PLACE_STATIC ? WANT_OBJECT
                                                       : WANT_ROUTINE;
    char *copy = mem_strdup(entry->what), *next = copy;
    while (next && !*reason && made->frame_count < PLACE_FRAMES) {
        char *frame = next, *end = wanted == WANT_CALL ? strstr(frame, " > ") : NULL;
        next = end ? end + 3 : NULL;
        if (end)
            *end = '\0';
        uint32_t first = (uint32_t)making->ranges.count;
        free(reason);
        reason = find_ranges(making, frame, wanted);
        made->frames[made->frame_count++] = (struct place_ranges){first, (uint32_t)making->ranges.count - first};
    }
    if (next && !*reason) { /* made of findings, where a binary's name has an arrow in it */
        free(reason);
        reason = mem_format("a call chain has %d frames at most", PLACE_FRAMES);
    }
    free(copy);
    return reason;
}

static bool has_node(const struct making *making, uint32_t node)
{
    int index = topology_node_index(making->machine->topology, (int32_t)node);
    return index >= 0 && placement_set_has(&making->machine->limits->nodes, node);
}

enum { WEIGHT_MOST = 16 }; /* of bandwidths: the fastest node's pages in a stripe */

/* The kernel's, or while those are all alike what the nodes' bandwidths come to. */
static uint16_t weight_of(const struct making *making, uint32_t node)
{
    const struct placement_limits *limits = making->machine->limits;
    const struct topology *topology = making->machine->topology;
    uint32_t fastest = 0, weight = node < PLACEMENT_CPUS ? limits->weights[node] : 0;
    bool alike = true;
    for (uint32_t i = 0; i < topology->node_count; i++) {
        uint32_t other = (uint32_t)topology->nodes[i].os_index;
        if (other >= PLACEMENT_CPUS)
            continue;
        alike &= limits->weights[other] == weight;
        fastest = limits->bandwidths[other] > fastest ? limits->bandwidths[other] : fastest;
    }
    if (alike && fastest && node < PLACEMENT_CPUS)
        weight = (uint32_t)(((uint64_t)limits->bandwidths[node] * WEIGHT_MOST + fastest / 2) / fastest);
    return weight ? (uint16_t)weight : 1;
}

/* The n-th of the plan's nodes is the n-th here. */
static uint32_t map_node(const struct making *making, uint32_t node)
{
    const struct topology *topology = making->machine->topology;
    uint32_t place = 0;
    for (uint32_t i = 0; i < node; i++)
        place += !making->plan->has_nodes || placement_set_has(&making->plan->nodes, i);
    return (uint32_t)topology->nodes[place % topology->node_count].os_index;
}

static int find_nodes(struct making *making, const struct plan_entry *entry, struct place_entry *made)
{
    const struct topology *topology = making->machine->topology;
    if (entry->all) {
        for (uint32_t i = 0; i < topology->node_count && made->part_count < PLACE_PARTS; i++) {
            uint32_t node = (uint32_t)topology->nodes[i].os_index;
            if (!topology->nodes[i].memory || !has_node(making, node))
                continue;
            made->part_weights[made->part_count] = entry->policy == PLACE_WEIGHTED ? weight_of(making, node) : 1;
            made->part_nodes[made->part_count++] = (uint16_t)node;
        }
        return 0;
    }
    array_each (&entry->parts, struct plan_part, part) {
        uint32_t node = making->machine->maps ? map_node(making, part->node) : part->node;
        bool twice = false;
        if (!has_node(making, node)) {
            char *nodes = making->plan->has_nodes ? plan_list_text(&making->plan->nodes) : NULL;
            int code = error_set(making->err, -EINVAL,
                                 "%s, line %u: there is no node %u here%s%s: this machine has %u node%s; --map takes "
                                 "others in their place, `all` suits any machine",
                                 making->plan->name, entry->line, node, nodes ? ", and the plan is for nodes " : "",
                                 nodes ? nodes : "", topology->node_count, topology->node_count == 1 ? "" : "s");
            free(nodes);
            return code;
        }
        for (uint32_t i = 0; i < made->part_count; i++)
            twice |= made->part_nodes[i] == node && entry->policy != PLACE_SPLIT;
        if (twice)
            continue;
        made->part_weights[made->part_count] = part->weight;
        made->part_nodes[made->part_count++] = (uint16_t)node;
    }
    return 0;
}

static struct place_cpus cpus_of_node(const struct making *making, uint32_t index)
{
    const struct topology *topology = making->machine->topology;
    struct place_cpus cpus = {.node = (uint32_t)topology->nodes[index].os_index};
    for (uint32_t cpu = 0; cpu < topology->cpu_count && cpu < PLACE_CPUS; cpu++) {
        if (topology->node_of_cpu[cpu] != (int32_t)index || !placement_set_has(&making->machine->limits->cpus, cpu))
            continue;
        cpus.words[cpu / 64] |= (uint64_t)1 << cpu % 64;
        cpus.repeat++;
    }
    return cpus;
}

static int find_cpus(struct making *making, const struct plan_entry *entry, struct place_entry *made)
{
    const struct topology *topology = making->machine->topology;
    made->cpus_first = (uint32_t)making->cpus.count;
    if (entry->policy == PLACE_ON_CPUS) {
        struct place_cpus cpus = {.repeat = 1};
        bool any = false;
        for (uint32_t cpu = 0; cpu < PLACE_CPUS; cpu++) {
            if (!placement_set_has(&entry->cpus, cpu))
                continue;
            bool here =
                placement_set_has(&making->machine->limits->cpus, cpu) && topology_node_of_cpu(topology, cpu) >= 0;
            cpus.words[cpu / 64] |= (uint64_t)here << cpu % 64;
            any |= here;
            if (!here && !making->machine->maps)
                return error_set(making->err, -EINVAL, "%s, line %u: CPU %u is not there to be used here",
                                 making->plan->name, entry->line, cpu);
        }
        if (any)
            array_push(&making->cpus, cpus);
    } else {
        for (uint32_t i = 0; i < topology->node_count; i++) {
            struct place_cpus cpus = cpus_of_node(making, i);
            bool wanted = entry->policy != PLACE_NODE || (made->part_count && cpus.node == made->part_nodes[0]);
            if (!wanted || cpus.repeat == 0)
                continue;
            if (entry->policy != PLACE_CLUSTER)
                cpus.repeat = 1;
            array_push(&making->cpus, cpus);
        }
    }
    made->cpus_count = (uint32_t)making->cpus.count - made->cpus_first;
    if (made->cpus_count == 0)
        return error_set(making->err, -EINVAL, "%s, line %u: there are no CPUs that may be used here",
                         making->plan->name, entry->line);
    return 0;
}

static int make_entries(struct making *making)
{
    struct plan_table *table = making->table;
    for (uint32_t i = 0; i < making->machine->topology->node_count; i++)
        array_push(&making->cpus, cpus_of_node(making, i));
    for (size_t i = 0; i < making->plan->entries.count; i++) {
        const struct plan_entry *entry = &making->plan->entries.items[i];
        struct place_entry made = {
            .kind = (uint8_t)entry->kind, .policy = (uint8_t)entry->policy, .huge = (uint8_t)entry->huge};
        int code = find_nodes(making, entry, &made);
        if (code == 0 && entry->kind == PLACE_THREAD)
            code = find_cpus(making, entry, &made);
        if (code < 0)
            return code;
        char *reason = find_entry(making, entry, &made);
        if (making->modules.count > PLACE_MODULES) {
            free(reason);
            return error_set(making->err, -E2BIG, "%s: entries of more than %d binaries", making->plan->name,
                             PLACE_MODULES);
        }
        table->places[i] = PLAN_NOWHERE;
        if (*reason) {
            table->reasons[i] = reason;
            continue;
        }
        free(reason);
        table->places[i] = (uint32_t)making->entries.count;
        array_push(&making->entries, made);
    }
    return 0;
}

static int write_table(struct making *making)
{
    struct plan_table *table = making->table;
    size_t entries_at = (sizeof *table->shared + 63) & ~(size_t)63;
    size_t ranges_at = entries_at + making->entries.count * sizeof(struct place_entry);
    size_t cpus_at = ranges_at + making->ranges.count * sizeof(struct place_range);
    size_t bytes = cpus_at + making->cpus.count * sizeof(struct place_cpus);
    table->bytes = bytes;
    table->entries_at = entries_at;
    table->fd = memfd_create("numalens-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (table->fd < 0 || ftruncate(table->fd, (off_t)bytes) < 0 ||
        fcntl(table->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return error_set(making->err, -errno, "cannot make a file for the plan: %s", strerror(errno));
    table->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, table->fd, 0);
    if (table->shared == MAP_FAILED) {
        table->shared = NULL;
        return error_set(making->err, -errno, "cannot map a file for the plan: %s", strerror(errno));
    }
    struct place_table *shared = table->shared;
    *shared = (struct place_table){.magic = PLACE_MAGIC,
                                   .bytes = bytes,
                                   .entry_count = (uint32_t)making->entries.count,
                                   .module_count = (uint32_t)making->modules.count,
                                   .range_count = (uint32_t)making->ranges.count,
                                   .cpus_count = (uint32_t)making->cpus.count,
                                   .entries_at = (uint32_t)entries_at,
                                   .ranges_at = (uint32_t)ranges_at,
                                   .cpus_at = (uint32_t)cpus_at,
                                   .node_count = making->machine->topology->node_count};
    memcpy(shared->cpus, making->machine->limits->cpus.words, sizeof shared->cpus);
    for (size_t i = 0; i < making->modules.count; i++)
        snprintf(shared->modules[i], PLACE_NAME, "%s", making->modules.items[i]);
    if (making->entries.count)
        memcpy(place_entries(shared), making->entries.items, ranges_at - entries_at);
    if (making->ranges.count)
        memcpy(place_range_list(shared), making->ranges.items, cpus_at - ranges_at);
    if (making->cpus.count)
        memcpy(place_cpu_list(shared), making->cpus.items, bytes - cpus_at);
    snprintf(table->path, sizeof table->path, "/proc/%d/fd/%d", (int)getpid(), table->fd);
    return 0;
}

int plan_table_make(struct plan_table *table, const struct placement_plan *plan, const char *program,
                    const struct plan_machine *machine, struct error *err)
{
    *table = (struct plan_table){.fd = -1,
                                 .count = plan->entries.count,
                                 .places = mem_zalloc((plan->entries.count + 1) * sizeof *table->places),
                                 .reasons = mem_zalloc((plan->entries.count + 1) * sizeof *table->reasons)};
    struct making making = {.table = table, .plan = plan, .machine = machine, .err = err};
    char *real = realpath(program, NULL);
    find_binaries(&making, real ? real : program);
    int code = make_entries(&making);
    if (code == 0)
        code = write_table(&making);
    array_each (&making.modules, char *, module)
        free(*module);
    array_free(&making.modules);
    array_each (&making.binaries, struct binary_file, file) {
        free(file->path);
        free(file->refused);
    }
    array_free(&making.binaries);
    array_free(&making.entries);
    array_free(&making.ranges);
    array_free(&making.cpus);
    free(real);
    if (code < 0)
        plan_table_free(table);
    return code;
}

bool plan_table_is_empty(const struct plan_table *table)
{
    for (size_t i = 0; table->shared && i < table->count; i++)
        if (table->places[i] != PLAN_NOWHERE)
            return false;
    return true;
}

void plan_table_free(struct plan_table *table)
{
    if (table->shared)
        munmap(table->shared, table->bytes);
    if (table->fd >= 0)
        close(table->fd);
    for (size_t i = 0; i < table->count; i++)
        free(table->reasons[i]);
    free(table->places);
    free(table->reasons);
    *table = (struct plan_table){.fd = -1};
}

static const char *const reason_texts[PLACE_REASONS] = {
#define ROW(name, text) text,
    PLACE_REASON_LIST(ROW)
#undef ROW
};

struct plan_result plan_result(const struct plan_table *table, const struct placement_plan *plan, size_t index)
{
    const struct plan_entry *entry = &plan->entries.items[index];
    if (table->places[index] == PLAN_NOWHERE)
        return (struct plan_result){.by = "", .reason = mem_strdup(table->reasons[index])};
    const struct place_entry *entries = (const void *)((const char *)table->shared + table->entries_at),
                             *made = &entries[table->places[index]];
    struct plan_result result = {
        .count = made->count, .bytes = made->bytes, .failed = made->failed, .huge_bytes = made->huge_bytes};
    uint32_t reason = made->reason, cause = made->cause;
    reason = reason < PLACE_REASONS ? reason : PLACE_FAILED_REASON;
    bool no_huge = result.count && made->huge == PLACE_HUGE && !result.huge_bytes;
    result.applied = result.count > 0 && !no_huge;
    result.by = !result.applied               ? ""
                : entry->kind == PLACE_THREAD ? "affinity"
                : made->touched               ? "first touch"
                                              : "memory policy";
    if (result.failed && reason == PLACE_ELSEWHERE_REASON)
        result.reason = mem_format("%s (%llu of %llu pages)", reason_texts[reason], (unsigned long long)made->elsewhere,
                                   (unsigned long long)made->pages);
    else if (result.failed && reason)
        result.reason = mem_format("%s%s%s (%llu of %llu)", reason_texts[reason], cause ? ": " : "",
                                   cause ? strerror((int)cause) : "", (unsigned long long)result.failed,
                                   (unsigned long long)result.failed + (unsigned long long)result.count);
    else if (no_huge)
        result.reason = mem_strdup("it is placed, but nothing of it was seen in huge pages");
    else if (!result.count)
        result.reason =
            mem_strdup(!table->shared->processes   ? "the agent was not loaded into the program"
                       : entry->kind == PLACE_SITE ? "the program never allocated there"
                       : entry->kind == PLACE_THREAD || entry->kind == PLACE_STACK ? "no such thread was started"
                       : entry->kind == PLACE_STATIC                               ? "its binary was never loaded"
                                                                                   : "the program never mapped it");
    else
        result.reason = mem_strdup("");
    return result;
}
