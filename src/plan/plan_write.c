#include "plan/plan_words.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *plan_kind_name(enum place_kind kind)
{
    return kind < PLACE_KINDS ? plan_kinds[kind] : "?";
}

enum { ESCAPE = 4 /* \xHH */ };

char *plan_name_write(const char *name, const char *special)
{
    char *text = mem_alloc(strlen(name) * ESCAPE + 1), *out = text;
    for (const char *at = name; *at;) {
        uint32_t code = 0;
        unsigned length = text_utf8(at, &code), bytes = length ? length : 1;
        bool at_end = *at == ' ' && (at == name || !at[1]);
        if (!length || code < 0x20 || (code >= 0x7f && code < 0xa0) || text_deceives(code) || at_end || *at == '\\' ||
            strchr(special, *at))
            for (unsigned i = 0; i < bytes; i++)
                out += sprintf(out, "\\x%02x", (unsigned char)at[i]);
        else
            out = (char *)memcpy(out, at, bytes) + bytes;
        at += bytes;
    }
    *out = '\0';
    return text;
}

/* The byte of an escape, 1 to 255; 0: it is none. */
static unsigned char escaped(const char *at)
{
    return at[0] == '\\' && at[1] == 'x' && isxdigit((unsigned char)at[2]) && isxdigit((unsigned char)at[3])
               ? (unsigned char)strtoul((char[]){at[2], at[3], '\0'}, NULL, 16)
               : 0;
}

char *plan_name_read(const char *text)
{
    char *name = mem_alloc(strlen(text) + 1), *out = name;
    while (*text) {
        char byte = (char)escaped(text);
        *out++ = byte ? byte : *text;
        text += byte ? ESCAPE : 1;
    }
    *out = '\0';
    return name;
}

char *plan_pattern(const char *what)
{
    char *pattern = mem_alloc(2 * strlen(what) + 1), *out = pattern;
    while (*what) {
        char byte = (char)escaped(what), letter = byte ? byte : *what;
        if (letter == '\\' || (byte && strchr("*?", byte)))
            *out++ = '\\';
        *out++ = letter;
        what += byte ? ESCAPE : 1;
    }
    *out = '\0';
    return pattern;
}

struct plan_entry *placement_plan_add(struct placement_plan *plan, enum place_kind kind, const char *what,
                                      enum place_policy policy)
{
    array_push(&plan->entries, (struct plan_entry){.kind = kind, .what = mem_strdup(what), .policy = policy});
    return &plan->entries.items[plan->entries.count - 1];
}

char *plan_list_text(const struct placement_set *set)
{
    char *text;
    size_t size;
    FILE *out = mem_stream(&text, &size);
    bool any = false;
    for (uint32_t from = 0; from < PLACEMENT_CPUS; from++) {
        uint32_t to = from;
        if (!placement_set_has(set, from))
            continue;
        while (to + 1 < PLACEMENT_CPUS && placement_set_has(set, to + 1))
            to++;
        fprintf(out, to > from ? "%s%u-%u" : "%s%u", any ? "," : "", from, to);
        any = true;
        from = to;
    }
    mem_stream_end(out, &text);
    return text;
}

/* One part of the same length on each node, in their order. */
static bool is_plain(const struct plan_entry *entry)
{
    for (size_t i = 0; i < entry->parts.count; i++)
        if (entry->parts.items[i].weight != 1 || (i && entry->parts.items[i].node <= entry->parts.items[i - 1].node))
            return false;
    return true;
}

char *plan_entry_wants(const struct plan_entry *entry)
{
    struct placement_set nodes = {0};
    char *list = NULL, *text;
    size_t size;
    array_each (&entry->parts, struct plan_part, part)
        placement_set_add(&nodes, part->node);
    FILE *out = mem_stream(&text, &size);
    fputs(plan_policies[entry->policy], out);
    if (entry->policy == PLACE_ON_CPUS)
        fprintf(out, " %s", list = plan_list_text(&entry->cpus));
    else if (entry->all)
        fputs(" all", out);
    else if (entry->policy == PLACE_WEIGHTED || (entry->policy == PLACE_SPLIT && !is_plain(entry)))
        for (size_t i = 0; i < entry->parts.count; i++)
            fprintf(out, "%s%u:%u", i ? "," : " ", entry->parts.items[i].node, entry->parts.items[i].weight);
    else if (entry->parts.count)
        fprintf(out, " %s", list = plan_list_text(&nodes));
    fputs(entry->huge == PLACE_HUGE ? " huge" : entry->huge == PLACE_SMALL ? " small" : "", out);
    mem_stream_end(out, &text);
    free(list);
    return text;
}

void plan_write_comments(FILE *out, const char *text)
{
    while (text) {
        size_t length = strcspn(text, "\n");
        fprintf(out, "# %.*s\n", (int)length, text);
        text = text[length] ? text + length + 1 : NULL;
    }
}

void plan_write(FILE *out, const struct placement_plan *plan)
{
    plan_write_comments(out, plan->head);
    fputs("numalens plan 1\n", out);
    if (plan->has_nodes) {
        char *nodes = plan_list_text(&plan->nodes);
        fprintf(out, "nodes %s\n", nodes);
        free(nodes);
    }
    array_each (&plan->programs, struct plan_program, program)
        fprintf(out, "program %s%s%s\n", program->path, *program->build_id ? " " : "", program->build_id);
    array_each (&plan->entries, struct plan_entry, entry) {
        char *wants = plan_entry_wants(entry);
        fputc('\n', out);
        plan_write_comments(out, entry->evidence);
        fprintf(out, "%s %s @ %s\n", plan_kinds[entry->kind], entry->what, wants);
        free(wants);
    }
}

void placement_plan_free(struct placement_plan *plan)
{
    array_each (&plan->programs, struct plan_program, program) {
        free(program->path);
        free(program->build_id);
    }
    array_each (&plan->entries, struct plan_entry, entry) {
        array_free(&entry->parts);
        free(entry->what);
        free(entry->lines);
        free(entry->evidence);
    }
    array_free(&plan->programs);
    array_free(&plan->entries);
    free(plan->name);
    free(plan->head);
    *plan = (struct placement_plan){0};
}
