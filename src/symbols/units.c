/* symbols/units.c - which unit and which function an address belongs to, and its line. */
#include "base/bisect.h"
#include "symbols/debuginfo_internal.h"

#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static int by_low(const void *left, const void *right)
{
    const struct owned_range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high > b->high ? -1 : a->high < b->high; /* the inner one last */
}

static void range_list_sort(range_list *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, by_low);
}

const struct owned_range *range_list_find(const range_list *list, uint64_t addr)
{
    size_t low = bisect(list->count, i, list->items[i].low <= addr);
    enum { NESTING = 64 };
    for (size_t i = low, steps = 0; i > 0 && steps < NESTING; i--, steps++)
        if (addr < list->items[i - 1].high)
            return &list->items[i - 1];
    return NULL;
}

struct range_adder {
    range_list *list;
    uint32_t owner;
    uint64_t lowest;
};

static void add_range(void *context, uint64_t low, uint64_t high)
{
    struct range_adder *adder = context;
    array_push(adder->list, (struct owned_range){low, high, adder->owner});
    if (adder->lowest == 0 || low < adder->lowest)
        adder->lowest = low;
}

static void index_units(struct debuginfo *info)
{
    Dwarf_CU *unit = NULL;
    uint8_t type;
    Dwarf_Half version;
    Dwarf_Die die, split;
    while (dwarf_get_units(info->dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_type_unit)
            array_push(&info->type_units, die);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
            continue;
        uint32_t number = (uint32_t)info->units.count;
        bool is_split = split.addr != NULL;
        array_push(&info->units, (struct unit){.line_die = die, .die = is_split ? split : die});
        die_ranges(&die, add_range, &(struct range_adder){&info->unit_ranges, number, 0});
    }
    range_list_sort(&info->unit_ranges);
}

/* Else libdw ends the process without a word. */
static __attribute__((noreturn)) void no_memory(void)
{
    mem_exhausted(1);
}

struct debuginfo *debuginfo_open(const struct binary *binary, struct symbols *symbols)
{
    Dwarf *dwarf = dwarf_begin_elf(binary->elf, DWARF_C_READ, NULL);
    if (!dwarf)
        return NULL;
    dwarf_new_oom_handler(dwarf, no_memory);
    struct debuginfo *info = mem_zalloc(sizeof *info);
    info->dwarf = dwarf;
    info->symbols = symbols;
    index_units(info);
    return info;
}

void debuginfo_close(struct debuginfo *info)
{
    if (!info)
        return;
    array_each (&info->units, struct unit, unit)
        array_free(&unit->function_ranges);
    array_each (&info->functions, struct function, function) {
        array_free(&function->calls);
        array_free(&function->call_ranges);
    }
    array_free(&info->units);
    array_free(&info->unit_ranges);
    array_free(&info->functions);
    array_free(&info->variables);
    array_free(&info->members);
    array_free(&info->thread_locals);
    map64_free(&info->locals_of);
    array_each (&info->locals, struct locals, locals) {
        array_free(&locals->items);
        array_free(&locals->blocks);
    }
    array_free(&info->locals);
    map64_free(&info->type_texts);
    map64_free(&info->scopes);
    map64_free(&info->scopes_of_unit);
    array_each (&info->unit_scopes, struct unit_scopes, scopes)
        array_free(&scopes->items);
    array_free(&info->unit_scopes);
    array_free(&info->type_units);
    array_free(&info->unit_types);
    map64_free(&info->unit_type_of);
    dwarf_end(info->dwarf);
    free(info);
}

struct walk {
    struct debuginfo *info;
    uint32_t unit;
};

static void add_function(const struct walk *walk, Dwarf_Die *die)
{
    struct debuginfo *info = walk->info;
    struct range_adder adder = {&info->units.items[walk->unit].function_ranges, (uint32_t)info->functions.count, 0};
    size_t before = adder.list->count;
    die_ranges(die, add_range, &adder);
    if (adder.list->count == before)
        return;
    Dwarf_Addr entry;
    if (dwarf_entrypc(die, &entry) != 0)
        entry = adder.lowest;
    array_push(&info->functions, (struct function){.die = *die, .unit = walk->unit, .entry = entry});
}

/* Where an entry without linkage name stands: its declaration has the namespaces around it, later references to it have
 * not. */
static void note_scope(const struct walk *walk, Dwarf_Die *die, const char *scope)
{
    if (*scope && !dwarf_hasattr(die, DW_AT_linkage_name) && dwarf_hasattr(die, DW_AT_name))
        *map64_insert(&walk->info->scopes, die_key(die), NULL) = (uint64_t)(uintptr_t)scope;
}

static void walk_functions(const struct walk *walk, Dwarf_Die *parent, const char *scope, int depth)
{
    Dwarf_Die die;
    if (depth > DIE_DEPTH || !die_child(parent, &die))
        return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            add_function(walk, &die);
            note_scope(walk, &die, scope);
            walk_functions(walk, &die, "", depth + 1); /* procedures inside procedures: Fortran, Ada, lambdas */
            break;
        case DW_TAG_lexical_block:
            walk_functions(walk, &die, "", depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type: {
            const char *name = dwarf_diename(&die);
            if (dwarf_tag(&die) == DW_TAG_namespace && !name)
                name = "(anonymous namespace)";
            char *inner = mem_format("%s%s%s", scope, name ? name : "", name ? "::" : "");
            walk_functions(walk, &die, strtab_intern(symbols_names(walk->info->symbols), inner), depth + 1);
            free(inner);
            break;
        }
        }
    } while (die_next(&die));
}

struct function *unit_function_at(struct debuginfo *info, uint32_t number, uint64_t addr)
{
    struct unit *unit = &info->units.items[number];
    if (!unit->functions_read) {
        unit->functions_read = true;
        Dwarf_Die top = unit->die;
        walk_functions(&(struct walk){info, number}, &top, "", 0);
        range_list_sort(&unit->function_ranges);
    }
    const struct owned_range *range = range_list_find(&unit->function_ranges, addr);
    return range ? &info->functions.items[range->owner] : NULL;
}

const char *debuginfo_function_name(struct debuginfo *info, Dwarf_Die *die)
{
    const char *linkage = die_linkage_name(die), *name = dwarf_diename(die);
    struct strtab *names = symbols_names(info->symbols);
    if (linkage && (!name || !die_is_fortran(die) || strstr(linkage, "_MOD_")))
        return symbols_demangle(info->symbols, linkage);
    if (!name)
        return "";
    if (strncmp(name, "_Z", 2) == 0) /* what OpenMP made of a region: its name is made from its function's */
        return symbols_demangle(info->symbols, name);
    /* The declaration is at the end of a short chain of references. */
    Dwarf_Die at = *die;
    for (int hops = 0; hops < 8; hops++) {
        const uint64_t *scope = map64_find(&info->scopes, die_key(&at));
        if (scope) {
            char *full = mem_format("%s%s", (const char *)(uintptr_t)*scope, name);
            name = strtab_intern(names, full);
            free(full);
            return name;
        }
        Dwarf_Attribute reference;
        Dwarf_Die next;
        if ((!dwarf_attr(&at, DW_AT_abstract_origin, &reference) &&
             !dwarf_attr(&at, DW_AT_specification, &reference)) ||
            !dwarf_formref_die(&reference, &next))
            break;
        at = next;
    }
    return strtab_intern(names, name);
}
