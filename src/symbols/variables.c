/* symbols/variables.c - where static objects are declared, and what is in Fortran's COMMON blocks. */
#include "base/bisect.h"
#include "base/order.h"
#include "symbols/debuginfo_internal.h"

#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Go puts an address into a form that libdw reads no location of. */
static bool block_address(Dwarf_Attribute *location, uint64_t *addr)
{
    Dwarf_Block block;
    if (dwarf_formblock(location, &block) != 0 || block.length != 1 + sizeof *addr || block.data[0] != DW_OP_addr)
        return false;
    memcpy(addr, block.data + 1, sizeof *addr);
    return *addr != 0 && *addr != MAP64_EMPTY;
}

/* The fixed address of a variable; false for registers, stacks, thread-locals and location lists. */
static bool fixed_address(Dwarf_Die *die, uint64_t *addr)
{
    Dwarf_Attribute location, indexed;
    Dwarf_Op *ops;
    size_t count;
    if (!dwarf_attr(die, DW_AT_location, &location))
        return false;
    if (dwarf_getlocation(&location, &ops, &count) != 0)
        return block_address(&location, addr);
    if (count == 0 || count > 2)
        return false;
    if (ops[0].atom == DW_OP_addr)
        *addr = ops[0].number;
    else if ((ops[0].atom != DW_OP_addrx && ops[0].atom != DW_OP_GNU_addr_index) ||
             dwarf_getlocation_attr(&location, &ops[0], &indexed) != 0 || dwarf_formaddr(&indexed, addr) != 0)
        return false;
    if (count == 2 && ops[1].atom != DW_OP_plus_uconst)
        return false;
    if (count == 2)
        *addr += ops[1].number;
    return *addr != 0 && *addr != MAP64_EMPTY;
}

/* How many items an array has; 0 when not known. Fortran counts from 1 unless the array says otherwise. */
static uint64_t array_length(Dwarf_Die *array, bool fortran)
{
    uint64_t length = 1;
    Dwarf_Die dimension;
    if (!die_child(array, &dimension))
        return 0;
    do {
        if (dwarf_tag(&dimension) != DW_TAG_subrange_type)
            continue;
        Dwarf_Attribute attribute;
        Dwarf_Sword low = fortran, high = 0;
        uint64_t count = die_number(&dimension, DW_AT_count, 0);
        if (dwarf_attr(&dimension, DW_AT_lower_bound, &attribute))
            dwarf_formsdata(&attribute, &low);
        if (count == 0 && dwarf_attr(&dimension, DW_AT_upper_bound, &attribute) &&
            dwarf_formsdata(&attribute, &high) == 0 && high >= low)
            count = (uint64_t)high - (uint64_t)low + 1;
        if (__builtin_mul_overflow(length, count, &length))
            return 0;
    } while (die_next(&dimension));
    return length;
}

/* Bytes of what `die` declares, 0 when not known. */
static uint64_t size_of(Dwarf_Die *die)
{
    bool fortran = die_is_fortran(die);
    uint64_t factor = 1, size;
    Dwarf_Die type = *die;
    for (int hops = 0; hops < 32; hops++) {
        Dwarf_Die next;
        if (!die_type(&type, &next))
            return 0;
        type = next;
        size = die_number(&type, DW_AT_byte_size, 0);
        if (dwarf_tag(&type) == DW_TAG_array_type && size == 0) {
            if (__builtin_mul_overflow(factor, array_length(&type, fortran), &factor))
                return 0;
        } else if (size != 0) {
            return __builtin_mul_overflow(factor, size, &size) ? 0 : size;
        }
    }
    return 0;
}

static void walk_common_block(struct debuginfo *info, Dwarf_Die *block)
{
    Dwarf_Die die;
    if (!die_child(block, &die))
        return;
    do {
        struct member member = {.block = *block, .die = die};
        if (dwarf_tag(&die) == DW_TAG_variable && fixed_address(&die, &member.addr) &&
            (member.size = size_of(&die)) > 0)
            array_push(&info->members, member);
    } while (die_next(&die));
}

static void walk_variables(struct debuginfo *info, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > DIE_DEPTH || !die_child(parent, &die))
        return;
    do {
        struct variable variable = {.die = die};
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
            if (fixed_address(&die, &variable.addr))
                array_push(&info->variables, variable);
            break;
        case DW_TAG_common_block:
            walk_common_block(info, &die);
            break;
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_namespace:
        case DW_TAG_module:
            walk_variables(info, &die, depth + 1);
            break;
        }
    } while (die_next(&die));
}

/* Equal addresses keep the file's order: the first that names a thing wins. */
ORDER_BY(by_address, struct variable, ORDER(a->addr, b->addr) ?: ORDER(a->die.addr, b->die.addr))

ORDER_BY(by_member_address, struct member, ORDER(a->addr, b->addr) ?: ORDER(a->die.addr, b->die.addr))

void debuginfo_read_variables(struct debuginfo *info)
{
    if (info->variables_read)
        return;
    info->variables_read = true;
    array_each (&info->units, struct unit, unit) {
        Dwarf_Die top = unit->die;
        walk_variables(info, &top, 0);
    }
    if (info->variables.count)
        qsort(info->variables.items, info->variables.count, sizeof *info->variables.items, by_address);
    if (info->members.count)
        qsort(info->members.items, info->members.count, sizeof *info->members.items, by_member_address);
}

void debuginfo_declaration(struct debuginfo *info, Dwarf_Die *die, struct symbol_object *object)
{
    uint64_t line = die_number(die, DW_AT_decl_line, 0);
    const char *file = die_file(die, DW_AT_decl_file);
    if (line == 0 || line > UINT32_MAX || !file)
        return;
    object->file = strtab_intern(symbols_names(info->symbols), file);
    object->line = (uint32_t)line;
}

bool debuginfo_variable(struct debuginfo *info, uint64_t addr, struct symbol_object *object)
{
    debuginfo_read_variables(info);
    size_t low = bisect(info->variables.count, i, info->variables.items[i].addr < addr);
    for (; low < info->variables.count && info->variables.items[low].addr == addr; low++) {
        Dwarf_Die *die = &info->variables.items[low].die;
        const char *name = dwarf_diename(die), *linkage = die_linkage_name(die);
        if (!name)
            continue;
        if (linkage && (!die_is_fortran(die) || strstr(linkage, "_MOD_")))
            object->name = symbols_demangle(info->symbols, linkage);
        else
            object->name = strtab_intern(symbols_names(info->symbols), name);
        debuginfo_declaration(info, die, object);
        return true;
    }
    return false;
}

bool debuginfo_common_member(struct debuginfo *info, uint64_t addr, struct symbol_object *object)
{
    debuginfo_read_variables(info);
    const struct member *best = NULL; /* the smallest: units may give a block different layouts */
    array_each (&info->members, struct member, member) {
        if (member->addr > addr)
            break;
        if (addr - member->addr < member->size && (!best || member->size < best->size))
            best = member;
    }
    if (!best)
        return false;
    Dwarf_Die die = best->die, block_die = best->block;
    const char *name = dwarf_diename(&die), *block = dwarf_diename(&block_die);
    bool blank = !block || strcmp(block, "__BLNK__") == 0;
    char *full = mem_format("%s/%s", blank ? "blank common" : block, name ? name : "?");
    *object = (struct symbol_object){
        .name = strtab_intern(symbols_names(info->symbols), full), .file = "", .start = best->addr, .size = best->size};
    free(full);
    debuginfo_declaration(info, &die, object);
    return true;
}
