/* symbols/declared.c - what a name means to the code at an address: a variable of its function, a member of its class. */
#include "symbols/type_internal.h"

#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 16, BASES = 4, NAME_MOST = 128 };

/* --- what a name means --- */

typedef bool (*die_test)(struct debuginfo *info, Dwarf_Die *die, const char *wanted);

static bool is_named(struct debuginfo *info, Dwarf_Die *die, const char *wanted)
{
    (void)info;
    const char *name = dwarf_diename(die);
    return name && strcmp(name, wanted) == 0;
}

static bool is_typed(struct debuginfo *info, Dwarf_Die *die, const char *wanted)
{
    Dwarf_Die type;
    return dwarf_diename(die) && die_type(die, &type) && strcmp(type_text_of(info, &type), wanted) == 0;
}

struct frame { /* of a call chain: what its code can name */
    struct debuginfo *info;
    uint64_t addr;
    uint32_t unit;
    Dwarf_Die function; /* or what was inlined */
    Dwarf_Die origin;   /* its abstract original, or itself */
};

/* Blocks of an abstract original have no addresses. */
static bool is_in_sight(const struct frame *frame, const struct locals *locals, uint32_t block)
{
    for (; block != NO_BLOCK; block = locals->blocks.items[block].around) {
        Dwarf_Die *die = &locals->blocks.items[block].die;
        if ((dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)) &&
            dwarf_haspc(die, frame->addr) != 1)
            return false;
    }
    return true;
}

static void read_locals(struct locals *locals, const Dwarf_Die *parent, uint32_t block, int depth)
{
    Dwarf_Die die, around = *parent;
    if (depth > DIE_DEPTH || !die_child(&around, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        const char *name = tag == DW_TAG_variable || tag == DW_TAG_formal_parameter ? dwarf_diename(&die) : NULL;
        if (name)
            array_push(&locals->items, (struct local){.die = die, .name = name, .block = block});
        if (tag != DW_TAG_lexical_block)
            continue;
        array_push(&locals->blocks, (struct local_block){.die = die, .around = block});
        read_locals(locals, &die, (uint32_t)locals->blocks.count - 1, depth + 1);
    } while (die_next(&die));
}

/* Read once: a function that much was inlined into is long, and each of its blocks of memory asks. */
static struct locals *locals_in(struct debuginfo *info, const Dwarf_Die *function)
{
    bool is_new;
    uint64_t *place = map64_insert(&info->locals_of, die_key(function), &is_new);
    if (is_new) {
        *place = info->locals.count;
        array_push(&info->locals, (struct locals){0});
        read_locals(&info->locals.items[*place], function, NO_BLOCK, 0);
    }
    return &info->locals.items[*place];
}

static const char *local_type(struct debuginfo *info, struct local *local)
{
    Dwarf_Die type;
    if (!local->type)
        local->type = die_type(&local->die, &type) ? type_text_of(info, &type) : "";
    return local->type;
}

/* Variables and parameters of `function` and its blocks that pass; returns how many, and one of them: the innermost. */
static unsigned locals(const struct frame *frame, const Dwarf_Die *function, die_test test, const char *wanted,
                       Dwarf_Die *found)
{
    struct locals *all = locals_in(frame->info, function);
    unsigned count = 0;
    array_each (&all->items, struct local, local) {
        const char *text = test == is_named ? local->name : local_type(frame->info, local);
        if (strcmp(text, wanted) != 0 || !is_in_sight(frame, all, local->block))
            continue;
        *found = local->die;
        count++;
    }
    return count;
}

/* Clang does not list parameters that need no place where a function is inlined; the function itself has them. */
static unsigned locals_of(const struct frame *frame, die_test test, const char *wanted, Dwarf_Die *found)
{
    unsigned count = locals(frame, &frame->function, test, wanted, found);
    if (count == 0 && frame->origin.addr != frame->function.addr)
        count = locals(frame, &frame->origin, test, wanted, found);
    return count;
}

/* Of a class, its bases and its unnamed parts. */
static unsigned members(struct debuginfo *info, Dwarf_Die *class, die_test test, const char *wanted, Dwarf_Die *found,
                        Dwarf_Die *owner, int depth)
{
    Dwarf_Die die, part;
    unsigned count = 0;
    if (!die_child(class, &die))
        return 0;
    do {
        int tag = dwarf_tag(&die);
        bool unnamed = tag == DW_TAG_inheritance || (tag == DW_TAG_member && !dwarf_diename(&die));
        if (tag == DW_TAG_member && test(info, &die, wanted)) {
            *found = die;
            *owner = *class;
            count++;
        } else if (unnamed && depth < BASES && die_type(&die, &part) && die_strip(&part, NULL)) {
            count += members(info, &part, test, wanted, found, owner, depth + 1);
        }
    } while (die_next(&die));
    return count;
}

/* The frame `level` above the innermost one. */
static bool frame_find(struct debuginfo *info, uint64_t addr, size_t level, struct frame *frame)
{
    const struct owned_range *range = range_list_find(&info->unit_ranges, addr);
    struct function *function = range ? unit_function_at(info, range->owner, addr) : NULL;
    if (!function)
        return false;
    uint32_t at = function_call_at(function, addr);
    for (; level > 0 && at != NO_CALLER; level--)
        at = function->calls.items[at].caller;
    if (level > 0)
        return false;
    *frame = (struct frame){.info = info, .addr = addr, .unit = range->owner};
    frame->function = frame->origin = at == NO_CALLER ? function->die : function->calls.items[at].die;
    Dwarf_Attribute origin;
    Dwarf_Die next;
    if (dwarf_attr(&frame->function, DW_AT_abstract_origin, &origin) && dwarf_formref_die(&origin, &next))
        frame->origin = next;
    return true;
}

/* Behind pointers, references and arrays. */
static bool record_of(Dwarf_Die *type)
{
    Dwarf_Die inner = *type;
    for (int hops = 0; hops < HOPS && die_pointee(&inner); hops++)
        *type = inner;
    return die_strip(type, NULL) && die_is_record(type);
}

static const char *class_name(struct debuginfo *info, Dwarf_Die *class)
{
    const char *name = dwarf_diename(class);
    char text[TYPE_TEXT_MOST];
    snprintf(text, sizeof text, "%.*s", name ? (int)strcspn(name, "<") : 0, name ? name : "");
    return strtab_intern(symbols_names(info->symbols), text);
}

static unsigned find(const struct frame *frame, die_test test, const char *wanted, Dwarf_Die *found, const char **owner)
{
    Dwarf_Die self, class, member, its_class;
    unsigned count = locals_of(frame, test, wanted, found), own = 0;
    if (locals_of(frame, is_named, "this", &self) && die_type(&self, &class) && record_of(&class))
        own = members(frame->info, &class, test, wanted, &member, &its_class, 0);
    if (own && count == 0) {
        *found = member;
        *owner = class_name(frame->info, &its_class);
    }
    return test == is_named && count ? 1 : count + own;
}

static bool find_global(Dwarf_Die *parent, const char *name, Dwarf_Die *found, int depth)
{
    Dwarf_Die die, type;
    if (depth > DIE_DEPTH || !die_child(parent, &die))
        return false;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_variable && is_named(NULL, &die, name) && die_type(&die, &type)) {
            *found = die;
            return true;
        }
        if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && find_global(&die, name, found, depth + 1))
            return true;
    } while (die_next(&die));
    return false;
}

