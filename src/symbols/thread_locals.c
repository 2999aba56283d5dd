/* symbols/thread_locals.c - where thread-local variables are declared.
 *
 * Debug information gives their place as an offset into the thread's block, or, from compilers that cannot write that down
 * (GCC for aarch64), not at all: then the name has to do, as long as only one variable has it. */
#include "symbols/debuginfo_internal.h"

#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <dwarf.h>
#include <string.h>

/* The offset in a thread's block; false for everything that is no thread-local variable. */
static bool block_offset(Dwarf_Die *die, uint64_t *offset)
{
    Dwarf_Attribute location;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr(die, DW_AT_location, &location)) {
        Dwarf_Attribute other;
        *offset = NO_OFFSET;
        return !dwarf_attr(die, DW_AT_declaration, &other) && !dwarf_attr_integrate(die, DW_AT_const_value, &other);
    }
    if (dwarf_getlocation(&location, &ops, &count) != 0 || count != 2 ||
        (ops[1].atom != DW_OP_form_tls_address && ops[1].atom != DW_OP_GNU_push_tls_address))
        return false;
    *offset = ops[0].number;
    return ops[0].atom == DW_OP_addr || (ops[0].atom >= DW_OP_const1u && ops[0].atom <= DW_OP_consts);
}

static void walk(struct debuginfo *info, Dwarf_Die *parent, bool inner, int depth)
{
    Dwarf_Die die;
    if (depth > DIE_DEPTH || !die_child(parent, &die))
        return;
    do {
        struct local_variable variable = {.die = die, .inner = inner};
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
            if (block_offset(&die, &variable.offset))
                array_push(&info->thread_locals, variable);
            break;
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
            walk(info, &die, true, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
            walk(info, &die, false, depth + 1);
            break;
        }
    } while (die_next(&die));
}

static void read_all(struct debuginfo *info)
{
    if (info->thread_locals_read)
        return;
    info->thread_locals_read = true;
    array_each (&info->units, struct unit, unit) {
        Dwarf_Die top = unit->die;
        walk(info, &top, false, 0);
    }
}

/* Whether a symbol is that variable's: by its linkage name, or its name but for the number that the compiler gives to what
 * is local to a function ("seen.0"). */
static bool is_named(struct local_variable *variable, const char *symbol)
{
    const char *linkage = die_linkage_name(&variable->die), *name = dwarf_diename(&variable->die);
    if (linkage && strcmp(linkage, symbol) == 0)
        return true;
    size_t length = strcspn(symbol, ".");
    return name && variable->inner == (symbol[length] == '.') && strncmp(name, symbol, length) == 0 &&
           name[length] == '\0';
}

bool debuginfo_thread_local(struct debuginfo *info, uint64_t offset, const char *name, struct symbol_object *object)
{
    read_all(info);
    struct local_variable *found = NULL;
    unsigned count = 0;
    array_each (&info->thread_locals, struct local_variable, variable) {
        if ((variable->offset != offset && variable->offset != NO_OFFSET) || !is_named(variable, name))
            continue;
        found = variable;
        count++;
        if (variable->offset == offset) {
            count = 1;
            break;
        }
    }
    if (count != 1)
        return false;
    if (strchr(name, '.') && dwarf_diename(&found->die))
        object->name = strtab_intern(symbols_names(info->symbols), dwarf_diename(&found->die));
    debuginfo_declaration(info, &found->die, object);
    return true;
}
