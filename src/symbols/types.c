/* symbols/types.c - from a declaration to the layout of what it holds. */
#include "symbols/types.h"

#include "base/array.h"
#include "base/bisect.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/strtab.h"
#include "symbols/debuginfo_internal.h"
#include "symbols/symbols_internal.h"
#include "symbols/type_internal.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 32, DEEPEST = 8, MOST_FIELDS = 1000 };

/* --- fields --- */

typedef array_of(struct symbol_field) field_list;

static uint64_t size_of(Dwarf_Die *type)
{
    Dwarf_Word size;
    return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

struct member_at {
    Dwarf_Die die, type;
    uint64_t offset;
};

typedef array_of(struct member_at) member_list;

/* rustc places fields as it likes, and lists them as they are declared. Bit fields of one byte keep their order. */
ORDER_BY(by_offset, struct member_at, ORDER(a->offset, b->offset) ?: ORDER(a->die.addr, b->die.addr))

static void find_members(Dwarf_Die *record, member_list *members)
{
    Dwarf_Die die;
    if (!die_child(record, &die))
        return;
    do {
        struct member_at member = {.die = die};
        int tag = dwarf_tag(&die);
        bool is_static = dwarf_hasattr(&die, DW_AT_external) || dwarf_hasattr(&die, DW_AT_declaration);
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static || members->count >= MOST_FIELDS ||
            !die_type(&die, &member.type))
            continue;
        member.offset = die_number(&die, DW_AT_data_member_location, 0);
        if (dwarf_hasattr(&die, DW_AT_data_bit_offset))
            member.offset = die_number(&die, DW_AT_data_bit_offset, 0) / 8;
        array_push(members, member);
    } while (die_next(&die));
    array_sort(members, by_offset);
}

static void add_fields(struct debuginfo *info, Dwarf_Die *record, uint64_t base, uint32_t depth, field_list *fields)
{
    struct strtab *names = symbols_names(info->symbols);
    member_list members = {0};
    if (depth <= DEEPEST)
        find_members(record, &members);
    array_each (&members, struct member_at, member) {
        if (fields->count >= MOST_FIELDS)
            break;
        Dwarf_Die own = member->type;
        struct type_words words;
        type_words_make(info, &member->type, false, &words);
        die_strip(&own, NULL);
        const char *name = dwarf_diename(&member->die);
        size_t at = fields->count;
        array_push(fields, (struct symbol_field){.name = strtab_intern(names, name ? name : ""),
                                                 .before = strtab_intern(names, words.before),
                                                 .after = strtab_intern(names, words.after),
                                                 .offset = base + member->offset,
                                                 .size = size_of(&member->type),
                                                 .depth = depth});
        if (die_is_record(&own) && dwarf_tag(&own) != DW_TAG_union_type && !type_is_library(info, &own))
            add_fields(info, &own, base + member->offset, depth + 1, fields);
        fields->items[at].inside = (uint32_t)(fields->count - at - 1);
    }
    array_free(&members);
}

/* Where a type without a name of its own was declared is all that distinguishes it. */
static const char *name_of(struct debuginfo *info, Dwarf_Die *type, const char *alias)
{
    struct type_words words;
    if (!alias || dwarf_diename(type)) {
        type_words_make(info, type, false, &words);
        alias = type_words_join(&words);
    }
    return strtab_intern(symbols_names(info->symbols), alias);
}

/* NULL for what has no size */
static const struct symbol_type *type_make(struct debuginfo *info, Dwarf_Die *die)
{
    Dwarf_Die type = *die;
    const char *alias = NULL;
    struct symbol_object where = {.file = ""};
    if (!die_strip(&type, &alias) || size_of(&type) == 0)
        return NULL;
    if (dwarf_hasattr(&type, DW_AT_declaration)) /* another unit may have all of it; that is another name's business */
        return NULL;
    struct strtab *names = symbols_names(info->symbols);
    debuginfo_declaration(info, &type, &where);
    struct symbol_type made = {.name = name_of(info, &type, alias),
                               .keyword = type_keyword(dwarf_tag(&type)),
                               .file = where.file,
                               .line = where.line,
                               .size = size_of(&type)};
    char *key = mem_format("%s\n%s\n%u\n%lu", made.name, made.file, made.line, (unsigned long)made.size);
    struct symbol_types *types = symbols_types(info->symbols);
    bool is_new;
    uint64_t *place = map64_insert(&types->of_key, strtab_add(names, key), &is_new);
    free(key);
    if (is_new) {
        field_list fields = {0};
        *place = types->items.count;
        if (die_is_record(&type))
            add_fields(info, &type, 0, 0, &fields);
        struct symbol_type *kept = mem_alloc(sizeof *kept);
        made.fields = fields.items;
        made.field_count = fields.count;
        *kept = made;
        array_push(&types->items, kept);
        return kept;
    }
    return types->items.items[*place];
}

const struct symbol_type *type_of_items(struct debuginfo *info, const Dwarf_Die *type)
{
    Dwarf_Die item = *type, inner = item;
    for (int hops = 0; die_strip(&inner, NULL) && dwarf_tag(&inner) == DW_TAG_array_type; hops++) {
        if (hops > HOPS || !die_type(&inner, &item))
            return NULL;
        inner = item;
    }
    return type_make(info, &item);
}