/* T of vector<T, A>. */
static bool first_parameter(Dwarf_Die *of, Dwarf_Die *type)
{
    Dwarf_Die die;
    if (!die_child(of, &die))
        return false;
    do
        if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
            return die_type(&die, type);
    while (die_next(&die));
    return false;
}

/* One step in: `[i]`, `*`; of a container or smart pointer what it is of. */
static bool look_into(Dwarf_Die *type)
{
    Dwarf_Die die = *type;
    if (die_pointee(&die)) {
        *type = die;
        return true;
    }
    return die_strip(type, NULL) && first_parameter(type, type);
}

/* --- expressions --- */

static void take(struct debuginfo *info, Dwarf_Die *found, Dwarf_Die *type, unsigned stars,
                 struct symbol_variable *variable)
{
    const char *name = dwarf_diename(found);
    variable->name = name ? strtab_intern(symbols_names(info->symbols), name) : "";
    for (; stars > 0; stars--)
        if (!look_into(type))
            return;
    variable->type = type_text_of(info, type);
    Dwarf_Die class = *type;
    variable->class_name = record_of(&class) ? class_name(info, &class) : "";
    int tag = die_strip(type, NULL) ? dwarf_tag(type) : 0;
    variable->is_number = tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type;
}

/* The name at `at`: its length, 0 where there is none or none so long. */
static size_t name_at(const char *at, char name[NAME_MOST])
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || (unsigned char)at[length] >= 0x80)
        length++;
    if (length >= NAME_MOST)
        return 0;
    memcpy(name, at, length);
    name[length] = '\0';
    return length;
}

