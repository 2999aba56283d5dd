#include "plan/flexmalloc.h"

#include "base/text.h"
#include "symbols/search.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "file.c:12": where its colon is; NULL: it is no such frame. */
static const char *line_colon(const char *frame, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)frame[length - digits - 1]))
        digits++;
    return digits && length > digits + 1 && frame[length - digits - 1] == ':' ? frame + length - digits - 1 : NULL;
}

static const char *offset_bang(const char *frame, size_t length)
{
    const char *bang = memrchr(frame, '!', length);
    if (!bang || bang == frame)
        return NULL;
    size_t digits = length - (size_t)(bang + 1 - frame), prefix = digits > 2 && strncmp(bang + 1, "0x", 2) == 0 ? 2 : 0;
    size_t hexadecimal = strspn(bang + 1 + prefix, "0123456789abcdefABCDEF");
    return digits > prefix && hexadecimal >= digits - prefix ? bang : NULL;
}

bool flexmalloc_is_line(const char *line)
{
    size_t length = strcspn(line, ">@");
    bool ends = line[length];
    while (length && isspace((unsigned char)line[length - 1]))
        length--;
    return ends && strchr(line, '@') && strcspn(line, " \t") >= length &&
           (line_colon(line, length) || offset_bang(line, length));
}

bool flexmalloc_ends_chain(const char *frame)
{
    static const char *const ends[] = {"Unresolved", "_NOT_Found", "libc-start.c", "libc_start_call_main.h",
                                       "clone.S",    "clone3.S",   "start.S",      "pthread_create.c"};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]);
        if (strncmp(frame, ends[i], length) == 0 && (frame[length] == ':' || !frame[length]))
            return true;
    }
    return false;
}

/* The frame as a plan has it, which the caller frees; "" where the chain ends, NULL with a complaint. */
static char *read_frame(struct plan_reading *reading, const char *frame)
{
    const char *bang = offset_bang(frame, strlen(frame));
    if (!bang && line_colon(frame, strlen(frame)))
        return mem_strdup(flexmalloc_ends_chain(text_file_name(frame)) ? "" : text_file_name(frame));
    if (!bang) {
        plan_complain(reading, "'%s' is no frame of a call chain: file.c:12 or /path/module!1f2a is wanted", frame);
        return NULL;
    }
    uint64_t addr, offset = bang ? strtoull(bang + 1, NULL, 16) : 0;
    char *module = mem_format("%.*s", (int)(bang - frame), frame), *text = NULL;
    if (search_address_of_offset(module, offset, &addr))
        text = mem_format("%s!0x%llx", text_file_name(module), (unsigned long long)addr);
    else
        plan_complain(reading, "%s cannot be read, or byte 0x%llx of it is in no segment", module,
                      (unsigned long long)offset);
    free(module);
    return text;
}

/* The chain as a plan has it, which the caller frees; NULL with a complaint. */
static char *read_chain(struct plan_reading *reading, char *text)
{
    char *chain = NULL;
    for (unsigned frames = 0; text && frames < PLACE_FRAMES; frames++) {
        char *next = strchr(text, '>');
        if (next)
            *next++ = '\0';
        char *frame = read_frame(reading, plan_trim(text)), *longer = NULL;
        text = next;
        if (frame && *frame)
            longer = chain ? mem_format("%s > %s", chain, frame) : mem_strdup(frame);
        else if (frame && !chain)
            plan_complain(reading, "the innermost frame has no name: nothing can be compared with it");
        else if (frame)
            longer = mem_strdup(chain);
        bool ends = !frame || !*frame;
        free(frame);
        free(chain);
        chain = longer;
        if (ends || !chain)
            break;
    }
    return chain;
}

static const char *placement_of(const struct plan_allocators *allocators, const char *name)
{
    for (size_t i = 0; allocators && i < allocators->items.count; i++)
        if (strcasecmp(allocators->items.items[i].name, name) == 0)
            return allocators->items.items[i].placement;
    for (unsigned i = 0; i < PLACE_NODE; i++) {
        size_t length = strlen(plan_policies[i]);
        if (strncmp(name, plan_policies[i], length) == 0 && (!name[length] || name[length] == ' '))
            return name;
    }
    return strcasecmp(name, "posix") == 0 ? "" : NULL;
}

static bool is_placed(const struct placement_plan *plan, const char *chain, const char *placement)
{
    array_each (&plan->entries, struct plan_entry, entry) {
        if (strcmp(entry->what, chain) != 0)
            continue;
        char *wants = plan_entry_wants(entry);
        bool same = strcmp(wants, placement) == 0;
        free(wants);
        if (same)
            return true;
    }
    return false;
}

