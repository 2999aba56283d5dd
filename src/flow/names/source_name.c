/* flow/names/source_name.c - the name that a statement gives to what it allocates.
 *
 * A few lines around the one that is asked for are cut into words and statements. In the statement, the call that
 * allocates is looked for, and then what its value goes to: the left side of the last `=` before it; else the first
 * argument of calls that store through one (posix_memalign, an ALLOC macro); else the variable or member that is being
 * constructed; else the container before `.resize(`. C, C++ and Fortran are near enough to be read alike. Several names
 * on one line are those of as many calls, in order. */
#include "flow/names/source_found.h"
#include "flow/names/source_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { AROUND = 12, AROUND_FORTRAN = 40 }; /* lines: an allocate statement may go on over many */

/* Several calls in one statement (`a = b ? malloc(n) : calloc(n, 1)`) give one name. */
static void add(struct source_found *found, const struct source_name *name)
{
    if (found->count < SOURCE_NAMES &&
        (found->count == 0 || strcmp(found->names[found->count - 1].text, name->text) != 0))
        found->names[found->count++] = *name;
}

static const char *const control[] = {"if", "while", "for", "switch", "else", "do", "case", "default", NULL};

/* Whether a statement ends with word `i`: at `;`, a brace, a label, or behind `for (...)`. */
static bool ends(const struct words *words, size_t i)
{
    const struct word *word = &words->items[i];
    if (word_is(word, "{") || word_is(word, "}"))
        return true;
    if (word->depth == 0 && word_is(word, ";"))
        return true;
    if (word_is(word, "else") || word_is(word, "do"))
        return word->depth == 0 && !words->fortran;
    if (word->depth != 0 || !word_is(word, ")"))
        return false;
    size_t open = i;
    while (open > 0 && !(words->items[open].depth == 0 && word_is(&words->items[open], "(")))
        open--;
    if (open == 0 || !word_is_one_of(&words->items[open - 1], control))
        return false;
    /* The header is a statement too when the allocation is in it: if ((p = malloc(n)) == NULL) */
    return true;
}

static bool keyword(const struct word *word)
{
    static const char *const words[] = {
        "if",      "while",  "for",   "switch",   "return", "sizeof", "case",   "do",     "else",  "throw",
        "alignof", "static", "const", "struct",   "union",  "enum",   "delete", "double", "float", "int",
        "long",    "char",   "void",  "unsigned", "short",  "signed", "auto",   "bool",   NULL};
    return word_is_one_of(word, words);
}

static bool ends_in(const struct word *word, const char *end)
{
    size_t size = strlen(end);
    return word->size >= size && strncasecmp(word->text + word->size - size, end, size) == 0;
}

static bool allocates(const struct words *words, size_t i, size_t last)
{
    const struct word *word = &words->items[i];
    static const char *const others[] = {"mmap",     "strdup",         "strndup", "valloc",      "aligned",
                                         "memalign", "posix_memalign", "shmat",   "make_unique", "make_shared",
                                         "allocate", "resize",         "reserve", NULL};
    if (!word->name)
        return false;
    if (word_is(word, "new") && !words->fortran)
        return true;
    bool called = i + 1 < last && (word_is(&words->items[i + 1], "(") || word_is(&words->items[i + 1], "<"));
    if (words->fortran)
        return called && word->size == 8 && strncasecmp(word->text, "allocate", 8) == 0;
    return called &&
           (ends_in(word, "alloc") || ends_in(word, "calloc") || ends_in(word, "alloc0") || ends_in(word, "memalign") ||
            word_is_one_of(word, others) || strncmp(word->text, "numa_alloc", 10) == 0);
}

static bool calls(const struct words *words, size_t i, size_t last)
{
    const struct word *word = &words->items[i];
    return word->name && !isdigit((unsigned char)*word->text) && !keyword(word) && i + 1 < last &&
           (word_is(&words->items[i + 1], "(") || word_is(&words->items[i + 1], "<"));
}

