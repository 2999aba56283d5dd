#include "plan/plan_file.h"

#include "plan/flexmalloc.h"
#include "plan/plan_words.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const plan_kinds[PLACE_KINDS] = {"site", "static", "file", "shm", "stack", "thread"};
const char *const plan_policies[PLACE_POLICIES] = {"bind", "preferred", "interleave", "weighted",   "split",   "local",
                                                   "node", "cpus",      "cluster",    "distribute", "together"};

enum { PLAN_BYTES_MOST = 4 << 20 };

int plan_complain(struct plan_reading *reading, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!reading->line)
        return error_set(reading->err, -EINVAL, "%s: %s", reading->plan->name, text);
    return error_set(reading->err, -EINVAL, "%s, line %u: %s", reading->plan->name, reading->line, text);
}

char *plan_trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return text;
}

/* The first word, closed with NUL; `*rest` is what follows it. */
static char *first_word(char *text, char **rest)
{
    text = plan_trim(text);
    *rest = text + strcspn(text, " \t");
    if (**rest)
        *(*rest)++ = '\0';
    *rest = plan_trim(*rest);
    return text;
}

/* "0-3,7", or with weights "0:3,1:1". */
static int read_list(struct plan_reading *reading, const char *text, bool weights, struct placement_set *set,
                     struct plan_entry *entry)
{
    const char *at = text;
    for (;;) {
        char *end;
        unsigned long from = strtoul(at, &end, 10), to = from, weight = 1;
        bool good = end != at && isdigit((unsigned char)*at);
        if (good && *end == '-' && !weights) {
            at = end + 1;
            to = strtoul(at, &end, 10);
            good = end != at && isdigit((unsigned char)*at) && to >= from;
        } else if (good && weights && *end == ':') {
            at = end + 1;
            weight = strtoul(at, &end, 10);
            good = end != at && isdigit((unsigned char)*at) && weight >= 1 && weight <= 255;
        }
        if (!good || to >= PLACE_CPUS || (*end && *end != ','))
            return plan_complain(reading, "'%s' is no list: %s is wanted", text,
                                 weights ? "node:weight,node:weight, such as 0:3,1:1, with weights from 1 to 255,"
                                         : "numbers and ranges below 1024, such as 0-3,7,");
        for (; from <= to; from++) {
            bool again = entry && entry->policy == PLACE_SPLIT && weights; /* parts come back */
            if (placement_set_has(set, (uint32_t)from) && !again)
                return plan_complain(reading, "%lu is in '%s' twice", from, text);
            placement_set_add(set, (uint32_t)from);
            if (entry && entry->parts.count == PLACE_PARTS)
                return plan_complain(reading, "an entry has %d nodes at most", PLACE_PARTS);
            if (entry)
                array_push(&entry->parts, (struct plan_part){(uint16_t)from, (uint16_t)weight});
        }
        if (!*end)
            return 0;
        at = end + 1;
    }
}

static int read_nodes(struct plan_reading *reading, struct plan_entry *entry, const char *text)
{
    struct placement_set set = {0};
    bool weights = entry->policy == PLACE_WEIGHTED || (entry->policy == PLACE_SPLIT && strchr(text, ':'));
    if (strcmp(text, "all") == 0 && entry->policy != PLACE_PREFERRED && entry->policy != PLACE_NODE) {
        entry->all = true;
        return 0;
    }
    if (!*text)
        return plan_complain(reading, "%s wants its nodes: such as %s", plan_policies[entry->policy],
                             weights                            ? "weighted 0:3,1:1"
                             : entry->policy == PLACE_PREFERRED ? "preferred 1"
                             : entry->policy == PLACE_NODE      ? "node 1"
                                                                : "0-3, or all");
    int code = read_list(reading, text, weights, &set, entry);
    if (code == 0 && (entry->policy == PLACE_PREFERRED || entry->policy == PLACE_NODE) && entry->parts.count > 1)
        return plan_complain(reading, "%s takes one node", plan_policies[entry->policy]);
    return code;
}