static bool find_member(struct debuginfo *info, const Dwarf_Die *type, const char *name, Dwarf_Die *found)
{
    Dwarf_Die class = *type, owner;
    return record_of(&class) && members(info, &class, is_named, name, found, &owner, 0) > 0;
}

/* From what is behind the first name on, `->grid.cells[i]`: the entry of the last name, and the type of all. */
static bool follow(struct debuginfo *info, const char *at, Dwarf_Die *found, Dwarf_Die *type)
{
    char name[NAME_MOST];
    if (!die_type(found, type))
        return false;
    while (*at) {
        size_t mark = strspn(at, ".->%:");
        if (*at == '[') {
            int depth = 0;
            do
                depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
            while (*at++ && depth);
            if (depth || !look_into(type))
                return false;
        } else if (mark) {
            size_t length = name_at(at + mark, name);
            Dwarf_Die held = *type;
            if (length == 0 ||
                (!find_member(info, type, name, found) &&
                 !(look_into(&held) && find_member(info, &held, name, found))) ||
                !die_type(found, type))
                return false;
            at += mark + length;
        } else if (*at == ')' || *at == ' ') {
            at++;
        } else {
            return false;
        }
    }
    return true;
}

/* Its first name; what is behind that stands in `*rest`. */
static unsigned first_name(const char **rest, char name[NAME_MOST])
{
    unsigned stars = 0;
    const char *at = *rest;
    for (; *at == '*' || *at == '(' || *at == '&'; at++)
        stars += *at == '*';
    if (strncmp(at, "this->", 6) == 0)
        at += 6;
    *rest = at + name_at(at, name);
    return stars;
}

bool debuginfo_declared(struct debuginfo *info, uint64_t addr, size_t level, const char *expression,
                        struct symbol_variable *variable)
{
    struct frame frame;
    Dwarf_Die found, type;
    char name[NAME_MOST];
    *variable = (struct symbol_variable){.name = "", .owner = "", .type = "", .class_name = ""};
    unsigned stars = first_name(&expression, name);
    if (!*name || !frame_find(info, addr, level, &frame) || find(&frame, is_named, name, &found, &variable->owner) == 0)
        return false;
    if (follow(info, expression, &found, &type))
        take(info, &found, &type, stars, variable);
    return true;
}

bool debuginfo_declared_as(struct debuginfo *info, uint64_t addr, size_t level, const char *wanted,
                           struct symbol_variable *variable)
{
    struct frame frame;
    Dwarf_Die found, type;
    *variable = (struct symbol_variable){.name = "", .owner = "", .type = "", .class_name = ""};
    if (!frame_find(info, addr, level, &frame) || find(&frame, is_typed, wanted, &found, &variable->owner) != 1 ||
        !die_type(&found, &type))
        return false;
    take(info, &found, &type, 0, variable);
    return *variable->name;
}

/* char and bytes are buffers of anything */
static const struct symbol_type *items_unless_bytes(struct debuginfo *info, const Dwarf_Die *type)
{
    const struct symbol_type *made = type_of_items(info, type);
    return made && made->size == 1 && made->field_count == 0 ? NULL : made;
}

const struct symbol_type *debuginfo_expression_type(struct debuginfo *info, uint64_t addr, size_t level,
                                                    const char *expression)
{
    struct frame frame;
    Dwarf_Die found, type;
    char name[NAME_MOST];
    const char *owner;
    for (const char *scope; (scope = strstr(expression, "::"));)
        expression = scope + 2;
    unsigned stars = first_name(&expression, name) + 1;
    if (!*name || !frame_find(info, addr, level, &frame))
        return NULL;
    bool is_known = find(&frame, is_named, name, &found, &owner) > 0;
    for (size_t i = 0; !is_known && i <= type_units(info); i++) {
        Dwarf_Die top = info->units.items[i ? i - 1 : frame.unit].die;
        is_known = find_global(&top, name, &found, 0);
    }
    is_known = is_known && follow(info, expression, &found, &type);
    for (; is_known && stars > 0; stars--)
        is_known = look_into(&type);
    return is_known ? items_unless_bytes(info, &type) : NULL;
}

const struct symbol_type *debuginfo_parameter_type(struct debuginfo *info, uint64_t addr, size_t level)
{
    struct frame frame;
    Dwarf_Die type;
    return frame_find(info, addr, level, &frame) && first_parameter(&frame.origin, &type)
               ? items_unless_bytes(info, &type)
               : NULL;
}