/* Words [first, last) without blanks, but where two names meet. False when they are too long for a name. */
static bool put(const struct words *words, size_t first, size_t last, struct source_name *name)
{
    size_t used = 0;
    for (size_t i = first; i < last; i++) {
        const struct word *word = &words->items[i];
        bool blank = i > first && word->name && words->items[i - 1].name;
        if (used + blank + word->size >= SOURCE_NAME_MAX)
            return false;
        if (blank)
            name->text[used++] = ' ';
        memcpy(name->text + used, word->text, word->size);
        used += word->size;
    }
    name->text[used] = '\0';
    if (used) {
        name->line = words->items[first].line;
        name->column = words->items[first].column;
    }
    return used > 0;
}

/* The opening of the group that closes at `at`. */
static size_t opening(const struct words *words, size_t first, size_t at)
{
    int16_t depth = words->items[at].depth;
    while (at > first &&
           !(words->items[at].depth == depth && (word_is(&words->items[at], "(") || word_is(&words->items[at], "["))))
        at--;
    return at;
}

/* Where the expression that ends before `end` begins: s->basis, a[i][j], (*out)[i], Grid::all, grid%cells. */
static size_t expression(const struct words *words, size_t first, size_t end)
{
    size_t at = end;
    while (at > first) {
        const struct word *word = &words->items[at - 1];
        if (word_is(word, "]") || word_is(word, ")")) {
            at = opening(words, first, at - 1);
            bool behind_name = at > first && words->items[at - 1].name;
            if (word_is(&words->items[at], "(") && (!behind_name || word_is(&words->items[at + 1], "*")))
                return at; /* (*out)[i] */
        } else if (word->name) {
            at--;
            static const char *const joins[] = {".", "->", "::", "%", NULL};
            if (at == first || !word_is_one_of(&words->items[at - 1], joins))
                return at;
            at--; /* the join */
            const struct word *before = &words->items[at - (at > first)];
            if (at == first || !(before->name || word_is(before, "]") || word_is(before, ")")))
                return at + 1; /* .member = */
        } else {
            return at;
        }
    }
    return at;
}

/* The left side that ends before the `=` at `end`. */
static bool left_side(const struct words *words, size_t first, size_t end, struct source_name *name)
{
    if (end > first && word_is(&words->items[first], "let")) { /* let mut v: Vec<u8> = */
        first += 1 + (first + 1 < end && word_is(&words->items[first + 1], "mut"));
        return first < end && put(words, first, first + 1, name);
    }
    size_t begin = expression(words, first, end), stars = begin;
    if (begin >= end || isdigit((unsigned char)*words->items[begin].text))
        return false;
    while (stars > first && word_is(&words->items[stars - 1], "*"))
        stars--;
    static const char *const types[] = {">", "&", "]", NULL};
    bool declared = stars > first && ((words->items[stars - 1].name && !word_is(&words->items[stars - 1], "return")) ||
                                      word_is_one_of(&words->items[stars - 1], types) ||
                                      (word_is(&words->items[stars - 1], ",") && stars < begin));
    if (!declared)
        return put(words, stars, end, name);
    for (size_t i = begin; i < end; i++) /* its dimensions are no part of its name: (*grid)[N] */
        if (words->items[i].name && !isdigit((unsigned char)*words->items[i].text))
            return put(words, i, i + 1, name);
    return false;
}

/* Where the argument that begins at `at` ends, in the call whose parenthesis is `inside` deep. */
static size_t argument_end(const struct words *words, size_t at, size_t last, int16_t inside)
{
    while (at < last && !(words->items[at].depth == inside && word_is(&words->items[at], ",")) &&
           !(words->items[at].depth < inside))
        at++;
    return at;
}

/* What Fortran's allocate at `call` allocates, in order, each without its shape: a and b%c of allocate(a(n), b%c(n), stat=s),
 * x of allocate(real(8) :: x(n)). */
static void allocated(const struct words *words, size_t call, size_t last, struct source_found *found)
{
    int16_t inside = (int16_t)(words->items[call + 1].depth + 1);
    struct source_name name;
    for (size_t at = call + 2, end; at < last && words->items[at].depth >= inside; at = end + 1) {
        end = argument_end(words, at, last, inside);
        for (size_t i = at; i < end; i++)
            if (words->items[i].depth == inside && word_is(&words->items[i], "::"))
                at = i + 1;
        if (at + 1 < end && word_is(&words->items[at + 1], "="))
            continue; /* stat=, source= */
        size_t shape = end;
        if (end > at && word_is(&words->items[end - 1], ")"))
            shape = opening(words, at, end - 1);
        if (shape > at && put(words, at, shape, &name))
            add(found, &name);
    }
}

