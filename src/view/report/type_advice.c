/* view/report/type_advice.c - what a struct's use says of its layout: fields that threads share falsely, and cold ones between hot ones. */
#include "analysis/thresholds.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/number.h"
#include "view/report/type_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_field(FILE *out, const struct symbol_field *field, const char *before)
{
    fprintf(out, "    %s%s%s%s;\n", before, field->before, field->name, field->after);
}

static void open_struct(FILE *out, const struct symbol_type *type, const char *part)
{
    const char *name = type->name, *blank = strrchr(name, ' '), *scope = strrchr(name, ':');
    if (!strchr(name, '<')) /* without what a template is made for, the last word is its own */
        name = scope && scope > blank ? scope + 1 : blank ? blank + 1 : name;
    fprintf(out, "struct %s%s {\n", name, part);
}

static bool is_contended(const struct type_use *use, uint32_t field)
{
    for (uint32_t own = field; own <= field + use->type->fields[field].inside; own++)
        if (use->falsely[own] > 0)
            return true;
    return false;
}

/* Each field that several threads contend for begins a line of its own, and so does what follows the last of them; where it is the items
 * of an array that share lines, the first field does. */
static char *padded(const struct type_use *use, bool items)
{
    const struct symbol_type *type = use->type;
    char *code = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&code, &size);
    fputs("/* C before C23: <stdalign.h>; on the heap: aligned_alloc(64, size) */\n", out);
    if (type->field_count)
        open_struct(out, type, "");
    else
        fprintf(out, "struct item {\n    alignas(64) %s value;\n", type->name);
    bool apart = items;
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].depth > 0)
            continue;
        bool contended = !items && is_contended(use, i);
        put_field(out, &type->fields[i], contended || apart ? "alignas(64) " : "");
        apart = contended;
    }
    fputs("};\n", out);
    fclose(out);
    return code;
}

static bool advise_padding(const struct type_use *use, struct type_advice *advice)
{
    const struct symbol_type *type = use->type;
    char *names = mem_strdup("");
    size_t count = 0;
    if (use->false_lines == 0)
        return free(names), false;
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (type->fields[i].depth > 0 || !is_contended(use, i))
            continue;
        char *longer = mem_format("%s%s%s", names, count++ ? ", " : "", type->fields[i].name);
        free(names);
        names = longer;
    }
    bool items = count < 2;
    const char *lines = number_count(use->false_lines);
    advice->text =
        items ? mem_format("Threads share cache lines without sharing data: neighbouring items of %s are on the same "
                           "lines (%s of them)%s%s. Let each item begin a line:",
                           type->name, lines, count ? ", by their " : "", names)
              : mem_format("Threads share cache lines without sharing data: %s are on the same lines (%s of them). "
                           "Give each a line of its own:",
                           names, lines);
    advice->code = padded(use, items);
    free(names);
    return true;
}

/* Of an array: what is hardly used travels with what is. */
static bool advise_split(const struct type_use *use, const struct row *whole, struct type_advice *advice)
{
    const struct symbol_type *type = use->type;
    uint64_t hot_bytes = 0, cold_bytes = 0, samples = whole->totals.samples;
    char *hot = NULL, *cold = NULL;
    size_t hot_size = 0, cold_size = 0;
    if (use->many == 0 || samples < thresholds.enough || type->size < 2 * sizeof(uint64_t))
        return false;
    FILE *hot_out = open_memstream(&hot, &hot_size), *cold_out = open_memstream(&cold, &cold_size);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct symbol_field *field = &type->fields[i];
        if (field->depth > 0)
            continue;
        uint64_t used = 0;
        for (uint32_t own = i; own <= i + field->inside; own++)
            used += use->fields.items.items[own].totals.samples;
        bool is_cold = (double)used < thresholds.stray * (double)samples;
        put_field(is_cold ? cold_out : hot_out, field, "");
        *(is_cold ? &cold_bytes : &hot_bytes) += field->size;
    }
    fclose(hot_out);
    fclose(cold_out);
    /* A line holds twice as many items without them. */
    bool worth = hot_bytes && (double)cold_bytes >= thresholds.majority * (double)type->size;
    if (worth) {
        advice->text = mem_format(
            "%s of its %s bytes are in fields with less than %.0f%% of its accesses, and travel with the others. Keep "
            "them in an array of their own:",
            number_count(cold_bytes), number_count(type->size), 100 * thresholds.stray);
        size_t size = 0;
        FILE *out = open_memstream(&advice->code, &size);
        open_struct(out, type, "_hot");
        fprintf(out, "%s};\n", hot);
        open_struct(out, type, "_cold");
        fprintf(out, "%s};\n", cold);
        fclose(out);
    }
    free(hot);
    free(cold);
    return worth;
}

size_t type_advise(const struct type_use *use, const struct row *whole, struct type_advice advice[2])
{
    size_t count = 0;
    count += advise_padding(use, &advice[count]);
    count += advise_split(use, whole, &advice[count]);
    return count;
}

void type_advice_put(const struct type_use *use, const struct row *row, struct json *json)
{
    struct type_advice advice[2];
    json_array(json, "advice");
    size_t count = type_advise(use, row, advice);
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "text", advice[i].text);
        json_text(json, "code", advice[i].code);
        json_end(json);
        free(advice[i].text);
        free(advice[i].code);
    }
    json_end(json);
}
