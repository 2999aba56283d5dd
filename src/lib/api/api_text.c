/* lib/api/api_text.c - texts of the target program, made safe for a terminal once and kept. */
#include "lib/api/api.h"

#include "base/text.h"

#include <string.h>

const char *api_text(nlens_trace *trace, const char *raw)
{
    bool is_new;
    if (!raw || !*raw)
        return "";
    uint64_t *place = map64_insert(&trace->safe_of, (uintptr_t)raw, &is_new);
    if (is_new) {
        char *safe = text_safe(raw);
        bool same = strcmp(safe, raw) == 0;
        const char *kept = strtab_intern(trace->texts, safe);
        free(safe);
        *place = (uintptr_t)kept;
        if (!same)
            *map64_insert(&trace->raw_of, (uintptr_t)kept, NULL) = (uintptr_t)raw;
    }
    return (const char *)(uintptr_t)*place;
}

const char *api_lines(nlens_trace *trace, const char *raw)
{
    char *all = mem_strdup("");
    for (const char *at = raw ? raw : ""; *at;) {
        size_t size = strcspn(at, "\n");
        char *line = mem_format("%.*s", (int)size, at), *safe = text_safe(line);
        char *longer = mem_format("%s%s%s", all, safe, at[size] ? "\n" : "");
        free(line);
        free(safe);
        free(all);
        all = longer;
        at += size + (at[size] == '\n');
    }
    const char *kept = strtab_intern(trace->texts, all);
    if (strcmp(all, raw ? raw : "") != 0)
        *map64_insert(&trace->raw_of, (uintptr_t)kept, NULL) = (uintptr_t)raw;
    free(all);
    return kept;
}

const char *nlens_raw(nlens_trace *trace, const char *text)
{
    uint64_t *place = map64_find(&trace->raw_of, (uintptr_t)text);
    return place ? (const char *)(uintptr_t)*place : text;
}

static const char *fit(nlens_trace *trace, const char *text, size_t width)
{
    char *cut = text_fit(text, width);
    const char *kept = strtab_intern(trace->texts, cut);
    free(cut);
    return kept;
}

const char *nlens_fit(nlens_trace *trace, const char *text, size_t width)
{
    const char *kept = fit(trace, text, width);
    return kept ? kept : text;
}
