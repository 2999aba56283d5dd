/* symbols/frames.c - an address as frames: the line it is on, what was inlined there, the function around it. */
#include "base/bisect.h"
#include "symbols/debuginfo_internal.h"

#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <dwarf.h>
#include <stdlib.h>

static bool begins_by(Dwarf_Line *line, uint64_t addr)
{
    Dwarf_Addr start;
    return dwarf_lineaddr(line, &start) == 0 && start <= addr;
}

/* The line that covers `addr`. Compilers give line 0 to instructions that belong nowhere; then the row before speaks. */
static void find_line(struct debuginfo *info, struct unit *unit, uint64_t addr, struct symbol_frame *frame)
{
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->line_die, &lines, &count) != 0 || count == 0)
        return;
    size_t low = bisect(count, i, begins_by(dwarf_onesrcline(lines, i), addr));
    enum { BACK = 16 };
    for (size_t i = low, steps = 0; i > 0 && steps < BACK; i--, steps++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i - 1);
        bool ended = true;
        int number = 0, column = 0;
        if (dwarf_lineendsequence(line, &ended) != 0 || ended)
            return;
        if (dwarf_lineno(line, &number) != 0 || number <= 0)
            continue;
        const char *file = dwarf_linesrc(line, NULL, NULL);
        dwarf_linecol(line, &column);
        frame->file = file ? strtab_intern(symbols_names(info->symbols), file) : "";
        frame->line = (uint32_t)number;
        frame->column = column > 0 ? (uint32_t)column : 0;
        return;
    }
}

static void read_call_ranges(void *context, uint64_t low, uint64_t high)
{
    struct function *function = context;
    struct inlined_call *call = &function->calls.items[function->calls.count - 1];
    if (call->low == 0 || low < call->low)
        call->low = low;
    array_push(&function->call_ranges, (struct owned_range){low, high, (uint32_t)function->calls.count - 1});
}

static void walk_calls(struct function *function, Dwarf_Die *parent, uint32_t caller, uint32_t level, int depth)
{
    Dwarf_Die die;
    if (depth > DIE_DEPTH || !die_child(parent, &die))
        return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_inlined_subroutine:
            array_push(&function->calls, (struct inlined_call){.die = die, .caller = caller, .depth = level + 1});
            die_ranges(&die, read_call_ranges, function);
            walk_calls(function, &die, (uint32_t)function->calls.count - 1, level + 1, depth + 1);
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            walk_calls(function, &die, caller, level, depth + 1);
            break;
        }
    } while (die_next(&die));
}

uint32_t function_call_at(struct function *function, uint64_t addr)
{
    if (!function->inlines_read) {
        function->inlines_read = true;
        Dwarf_Die top = function->die;
        walk_calls(function, &top, NO_CALLER, 0, 0);
    }
    uint32_t best = NO_CALLER;
    array_each (&function->call_ranges, struct owned_range, range)
        if (addr >= range->low && addr < range->high &&
            (best == NO_CALLER || function->calls.items[range->owner].depth > function->calls.items[best].depth))
            best = range->owner;
    return best;
}

/* Where an inlined function was called: the line of the frame around it. */
static void find_call_line(struct debuginfo *info, Dwarf_Die *call, struct symbol_frame *frame)
{
    uint64_t line = die_number(call, DW_AT_call_line, 0), column = die_number(call, DW_AT_call_column, 0);
    if (line == 0 || line > UINT32_MAX)
        return;
    frame->line = (uint32_t)line;
    frame->column = column <= UINT32_MAX ? (uint32_t)column : 0;
    const char *path = die_file(call, DW_AT_call_file);
    if (path)
        frame->file = strtab_intern(symbols_names(info->symbols), path);
}

static const char *unit_directory(struct debuginfo *info, uint32_t number)
{
    struct unit *unit = &info->units.items[number];
    Dwarf_Attribute found;
    if (!unit->directory) {
        const char *path = dwarf_attr(&unit->line_die, DW_AT_comp_dir, &found) ? dwarf_formstring(&found) : NULL;
        unit->directory = strtab_intern(symbols_names(info->symbols), path ? path : "");
    }
    return unit->directory;
}

size_t debuginfo_frames(struct debuginfo *info, uint64_t addr, struct symbol_frame *frames, size_t max, uint64_t *entry)
{
    *entry = 0;
    const struct owned_range *range = range_list_find(&info->unit_ranges, addr);
    if (!range || max == 0)
        return 0;
    frames[0] = (struct symbol_frame){.function = "", .file = ""};
    find_line(info, &info->units.items[range->owner], addr, &frames[0]);
    struct function *function = unit_function_at(info, range->owner, addr);
    if (!function)
        return frames[0].line ? 1 : 0;
    *entry = die_is_fortran(&function->die) ? 0 : function->entry;
    size_t count = 0;
    for (uint32_t at = function_call_at(function, addr); at != NO_CALLER && count + 1 < max;) {
        struct inlined_call *call = &function->calls.items[at];
        frames[count].function = debuginfo_function_name(info, &call->die);
        frames[count].inlined = true;
        frames[count].gives = die_is_pointer(&call->die);
        frames[count].offset = addr >= call->low ? addr - call->low : 0;
        frames[++count] = (struct symbol_frame){.function = "", .file = ""};
        find_call_line(info, &call->die, &frames[count]);
        at = call->caller;
    }
    if (!function->name)
        function->name = debuginfo_function_name(info, &function->die);
    frames[count].function = function->name;
    frames[count].gives = die_is_pointer(&function->die);
    const char *directory = unit_directory(info, range->owner);
    for (size_t i = 0; i <= count; i++)
        frames[i].directory = directory;
    frames[count].offset = addr >= function->entry ? addr - function->entry : 0;
    return count + 1;
}