int flexmalloc_read_line(struct plan_reading *reading, char *line)
{
    char *at = strchr(line, '@'), *name = at ? plan_trim(at + 1) : NULL;
    if (!name || !*name || at == line)
        return plan_complain(reading,
                             "a call chain, '@' and an allocator are wanted: a.c:12 > b.c:30 @ interleave all");
    *at = '\0';
    const char *placement = placement_of(reading->allocators, name);
    if (!placement)
        return plan_complain(reading, "what the allocator %s means is not known: --allocator '%s=preferred 1' says it",
                             name, name);
    char *chain = read_chain(reading, plan_trim(line));
    if (!chain)
        return reading->err->code;
    int code = 0;
    /* Two chains may differ only where nothing is compared. */
    if (*placement && !is_placed(reading->plan, chain, placement)) {
        char *copy = mem_strdup(placement);
        struct plan_entry *entry = plan_read_what(reading, PLACE_SITE, chain);
        code = entry ? plan_read_policy(reading, entry, copy) : reading->err->code;
        free(copy);
    } else {
        free(reading->comments);
        reading->comments = NULL;
    }
    free(chain);
    return code;
}

int plan_allocators_add(struct plan_allocators *allocators, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return error_set(err, -EINVAL, "'%s' is not NAME=PLACEMENT, such as 'memkind/pmem=preferred 1'", text);
    /* Read as an entry, so that it is one word for word. */
    struct placement_plan plan = {.name = mem_strdup(text)};
    struct plan_reading reading = {.plan = &plan, .err = err};
    char *placement = mem_strdup(equals + 1);
    struct plan_entry *entry = placement_plan_add(&plan, PLACE_SITE, "", PLACE_BIND);
    int code = plan_read_policy(&reading, entry, placement);
    if (code == 0)
        array_push(&allocators->items,
                   (struct plan_allocator){mem_format("%.*s", (int)(equals - text), text), plan_entry_wants(entry)});
    free(placement);
    placement_plan_free(&plan);
    return code;
}

void plan_allocators_free(struct plan_allocators *allocators)
{
    array_each (&allocators->items, struct plan_allocator, item) {
        free(item->name);
        free(item->placement);
    }
    array_free(&allocators->items);
}

static const char *chain_of(const struct plan_entry *entry)
{
    return entry->lines ? entry->lines : entry->what;
}

const char *flexmalloc_refuses(const struct placement_plan *plan, size_t index)
{
    const struct plan_entry *entry = &plan->entries.items[index];
    if (entry->kind != PLACE_SITE)
        return "FlexMalloc places what is allocated, and nothing else";
    for (const char *at = chain_of(entry); at;) {
        const char *end = strstr(at, " > ");
        if (!line_colon(at, end ? (size_t)(end - at) : strlen(at)))
            return "FlexMalloc compares whole call chains, and not every frame of this one has a line: build it with "
                   "-g";
        at = end ? end + 3 : NULL;
    }
    if (strpbrk(chain_of(entry), "\\@"))
        return "a file's name in it has letters that such a file has no words for";
    for (size_t i = 0; i < index; i++)
        if (plan->entries.items[i].kind == PLACE_SITE &&
            strcmp(chain_of(&plan->entries.items[i]), chain_of(entry)) == 0)
            return "an entry before it has the same lines, and no line distinguishes the two";
    return NULL;
}

/* FlexMalloc takes a '!' anywhere, in comments too, for an offset, and refuses a file that has both lines and offsets. */
static void write_plain(FILE *out, const char *text)
{
    char *plain = text ? mem_strdup(text) : NULL;
    for (char *at = plain; at && *at; at++)
        *at = *at == '!' ? ' ' : *at;
    plan_write_comments(out, plain);
    free(plain);
}

void flexmalloc_write(FILE *out, const struct placement_plan *plan, const struct plan_allocators *allocators)
{
    write_plain(out, plan->head);
    for (size_t index = 0; index < plan->entries.count; index++) {
        const struct plan_entry *entry = &plan->entries.items[index];
        if (flexmalloc_refuses(plan, index))
            continue;
        char *wants = plan_entry_wants(entry);
        const char *name = wants;
        for (size_t i = 0; allocators && i < allocators->items.count; i++)
            if (strcmp(allocators->items.items[i].placement, wants) == 0)
                name = allocators->items.items[i].name;
        write_plain(out, entry->evidence);
        fprintf(out, "%s @ %s\n", chain_of(entry), name);
        free(wants);
    }
}