/* The first argument of the call whose name is at `call`: behind casts and `&`, up to the comma. */
static bool first_argument(const struct words *words, size_t call, size_t last, struct source_name *name)
{
    size_t at = call + 2;
    int16_t inside = (int16_t)(words->items[call + 1].depth + 1);
    if (at >= last)
        return false;
    size_t end = argument_end(words, at, last, inside);
    while (at < end && word_is(&words->items[at], "(")) { /* a cast, or the argument in parentheses */
        size_t close = at + 1;
        while (close < end && words->items[close].depth > words->items[at].depth)
            close++;
        if (close + 1 >= end) {
            at++;
            end = close;
        } else {
            at = close + 1;
        }
    }
    bool address = at < end && word_is(&words->items[at], "&");
    at += address;
    if (at >= end || !words->items[at].name || keyword(&words->items[at]) ||
        isdigit((unsigned char)*words->items[at].text))
        return false;
    return expression(words, at, end) == at && put(words, at, end, name);
}

/* What a statement that is nothing but a call with several arguments fills: `m` of `matrix_init(&m, n)`, `*rc` of `init(*rc, n)`. */
static bool filled(const struct words *words, size_t call, size_t last, struct source_name *name)
{
    size_t at = call + 2;
    if (!word_is(&words->items[call + 1], "(") || at >= last)
        return false;
    int16_t inside = (int16_t)(words->items[call + 1].depth + 1);
    size_t end = argument_end(words, at, last, inside);
    if (end >= last || !word_is(&words->items[end], ","))
        return false;
    bool address = word_is(&words->items[at], "&");
    size_t begin = at + address;
    for (at = begin; at < end && word_is(&words->items[at], "*");)
        at++;
    if (at >= end || !words->items[at].name || keyword(&words->items[at]) ||
        isdigit((unsigned char)*words->items[at].text))
        return false;
    for (size_t i = at; i < end; i++)
        if (word_is(&words->items[i], "("))
            return false;
    return expression(words, at, end) == at && put(words, begin, end, name);
}

static bool upper(const struct word *word)
{
    bool letter = false;
    for (size_t i = 0; i < word->size; i++) {
        if (islower((unsigned char)word->text[i]))
            return false;
        letter |= isupper((unsigned char)word->text[i]) != 0;
    }
    return letter && word->size > 1;
}

/* `std::vector<double> v(n)`, `: data_(new double[n])`: what is being constructed with the parenthesis at `open`. */
static bool constructed(const struct words *words, size_t first, size_t open, struct source_name *name)
{
    if (open <= first || !words->items[open - 1].name || keyword(&words->items[open - 1]) || open - 1 <= first)
        return false;
    const struct word *before = &words->items[open - 2];
    static const char *const begins[] = {">", ":", ",", "*", "&", NULL};
    for (size_t i = first; i < open && word_is(before, ":"); i++)
        if (word_is(&words->items[i], "?"))
            return false;
    bool typed = (before->name && !word_is(before, "return") && !word_is(before, "new") && !word_is(before, "throw") &&
                  !word_is(before, "delete")) ||
                 word_is_one_of(before, begins);
    return typed && words->items[open].depth == 0 && put(words, open - 1, open, name);
}

/* `pvector<float> scores(g.num_nodes(), x), next(n)`: the variables that a statement declares with arguments, whatever they
 * call. */
static bool declared(const struct words *words, size_t first, size_t last, struct source_found *found)
{
    struct source_name name;
    bool any = false;
    for (size_t i = first + 1; i + 1 < last; i++) {
        const struct word *word = &words->items[i], *before = word - 1;
        if (word->depth == 0 && word_is(word, "="))
            break;
        bool typed = before->name || word_is(before, ">") || word_is(before, "*") || (any && word_is(before, ","));
        if (!word->name || word->depth != 0 || !typed || !word_is(word + 1, "("))
            continue;
        if (!constructed(words, first, i + 1, &name))
            break;
        add(found, &name);
        any = true;
    }
    return any;
}

