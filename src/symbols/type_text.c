/* symbols/type_text.c - types as text: as C and C++ declare them. */
#include "symbols/type_internal.h"

#include "base/bisect.h"
#include "base/strtab.h"
#include "symbols/symbols_internal.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 32 };

static void note_scope(struct unit_scopes *scopes, const Dwarf_Die *from, const char *text)
{
    array_push(&scopes->items, (struct scope){die_key(from), text});
}

/* Where the scopes of namespaces and classes begin and end, in the order of the entries. A damaged file's siblings may lead into what
 * was seen: the walk ends there. */
static void walk_scopes(struct debuginfo *info, struct unit_scopes *scopes, Dwarf_Die *parent, const char *scope,
                        int depth)
{
    Dwarf_Die die, inner;
    bool left = false;
    if (!die_child(parent, &die))
        return;
    do {
        if (die_key(&die) <= scopes->seen)
            return;
        scopes->seen = die_key(&die);
        if (left)
            note_scope(scopes, &die, scope);
        left = (dwarf_tag(&die) == DW_TAG_namespace || die_is_record(&die)) && depth < HOPS && die_child(&die, &inner);
        if (!left)
            continue;
        const char *name = dwarf_diename(&die);
        char text[TYPE_TEXT_MOST];
        int length = name ? snprintf(text, sizeof text, "%s%s::", scope, name) : TYPE_TEXT_MOST;
        const char *own = length < TYPE_TEXT_MOST ? strtab_intern(symbols_names(info->symbols), text) : scope;
        note_scope(scopes, &inner, own);
        walk_scopes(info, scopes, &die, own, depth + 1);
    } while (die_next(&die));
}

/* "std::" of std::vector: the namespaces and classes around it. Each unit is walked once: types are asked for by the thousand. */
const char *type_scope(struct debuginfo *info, const Dwarf_Die *type)
{
    Dwarf_Attribute reference;
    Dwarf_Die die = *type, unit;
    bool is_new;
    if (dwarf_attr(&die, DW_AT_specification, &reference)) /* in type units what is in a namespace is declared there */
        dwarf_formref_die(&reference, &die);
    if (!dwarf_diecu(&die, &unit, NULL, NULL))
        return "";
    uint64_t *place = map64_insert(&info->scopes_of_unit, die_key(&unit), &is_new);
    if (is_new) {
        struct unit_scopes scopes = {0};
        walk_scopes(info, &scopes, &unit, "", 0);
        *place = info->unit_scopes.count;
        array_push(&info->unit_scopes, scopes);
    }
    const struct unit_scopes *scopes = &info->unit_scopes.items[*place];
    size_t behind = bisect(scopes->items.count, i, scopes->items.items[i].from <= die_key(&die));
    return behind ? scopes->items.items[behind - 1].text : "";
}

static char *cut_out(char *at, size_t length)
{
    memmove(at, at + length, strlen(at + length) + 1);
    return at;
}

/* Without what nobody writes: allocators, traits, versions of the library, blanks between closing brackets. */
void debuginfo_tidy_type(char *text)
{
    static const char *const arguments[] = {", std::allocator<", ", std::char_traits<", ", std::default_delete<",
                                            ", std::less<",      ", std::hash<",        ", std::equal_to<"};
    static const char *const words[] = {"__cxx11::", "__1::"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (char *at = text; (at = strstr(at, words[i]));)
            cut_out(at, strlen(words[i]));
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        for (char *at = text; (at = strstr(at, arguments[i]));) {
            size_t length = strlen(arguments[i]);
            for (int depth = 1; depth > 0 && at[length]; length++)
                depth += at[length] == '<' ? 1 : at[length] == '>' ? -1 : 0;
            cut_out(at, length);
        }
    }
    for (char *at = text; (at = strstr(at, " >"));)
        cut_out(at, 1);
    for (char *at = text; (at = strstr(at, "std::basic_string<char>"));) {
        cut_out(at + strlen("std::"), strlen("basic_"));
        cut_out(at + strlen("std::string"), strlen("<char>"));
        at++;
    }
}

static void append(char *to, size_t size, const char *text)
{
    size_t length = strlen(to);
    snprintf(to + length, size - length, "%s", text);
}

static void prepend(char *to, size_t size, const char *text)
{
    size_t length = strlen(to), added = strlen(text);
    if (length + added >= size)
        return;
    memmove(to + added, to, length + 1);
    while (added--)
        to[added] = text[added];
}