int plan_read_policy(struct plan_reading *reading, struct plan_entry *entry, char *text)
{
    char *rest, *word = first_word(text, &rest), *last = strrchr(rest, ' ');
    last = last ? last + 1 : rest;
    unsigned policy = 0;
    while (policy < PLACE_POLICIES && strcmp(word, plan_policies[policy]) != 0)
        policy++;
    if (policy == PLACE_POLICIES)
        return plan_complain(
            reading,
            "'%s' is no placement: bind, preferred, interleave, weighted, split or local of memory; node, "
            "cpus, cluster, distribute or together of threads",
            word);
    entry->policy = (enum place_policy)policy;
    if (entry->kind == PLACE_THREAD ? policy < PLACE_NODE : policy >= PLACE_NODE)
        return plan_complain(reading, "%s is for %s, and this is a %s", word,
                             policy < PLACE_NODE ? "memory" : "threads", plan_kinds[entry->kind]);
    if (strcmp(last, "huge") == 0 || strcmp(last, "small") == 0) {
        if (entry->kind == PLACE_THREAD)
            return plan_complain(reading, "threads have no pages: '%s' is for memory", last);
        entry->huge = *last == 'h' ? PLACE_HUGE : PLACE_SMALL;
        *last = '\0';
        rest = plan_trim(rest);
    }
    if (policy == PLACE_LOCAL || policy >= PLACE_CLUSTER)
        return *rest ? plan_complain(reading, "%s takes nothing, but here is '%s'", word, rest) : 0;
    if (policy == PLACE_ON_CPUS)
        return read_list(reading, rest, false, &entry->cpus, NULL);
    return read_nodes(reading, entry, rest);
}

/* A frame that is one letter, "*". */
static bool has_any_frame(const char *what, unsigned *frames)
{
    bool any = false;
    *frames = 0;
    for (const char *at = what, *end; at; at = end ? end + strlen(" > ") : NULL, ++*frames) {
        end = strstr(at, " > ");
        any |= *at == '*' && (at[1] == '\0' || at + 1 == end);
    }
    return any;
}

char *plan_name_trouble(enum place_kind kind, const char *what)
{
    unsigned frames = 1;
    if (kind == PLACE_SITE ? has_any_frame(what, &frames) : kind == PLACE_STATIC && strcmp(what, "*") == 0)
        /* Ranges of code or data are found by whole names: "*" would be found nowhere. */
        return mem_format("* is for threads, stacks, files and shared memory: a %s is named, such as %s; numalens "
                          "compare --placements interleave places all memory",
                          plan_kinds[kind], kind == PLACE_SITE ? "store.c:54 or make_table" : "table");
    if (frames > PLACE_FRAMES)
        return mem_format("a call chain has %d frames at most; the innermost ones decide", PLACE_FRAMES);
    if (kind != PLACE_FILE && kind != PLACE_SHM)
        return NULL;
    char *pattern = plan_pattern(what);
    bool fits = strlen(pattern) < PLACE_NAME;
    free(pattern);
    return fits ? NULL : mem_format("a name has %d letters at most", PLACE_NAME - 1);
}

struct plan_entry *plan_read_what(struct plan_reading *reading, enum place_kind kind, const char *what)
{
    int code = 0;
    array_each (&reading->plan->entries, struct plan_entry, other)
        if (other->kind == kind && strcmp(other->what, what) == 0)
            code = plan_complain(reading, "%s %s is placed in line %u already", plan_kinds[kind], what, other->line);
    if (code == 0 && reading->plan->entries.count == PLACE_ENTRIES)
        code = plan_complain(reading, "a plan has %d entries at most", PLACE_ENTRIES);
    char *trouble = code == 0 ? plan_name_trouble(kind, what) : NULL;
    if (trouble)
        code = plan_complain(reading, "%s", trouble);
    free(trouble);
    if (code < 0)
        return NULL;
    struct plan_entry *entry = placement_plan_add(reading->plan, kind, what, PLACE_BIND);
    entry->line = reading->line;
    entry->evidence = reading->comments;
    reading->comments = NULL;
    return entry;
}

static int read_entry(struct plan_reading *reading, enum place_kind kind, char *text)
{
    char *at = NULL;
    for (char *next = text; (next = strstr(next, " @ ")); next++)
        at = next;
    if (!at || at == text)
        return plan_complain(reading, "%s wants what it is about, ' @ ' and a placement: %s @ %s", plan_kinds[kind],
                             kind == PLACE_SITE     ? "site store.c:54"
                             : kind == PLACE_STATIC ? "static table"
                             : kind == PLACE_FILE   ? "file /data/model.bin"
                             : kind == PLACE_SHM    ? "shm buffers"
                             : kind == PLACE_STACK  ? "stack worker"
                                                    : "thread worker",
                             kind == PLACE_THREAD ? "node 1" : "interleave all");
    *at = '\0';
    struct plan_entry *entry = plan_read_what(reading, kind, plan_trim(text));
    return entry ? plan_read_policy(reading, entry, at + strlen(" @ ")) : reading->err->code;
}

