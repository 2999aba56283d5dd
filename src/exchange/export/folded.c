/* exchange/export/folded.c - folded stacks: "program;thread;main;work;[plate(demo.c:30)] 12", one line for each.
 *
 * The innermost frame is what was accessed. Lines whose value is 0 say nothing and are not written: sums are the same. */
#include "base/strtab.h"
#include "base/text.h"
#include "exchange/export/emitter.h"
#include "exchange/export/export.h"

#include <errno.h>

struct folding {
    struct names *names;
    struct strtab *texts;  /* fit for a line */
    const char **frames;   /* by number; NULL: not asked for yet */
    array_of(char) line;   /* the one that is being put together */
    struct strtab *stacks; /* lines */
    array_of(uint64_t) sums;
};

/* Semicolons end frames, and lines are lines. */
static const char *fit(struct folding *folding, const char *name)
{
    char *safe = text_safe(name);
    for (char *at = safe; *at; at++)
        *at = *at == ';' ? ':' : *at;
    const char *text = strtab_intern(folding->texts, safe);
    free(safe);
    return text;
}

static void put(struct folding *folding, const char *text)
{
    size_t length = strlen(text);
    array_reserve(&folding->line, folding->line.count + length);
    memcpy(folding->line.items + folding->line.count, text, length);
    folding->line.count += length;
}

static void put_stack(struct folding *folding, const struct tally_row *row)
{
    const uint32_t *frames;
    size_t count = names_chain_frames(folding->names, row->chain, &frames);
    put(folding, fit(folding, names_process(folding->names, names_process_of(folding->names, row->thread))));
    put(folding, ";");
    put(folding, fit(folding, names_thread(folding->names, row->thread)));
    if (count == 0)
        put(folding, ";[unknown]");
    while (count-- > 0) {
        const char **name = &folding->frames[frames[count]];
        if (!*name)
            *name = fit(folding, names_frame(folding->names, frames[count]).function);
        put(folding, ";");
        put(folding, *name);
    }
    if (row->thing == 0) {
        put(folding, ";[unknown]");
        return;
    }
    put(folding, ";[");
    put(folding, fit(folding, names_thing(folding->names, row->thing).label));
    put(folding, "]");
}

/* Chains that differ in lines only have the same names: they are one line. */
static void fold(struct folding *folding, const struct tally_row *row, uint64_t value)
{
    folding->line.count = 0;
    put_stack(folding, row);
    uint32_t number = strtab_add_bytes(folding->stacks, folding->line.items, folding->line.count);
    while (folding->sums.count <= number)
        array_push(&folding->sums, 0);
    folding->sums.items[number] += value;
}

static void put_lines(const struct folding *folding, FILE *out)
{
    struct emit *emit = emit_new(out);
    for (size_t i = 1; i < folding->sums.count; i++) { /* 0 is "" */
        emit_text(emit, strtab_text(folding->stacks, (uint32_t)i));
        emit_char(emit, ' ');
        emit_number(emit, folding->sums.items[i]);
        emit_char(emit, '\n');
    }
    emit_free(emit);
}

int export_folded(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    struct folding folding = {.names = names_new(flow), .texts = strtab_new(), .stacks = strtab_new()};
    struct tally tally;
    int failed = tally_make(&tally, flow, folding.names, false, err);
    if (failed == 0 && options->value == TALLY_BYTES && !tally.has_bytes) {
        failed =
            error_set(err, -ENODATA,
                      "how many bytes come from memory is not known: record it for longer, and without --no-traffic");
        tally_free(&tally);
    }
    if (failed == 0) {
        folding.frames = mem_zalloc((names_frame_count(folding.names) + 1) * sizeof *folding.frames);
        array_each (&tally.rows, const struct tally_row, row)
            if (row->values[options->value])
                fold(&folding, row, row->values[options->value]);
        put_lines(&folding, out);
        tally_free(&tally);
    }
    free(folding.frames);
    array_free(&folding.line);
    array_free(&folding.sums);
    strtab_free(folding.stacks);
    strtab_free(folding.texts);
    names_free(folding.names);
    return failed;
}
