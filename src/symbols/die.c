#include "symbols/die.h"

#include <dwarf.h>
#include <string.h>

bool die_child(Dwarf_Die *parent, Dwarf_Die *child)
{
    const char *above = parent->addr;
    return dwarf_child(parent, child) == 0 && (const char *)child->addr > above;
}

bool die_next(Dwarf_Die *die)
{
    const char *before = die->addr;
    return dwarf_siblingof(die, die) == 0 && (const char *)die->addr > before;
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

bool die_type(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, type))
        return false;
    if (dwarf_attr(type, DW_AT_signature, &attribute)) /* a declaration of what has a unit of its own */
        dwarf_formref_die(&attribute, type);
    return true;
}

bool die_strip(Dwarf_Die *type, const char **name)
{
    enum { HOPS = 32 }; /* typedefs and qualifiers of one another */
    for (int hops = 0; hops < HOPS; hops++) {
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
            if (name && !*name)
                *name = dwarf_diename(type);
            __attribute__((fallthrough));
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            if (!die_type(type, type))
                return false;
            break;
        default:
            return true;
        }
    }
    return false;
}

static bool is_reference(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool die_pointee(Dwarf_Die *type)
{
    return die_strip(type, NULL) && (is_reference(dwarf_tag(type)) || dwarf_tag(type) == DW_TAG_array_type) &&
           die_type(type, type);
}

bool die_is_pointer(Dwarf_Die *die)
{
    Dwarf_Die type;
    return die_type(die, &type) && die_strip(&type, NULL) && is_reference(dwarf_tag(&type));
}

bool die_is_record(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static int language_of(Dwarf_Die *die)
{
    Dwarf_Die unit;
    return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

bool die_is_cplusplus(Dwarf_Die *die)
{
    switch (language_of(die)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return true;
    default:
        return false;
    }
}

bool die_is_fortran(Dwarf_Die *die)
{
    switch (language_of(die)) {
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