/* --- types by name --- */

const struct symbol_type *debuginfo_variable_type(struct debuginfo *info, const char *name, uint32_t line)
{
    const char *bare = strrchr(name, ':') ? strrchr(name, ':') + 1 : name;
    debuginfo_read_variables(info);
    array_each (&info->variables, struct variable, variable) {
        Dwarf_Die die = variable->die, type;
        const char *own;
        if ((own = dwarf_diename(&die)) && strcmp(own, bare) == 0 && die_number(&die, DW_AT_decl_line, 0) == line)
            return die_type(&die, &type) ? type_of_items(info, &type) : NULL;
    }
    return NULL;
}

/* Equal but for blanks, and for the word that says what it is. */
static bool same_type(const char *wanted, const char *scope, const char *name)
{
    static const char *const words[] = {"struct ", "class ", "union ", "enum ", "const "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(wanted, words[i], strlen(words[i])) == 0)
            wanted += strlen(words[i]);
    for (unsigned part = 0; part < 2; part++)
        for (const char *at = part ? name : scope; *at; at++) {
            if (*at == ' ')
                continue;
            while (*wanted == ' ')
                wanted++;
            if (*wanted++ != *at)
                return false;
        }
    return wanted[strspn(wanted, " ")] == '\0';
}

static const struct symbol_type *find_type(struct debuginfo *info, Dwarf_Die *parent, const char *name,
                                           const char *scope, int depth)
{
    Dwarf_Die die;
    if (depth > 8 || !die_child(parent, &die))
        return NULL;
    do {
        const char *own = dwarf_diename(&die);
        const struct symbol_type *made = NULL;
        switch (dwarf_tag(&die)) {
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_namespace:
            if (dwarf_tag(&die) == DW_TAG_namespace || (own && strstr(name, own))) { /* unnamed ones too */
                char inner[400];
                snprintf(inner, sizeof inner, "%s%s%s", scope, own ? own : "", own ? "::" : "");
                made = find_type(info, &die, name, inner, depth + 1);
            }
            __attribute__((fallthrough));
        case DW_TAG_base_type:
        case DW_TAG_typedef:
            if (!made && own && (same_type(name, scope, own) || same_type(name, "", own)))
                made = type_make(info, &die);
        }
        if (made)
            return made;
    } while (die_next(&die));
    return NULL;
}

/* --- types in units of their own --- */

/* Of a name what it is looked up by: Grid of ns::Grid<double>. */
static uint32_t key_of(struct debuginfo *info, const char *name)
{
    char text[TYPE_TEXT_MOST];
    size_t end = strcspn(name, "<"), begin = end;
    while (begin > 0 && name[begin - 1] != ':' && name[begin - 1] != ' ')
        begin--;
    snprintf(text, sizeof text, "%.*s", (int)(end - begin), name + begin);
    return strtab_add(symbols_names(info->symbols), text);
}

static void read_unit_types(struct debuginfo *info, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || !die_child(parent, &die))
        return;
    do {
        const char *name = dwarf_diename(&die);
        if (die_is_record(&die) && name && !dwarf_hasattr(&die, DW_AT_declaration)) {
            uint64_t *first = map64_insert(&info->unit_type_of, key_of(info, name), NULL);
            array_push(&info->unit_types, (struct unit_type){die, (uint32_t)*first});
            *first = info->unit_types.count;
        }
        if (die_is_record(&die) || dwarf_tag(&die) == DW_TAG_namespace)
            read_unit_types(info, &die, depth + 1);
    } while (die_next(&die));
}

/* NULL, too, where several have the name: which of them a unit means is not known. */
static const struct symbol_type *find_unit_type(struct debuginfo *info, const char *name)
{
    if (!info->unit_types_read)
        array_each (&info->type_units, Dwarf_Die, unit)
            read_unit_types(info, unit, 0);
    info->unit_types_read = true;
    const struct symbol_type *made = NULL;
    const uint64_t *first = info->type_units.count ? map64_find(&info->unit_type_of, key_of(info, name)) : NULL;
    for (uint64_t at = first ? *first : 0; at; at = info->unit_types.items[at - 1].next) {
        Dwarf_Die die = info->unit_types.items[at - 1].die;
        const char *own = dwarf_diename(&die);
        if (!same_type(name, type_scope(info, &die), own) && !same_type(name, "", own))
            continue;
        const struct symbol_type *found = type_make(info, &die);
        if (made && found != made)
            return NULL;
        made = found;
    }
    return made;
}

/* With link-time optimisation code is in one unit, and what it declares in others. Not where there are very many: reading all takes
 * longer than a name is worth. */
size_t type_units(const struct debuginfo *info)
{
    enum { MOST = 256 };
    return info->units.count <= MOST ? info->units.count : 0;
}

const struct symbol_type *debuginfo_named_type(struct debuginfo *info, uint64_t addr, const char *name)
{
    const struct owned_range *range = range_list_find(&info->unit_ranges, addr);
    if (!range)
        return NULL;
    const struct symbol_type *made = NULL;
    for (size_t i = 0; !made && i <= type_units(info); i++) {
        Dwarf_Die top = info->units.items[i ? i - 1 : range->owner].die;
        made = find_type(info, &top, name, "", 0);
        if (!made && i == 0)
            made = find_unit_type(info, name);
    }
    return made;
}