/* `Grid::Grid(int n) : cells(n), rows{n}`: the members that a constructor's list gives values on the line. */
static bool initialised(const struct words *words, size_t first, size_t last, uint32_t line, struct source_found *found)
{
    static const char *const before[] = {":", ",", NULL};
    struct source_name name;
    size_t list = first, count = found->count;
    if (!word_is(&words->items[first], ",")) /* what follows a member in braces begins so */
        while (list < last && !(list > first && word_is(&words->items[list], ":") && words->items[list].depth == 0 &&
                                word_is(&words->items[list - 1], ")")))
            if (word_is(&words->items[list++], "?"))
                return false;
    for (size_t i = list + 1; i + 1 < last; i++) {
        const struct word *word = &words->items[i];
        bool opens = word_is(word + 1, "(") || (word_is(word + 1, "{") && i + 2 == last);
        if (word->name && word->depth == 0 && word->line == line && opens && word_is_one_of(word - 1, before) &&
            put(words, i, i + 1, &name))
            add(found, &name);
    }
    return found->count > count;
}

static bool statement_name(const struct words *words, size_t first, size_t last, size_t call, struct source_name *name)
{
    const struct word *word = &words->items[call];
    static const char *const by_argument[] = {"posix_memalign", "asprintf", "vasprintf", "getline", "getdelim", NULL};
    if (word_is_one_of(word, by_argument))
        return first_argument(words, call, last, name);
    for (size_t i = call; i-- > first;)
        if (word_is(&words->items[i], "=") && words->items[i].depth <= word->depth)
            return left_side(words, first, i, name);
    for (size_t i = call + 1; i-- > first;) {
        const struct word *at = &words->items[i];
        if (!at->name || i + 1 >= last || !word_is(&words->items[i + 1], "("))
            continue;
        if (i > first && (word_is(&words->items[i - 1], ".") || word_is(&words->items[i - 1], "->"))) {
            size_t begin = expression(words, first, i - 1);
            return begin < i - 1 && put(words, begin, i - 1, name);
        }
        if (constructed(words, first, i + 1, name))
            return true;
        if (upper(at) && first_argument(words, i, last, name))
            return true;
    }
    return false;
}

enum near { ON_LINE, IN_STATEMENT, ANY_CALL }; /* an allocation on the line; in its statement; any call on the line */

static void in_statement(const struct words *words, size_t first, size_t last, uint32_t line, enum near near,
                         struct source_found *found)
{
    const struct word *end = &words->items[last - 1];
    struct source_name name;
    if (found->filled) {
        for (size_t i = first; i < last; i++)
            if (words->items[i].line == line && near == ANY_CALL && calls(words, i, last) && i + 2 < last &&
                word_is(&words->items[i + 2], "&") && filled(words, i, last, &name))
                add(found, &name);
        return;
    }
    if ((near == ANY_CALL || (near == ON_LINE && found->columns)) && !words->fortran &&
        initialised(words, first, last, line, found))
        return;
    if (near == ANY_CALL && last - first > 1 && word_is(end, "{") && end->depth == 0 && word_is(end - 1, ")"))
        return; /* the head of a function */
    if (near == ANY_CALL && !words->fortran && words->items[first].line == line && declared(words, first, last, found))
        return;
    for (size_t i = first; i < last; i++) {
        bool on_line = words->items[i].line == line;
        if (near == IN_STATEMENT ? end->line < line : !on_line)
            continue;
        if (near == ANY_CALL ? !calls(words, i, last) : !allocates(words, i, last))
            continue;
        if (words->fortran && near != ANY_CALL)
            allocated(words, i, last, found);
        else if (statement_name(words, first, last, i, &name) ||
                 (near == ANY_CALL && !words->fortran && !found->library && i == first &&
                  filled(words, i, last, &name)))
            add(found, &name);
    }
}

/* The last name that begins before the place of the call, else the first: compilers give a call the column of its name, of its
 * parenthesis or of what it initialises. */