static void dimensions(Dwarf_Die *array, struct type_words *words)
{
    Dwarf_Die range;
    if (!die_child(array, &range))
        return;
    do {
        char text[32] = "[]";
        uint64_t count = die_number(&range, DW_AT_count, 0), high = die_number(&range, DW_AT_upper_bound, UINT64_MAX);
        if (dwarf_tag(&range) != DW_TAG_subrange_type)
            continue;
        if (count == 0 && high < UINT32_MAX)
            count = high + 1;
        if (count)
            snprintf(text, sizeof text, "[%lu]", (unsigned long)count);
        append(words->after, sizeof words->after, text);
    } while (die_next(&range));
}

static const char *qualifier_of(Dwarf_Die *type)
{
    int tag = dwarf_tag(type);
    return tag == DW_TAG_const_type      ? "const "
           : tag == DW_TAG_volatile_type ? "volatile "
           : tag == DW_TAG_atomic_type   ? "_Atomic "
           : tag != DW_TAG_restrict_type ? NULL
           : die_is_cplusplus(type)      ? "__restrict "
                                         : "restrict ";
}

static const char *pointer_of(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_ptr_to_member_type ? "*"
           : tag == DW_TAG_reference_type                                 ? "&"
           : tag == DW_TAG_rvalue_reference_type                          ? "&&"
                                                                          : NULL;
}

const char *type_keyword(int tag)
{
    return tag == DW_TAG_structure_type ? "struct"
           : tag == DW_TAG_class_type   ? "class"
           : tag == DW_TAG_union_type   ? "union"
                                        : "";
}

bool type_is_library(struct debuginfo *info, Dwarf_Die *type)
{
    return strncmp(type_text_of(info, type), "std::", 5) == 0;
}

/* Of the program's own types `scoped` decides whether they have their scope; a library's always do. */
static void base_name(struct debuginfo *info, Dwarf_Die *type, bool scoped, struct type_words *words)
{
    int tag = dwarf_tag(type);
    const char *name = dwarf_diename(type), *keyword = tag == DW_TAG_enumeration_type ? "enum" : type_keyword(tag);
    if (name && scoped) {
        snprintf(words->before, sizeof words->before, "%s%s", type_scope(info, type), name);
        debuginfo_tidy_type(words->before);
        return;
    }
    if (name && die_is_cplusplus(type)) {
        name = type_is_library(info, type) ? type_text_of(info, type) : name;
        keyword = "";
    }
    snprintf(words->before, sizeof words->before, "%s%s%s", keyword, name && *keyword ? " " : "", name ? name : "");
}

/* From the name outwards: what is declared is an array of, or a pointer to, ... `pointers` is what stands before the name. */
void type_words_make(struct debuginfo *info, const Dwarf_Die *die, bool scoped, struct type_words *words)
{
    Dwarf_Die type = *die;
    char pointers[64] = "", qualifiers[64] = "";
    bool ends = false, behind_pointer = false;
    *words = (struct type_words){0};
    for (int hops = 0; !ends && hops < HOPS; hops++) {
        int tag = dwarf_tag(&type);
        const char *qualifier = qualifier_of(&type), *pointer = pointer_of(tag);
        bool is_array = tag == DW_TAG_array_type;
        if (qualifier) {
            append(qualifiers, sizeof qualifiers, qualifier);
        } else if (pointer) {
            prepend(pointers, sizeof pointers, qualifiers);
            prepend(pointers, sizeof pointers, pointer);
            *qualifiers = '\0';
            behind_pointer = true;
        } else if (is_array || tag == DW_TAG_subroutine_type) {
            if (behind_pointer) {
                prepend(pointers, sizeof pointers, "(");
                append(words->after, sizeof words->after, ")");
            }
            if (is_array)
                dimensions(&type, words);
            else
                append(words->after, sizeof words->after, "()");
            behind_pointer = false;
        } else {
            base_name(info, &type, scoped, words);
            break;
        }
        ends = !die_type(&type, &type);
    }
    if (!*words->before)
        append(words->before, sizeof words->before, "void");
    prepend(words->before, sizeof words->before, qualifiers);
    append(words->before, sizeof words->before, " ");
    append(words->before, sizeof words->before, pointers);
}

const char *type_words_join(struct type_words *words)
{
    size_t length = strlen(words->before);
    while (length && words->before[length - 1] == ' ')
        words->before[--length] = '\0';
    append(words->before, sizeof words->before, words->after);
    return words->before;
}

const char *type_text_of(struct debuginfo *info, Dwarf_Die *type)
{
    bool is_new;
    uint64_t *place = map64_insert(&info->type_texts, die_key(type), &is_new);
    if (is_new) {
        struct type_words words;
        type_words_make(info, type, true, &words);
        *place = (uint64_t)(uintptr_t)strtab_intern(symbols_names(info->symbols), type_words_join(&words));
    }
    return (const char *)(uintptr_t)*place;
}