static int read_program(struct plan_reading *reading, char *text)
{
    char *last = strrchr(text, ' ');
    const char *build_id = "";
    if (last && strspn(last + 1, "0123456789abcdef") == strlen(last + 1) && strlen(last + 1) >= 8) {
        build_id = last + 1;
        *last = '\0';
    }
    if (!*plan_trim(text))
        return plan_complain(reading, "program wants the path of a binary, and may have its build-id");
    if (reading->plan->programs.count == PLACE_MODULES)
        return plan_complain(reading, "a plan names %d programs at most", PLACE_MODULES);
    array_each (&reading->plan->programs, struct plan_program, other)
        if (strcmp(other->path, plan_trim(text)) == 0)
            return plan_complain(reading, "the program %s is named in line %u already", other->path, other->line);
    array_push(&reading->plan->programs,
               (struct plan_program){reading->line, mem_strdup(plan_trim(text)), mem_strdup(build_id)});
    return 0;
}

/* Twice as much each time: a plan may have a million lines. */
static size_t room_of(size_t bytes)
{
    size_t room = 64;
    while (room < bytes)
        room *= 2;
    return room;
}

static void keep_comment(struct plan_reading *reading, const char *text)
{
    size_t used = reading->comments ? reading->comment_bytes : 0, more = strlen(text) + 1;
    char *longer = reading->comments;
    if (!used || room_of(used + more) > room_of(used))
        longer = mem_resize(longer, room_of(used + more));
    if (used)
        longer[used - 1] = '\n';
    memcpy(longer + used, text, more);
    reading->comments = longer;
    reading->comment_bytes = used + more;
}

static int read_line(struct plan_reading *reading, char *text, bool *begun)
{
    char *rest, *line = plan_trim(text);
    if (*line == '#') {
        keep_comment(reading, plan_trim(line + 1));
        return 0;
    }
    if (!*line)
        return 0;
    if (!*begun)
        reading->flexmalloc = *begun = flexmalloc_is_line(line);
    if (reading->flexmalloc)
        return flexmalloc_read_line(reading, line);
    if (!*begun) {
        if (strcmp(line, "numalens plan 1") != 0)
            return plan_complain(reading, "this is no plan: its first line would be 'numalens plan 1', and is '%.60s'",
                                 line);
        *begun = true;
        reading->plan->head = reading->comments;
        reading->comments = NULL;
        return 0;
    }
    const char *word = first_word(line, &rest);
    if (strcmp(word, "nodes") == 0) {
        if (reading->plan->has_nodes)
            return plan_complain(reading, "the nodes that it was written for are known already");
        reading->plan->has_nodes = true;
        return read_list(reading, rest, false, &reading->plan->nodes, NULL);
    }
    if (strcmp(word, "program") == 0)
        return read_program(reading, rest);
    for (unsigned kind = 0; kind < PLACE_KINDS; kind++)
        if (strcmp(word, plan_kinds[kind]) == 0)
            return read_entry(reading, (enum place_kind)kind, rest);
    return plan_complain(
        reading, "'%.60s' is unknown here: nodes, program, site, static, file, shm, stack or thread is wanted", word);
}

int plan_read_text(struct placement_plan *plan, const char *name, const char *text,
                   const struct plan_allocators *allocators, struct error *err)
{
    *plan = (struct placement_plan){.name = mem_strdup(name)};
    struct plan_reading reading = {.plan = plan, .allocators = allocators, .err = err};
    char *copy = mem_strdup(text), *next = copy;
    bool begun = false;
    int code = 0;
    while (code == 0 && next) {
        char *line = next, *end = strchr(line, '\n');
        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        reading.line++;
        code = read_line(&reading, line, &begun);
    }
    if (code == 0 && !begun)
        code = error_set(err, -EINVAL, "%s is empty: a plan begins with 'numalens plan 1'", name);
    free(reading.comments);
    free(copy);
    if (code < 0)
        placement_plan_free(plan);
    return code;
}

int plan_read(struct placement_plan *plan, const char *path, const struct plan_allocators *allocators,
              struct error *err)
{
    *plan = (struct placement_plan){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "cannot read the plan %s: %s", path, strerror(errno));
    char *text = mem_alloc(PLAN_BYTES_MOST + 1);
    size_t size = 0;
    ssize_t got = 0;
    while (size < PLAN_BYTES_MOST && (got = read(fd, text + size, PLAN_BYTES_MOST - size)) > 0)
        size += (size_t)got;
    int code = got < 0 ? error_set(err, -errno, "cannot read the plan %s: %s", path, strerror(errno)) : 0;
    close(fd);
    text[size] = '\0';
    if (code == 0 && (size == PLAN_BYTES_MOST || strlen(text) != size))
        code = error_set(err, -EINVAL, "%s is no plan: it is no text, or has more than 4 MiB", path);
    if (code == 0)
        code = plan_read_text(plan, path, text, allocators, err);
    free(text);
    return code;
}