static size_t name_before(const struct source_found *found, uint32_t line, uint32_t column)
{
    size_t which = 0;
    for (size_t i = 1; i < found->count; i++) {
        const struct source_name *name = &found->names[i];
        if (name->line < line || (name->line == line && name->column <= column))
            which = i;
    }
    return which;
}

/* The lines around the one that is asked for, as words; false when the text does not reach it. */
static bool cut_around(struct words *words, const char *text, size_t size, uint32_t line)
{
    uint32_t around = words->fortran ? AROUND_FORTRAN : AROUND;
    const char *end = text + size, *from = text, *to = text;
    uint32_t begin = line > around ? line - around : 1, at = 1;
    if (line == 0 || line > UINT32_MAX - around)
        return false;
    const char *newline;
    while (at <= line + around && to < end && (newline = memchr(to, '\n', (size_t)(end - to)))) {
        to = newline + 1;
        if (++at == begin)
            from = to;
    }
    if (at <= line + around)
        to = end;
    if (at < begin)
        return false;
    words_cut(words, from, to, begin, line);
    return true;
}

/* The next statement that is on the line, from word `*first` on: [*first, *last). */
static bool next_statement(const struct words *words, uint32_t line, size_t *first, size_t *last)
{
    for (size_t i = *first; i < words->count; i++) {
        if (!ends(words, i) && i + 1 < words->count)
            continue;
        *last = i + 1;
        if (words->items[*first].line <= line && words->items[i].line >= line)
            return true;
        *first = i + 1;
    }
    return false;
}

void source_find(const char *text, size_t size, enum source_form form, const struct source_place *place,
                 struct source_found *found)
{
    struct words words = {.fortran = form != SOURCE_C, .fixed = form == SOURCE_FIXED};
    found->fortran = words.fortran;
    found->filled = place->filled;
    found->library = place->library;
    found->columns = place->column > 0;
    found->count = 0;
    if (!cut_around(&words, text, size, place->line))
        return;
    for (enum near near = ON_LINE; near <= ANY_CALL && found->count == 0; near++)
        for (size_t first = 0, last; next_statement(&words, place->line, &first, &last); first = last)
            in_statement(&words, first, last, place->line, near, found);
}

bool source_choose(const struct source_found *found, const struct source_place *place, char name[SOURCE_NAME_MAX])
{
    size_t which = 0;
    if (found->count == 0)
        return false;
    if (found->count > 1 && place->column && !found->fortran)
        which = name_before(found, place->line, place->column);
    else if (found->count > 1 && (place->twins != found->count || (which = place->twin) >= found->count))
        return false;
    memcpy(name, found->names[which].text, SOURCE_NAME_MAX);
    return true;
}

bool source_text_name(const char *text, size_t size, enum source_form form, const struct source_place *place,
                      char name[SOURCE_NAME_MAX])
{
    struct source_found found;
    if (form == SOURCE_SCRIPT)
        return source_script_name(text, size, place->line, name);
    source_find(text, size, form, place, &found);
    return source_choose(&found, place, name);
}

size_t source_text_names(const char *text, size_t size, uint32_t line, char names[][SOURCE_NAME_MAX], size_t most)
{
    static const char *const joins[] = {".", "->", "::", NULL};
    struct words words = {0};
    struct source_name name;
    size_t count = 0;
    if (!cut_around(&words, text, size, line))
        return 0;
    for (size_t first = 0, last; next_statement(&words, line, &first, &last); first = last) {
        for (size_t i = first; i + 1 < last && count < most; i++) {
            const struct word *after = &words.items[i + 1];
            bool ended = !word_is_one_of(after, joins);
            bool called = word_is(after, "(") && i > first && word_is_one_of(after - 2, joins);
            size_t end = called ? i - 1 : i + 1; /* `order` of order.begin() */
            size_t begin = expression(&words, first, end);
            if ((words.items[i].name || word_is(&words.items[i], "]")) && ended && begin < end &&
                words.items[begin].name && !keyword(&words.items[begin]) && put(&words, begin, end, &name))
                memcpy(names[count++], name.text, SOURCE_NAME_MAX);
        }
    }
    return count;
}
