#include "symbols/die.h"

#include <dwarf.h>
#include <string.h>

bool die_child(Dwarf_Die *parent, Dwarf_Die *child)
{
    Dwarf_Off above = dwarf_dieoffset(parent);
    return dwarf_child(parent, child) == 0 && dwarf_dieoffset(child) > above;
}

bool die_next(Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

uint64_t die_number(Dwarf_Die *die, unsigned attribute, uint64_t otherwise)
{
    Dwarf_Attribute found;
    Dwarf_Word value;
    if (dwarf_attr_integrate(die, attribute, &found) && dwarf_formudata(&found, &value) == 0)
        return value;
    return otherwise;
}

const char *die_file(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    Dwarf_Word index;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    /* dwarf_decl_file() takes 0 for "none", which is right before DWARF 5 only. */
    if (!dwarf_attr_integrate(die, attribute, &found) || dwarf_formudata(&found, &index) != 0 ||
        !dwarf_cu_die(found.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return NULL;
    const char *path = dwarf_filesrc(files, index, NULL, NULL);
    return path && strcmp(path, "???") != 0 ? path : NULL;
}

const char *die_linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute found;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &found) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &found))
        return dwarf_formstring(&found);
    return NULL;
}

bool die_is_fortran(Dwarf_Die *die)
{
    Dwarf_Die unit;
    if (!dwarf_diecu(die, &unit, NULL, NULL))
        return false;
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        return true;
    default:
        return false;
    }
}

void die_ranges(Dwarf_Die *die, void (*visit)(void *context, uint64_t low, uint64_t high), void *context)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    /* Address 0 is where the linker puts what it threw away. */
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
        if (low < high && low != 0)
            visit(context, low, high);
}
