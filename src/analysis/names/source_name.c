/* analysis/names/source_name.c - the name that a statement gives to what it allocates.
 *
 * A few lines around the one that is asked for are cut into words and statements. In the statement, the call that
 * allocates is looked for, and then what its value goes to: the left side of the last `=` before it; else the first
 * argument of calls that store through one (posix_memalign, an ALLOC macro); else the variable or member that is being
 * constructed; else the container before `.resize(`. C, C++ and Fortran are near enough to be read alike. Several names
 * on one line are those of as many calls, in order. */
#include "analysis/names/sources.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { ABOVE = 12, BELOW = 6, WORDS = 1024 };

struct word {
    const char *text;
    uint16_t size;
    int16_t depth; /* of parentheses and brackets around it */
    uint32_t line;
    bool name; /* an identifier or keyword */
};

struct words {
    struct word items[WORDS];
    size_t count;
    bool fortran;
};

struct found {
    char (*names)[SOURCE_NAME_MAX];
    size_t count;
};

/* Several calls in one statement (`a = b ? malloc(n) : calloc(n, 1)`) give one name. */
static void add(struct found *found, const char name[SOURCE_NAME_MAX])
{
    if (found->count < SOURCE_NAMES && (found->count == 0 || strcmp(found->names[found->count - 1], name) != 0))
        memcpy(found->names[found->count++], name, SOURCE_NAME_MAX);
}

static bool is(const struct word *word, const char *text)
{
    return word->size == strlen(text) && memcmp(word->text, text, word->size) == 0;
}

static bool is_one_of(const struct word *word, const char *const *texts)
{
    for (; *texts; texts++)
        if (is(word, *texts))
            return true;
    return false;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Behind a comment, a text or a blank at `at`; `at` itself when there is none. */
static const char *skip(const char *at, const char *end, bool fortran)
{
    if (isspace((unsigned char)*at))
        return at + 1;
    if (fortran && *at == '!') {
        while (at < end && *at != '\n')
            at++;
        return at;
    }
    if (!fortran && end - at > 1 && at[0] == '/' && at[1] == '/') {
        while (at < end && *at != '\n')
            at++;
        return at;
    }
    if (!fortran && end - at > 1 && at[0] == '/' && at[1] == '*') {
        const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
        return close ? close + 2 : end;
    }
    if (*at == '"' || *at == '\'') {
        char quote = *at++;
        while (at < end && *at != quote && *at != '\n')
            at += *at == '\\' && end - at > 1 && !fortran ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    return at;
}

static size_t operator_size(const char *at, const char *end)
{
    static const char *const operators[] = {"<<=", ">>=", "...", "->", "::", "==", "!=", "<=", ">=", "+=",
                                            "-=",  "*=",  "/=",  "%=", "|=", "&=", "^=", "&&", "||", "=>"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t size = strlen(operators[i]);
        if ((size_t)(end - at) >= size && memcmp(at, operators[i], size) == 0)
            return size;
    }
    return 1;
}

static void cut(struct words *words, const char *at, const char *end, uint32_t line)
{
    int16_t depth = 0;
    bool line_start = true;
    while (at < end && words->count < WORDS) {
        const char *next = skip(at, end, words->fortran);
        if (line_start && *at == '#' && !words->fortran) { /* a directive is no part of a statement */
            while (next < end && *next != '\n')
                next++;
        }
        if (next != at) {
            for (; at < next; at++) {
                line += *at == '\n';
                line_start |= *at == '\n';
            }
            if (words->fortran && at[-1] == '\n') {
                const struct word *last = words->count ? &words->items[words->count - 1] : NULL;
                if (last && is(last, "&"))
                    words->count--;
                else if (last && !is(last, ";"))
                    words->items[words->count++] = (struct word){.text = ";", .size = 1, .line = last->line};
                depth = last && is(last, "&") ? depth : 0;
            }
            continue;
        }
        line_start = false;
        struct word word = {.text = at, .line = line, .depth = depth, .name = name_char(*at)};
        size_t size = word.name ? 0 : operator_size(at, end);
        while (word.name && at + size < end && name_char(at[size]))
            size++;
        word.size = (uint16_t)(size < UINT16_MAX ? size : UINT16_MAX);
        if (*at == '(' || *at == '[') {
            depth++;
        } else if ((*at == ')' || *at == ']') && depth > 0) {
            word.depth = --depth;
        } else if (*at == '}' || *at == '{') {
            depth = 0; /* whatever the window began in is over; lambdas and initialisers too */
        }
        words->items[words->count++] = word;
        at += size;
    }
}

static const char *const control[] = {"if", "while", "for", "switch", "else", "do", "case", "default", NULL};

/* Whether a statement ends with word `i`: at `;`, a brace, a label, or behind `for (...)`. */
static bool ends(const struct words *words, size_t i)
{
    const struct word *word = &words->items[i];
    if (is(word, "{") || is(word, "}"))
        return true;
    if (word->depth == 0 && is(word, ";"))
        return true;
    if (is(word, "else") || is(word, "do"))
        return word->depth == 0 && !words->fortran;
    if (word->depth != 0 || !is(word, ")"))
        return false;
    size_t open = i;
    while (open > 0 && !(words->items[open].depth == 0 && is(&words->items[open], "(")))
        open--;
    if (open == 0 || !is_one_of(&words->items[open - 1], control))
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
    return is_one_of(word, words);
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
    if (is(word, "new") && !words->fortran)
        return true;
    bool called = i + 1 < last && (is(&words->items[i + 1], "(") || is(&words->items[i + 1], "<"));
    if (words->fortran)
        return called && word->size == 8 && strncasecmp(word->text, "allocate", 8) == 0;
    return called &&
           (ends_in(word, "alloc") || ends_in(word, "calloc") || ends_in(word, "alloc0") || ends_in(word, "memalign") ||
            is_one_of(word, others) || strncmp(word->text, "numa_alloc", 10) == 0);
}

static bool calls(const struct words *words, size_t i, size_t last)
{
    const struct word *word = &words->items[i];
    return word->name && !isdigit((unsigned char)*word->text) && !keyword(word) && i + 1 < last &&
           (is(&words->items[i + 1], "(") || is(&words->items[i + 1], "<"));
}

/* Words [first, last) without blanks, but where two names meet. False when they are too long for a name. */
static bool put(const struct words *words, size_t first, size_t last, char name[SOURCE_NAME_MAX])
{
    size_t used = 0;
    for (size_t i = first; i < last; i++) {
        const struct word *word = &words->items[i];
        bool blank = i > first && word->name && words->items[i - 1].name;
        if (used + blank + word->size >= SOURCE_NAME_MAX)
            return false;
        if (blank)
            name[used++] = ' ';
        memcpy(name + used, word->text, word->size);
        used += word->size;
    }
    name[used] = '\0';
    return used > 0;
}

/* The opening of the group that closes at `at`. */
static size_t opening(const struct words *words, size_t first, size_t at)
{
    int16_t depth = words->items[at].depth;
    while (at > first &&
           !(words->items[at].depth == depth && (is(&words->items[at], "(") || is(&words->items[at], "["))))
        at--;
    return at;
}

/* Where the expression that ends before `end` begins: s->basis, a[i][j], (*out)[i], Grid::all, grid%cells. */
static size_t expression(const struct words *words, size_t first, size_t end)
{
    size_t at = end;
    while (at > first) {
        const struct word *word = &words->items[at - 1];
        if (is(word, "]") || is(word, ")")) {
            at = opening(words, first, at - 1);
            bool behind_name = at > first && words->items[at - 1].name;
            if (is(&words->items[at], "(") && (!behind_name || is(&words->items[at + 1], "*")))
                return at; /* (*out)[i] */
        } else if (word->name) {
            at--;
            static const char *const joins[] = {".", "->", "::", "%", NULL};
            if (at == first || !is_one_of(&words->items[at - 1], joins))
                return at;
            at--; /* the join */
            const struct word *before = &words->items[at - (at > first)];
            if (at == first || !(before->name || is(before, "]") || is(before, ")")))
                return at + 1; /* .member = */
        } else {
            return at;
        }
    }
    return at;
}

/* The left side that ends before the `=` at `end`. */
static bool left_side(const struct words *words, size_t first, size_t end, char name[SOURCE_NAME_MAX])
{
    if (end > first && is(&words->items[first], "let")) { /* let mut v: Vec<u8> = */
        first += 1 + (first + 1 < end && is(&words->items[first + 1], "mut"));
        return first < end && put(words, first, first + 1, name);
    }
    size_t begin = expression(words, first, end), stars = begin;
    if (begin >= end || isdigit((unsigned char)*words->items[begin].text))
        return false;
    while (stars > first && is(&words->items[stars - 1], "*"))
        stars--;
    static const char *const types[] = {">", "&", "]", NULL};
    bool declared = stars > first && ((words->items[stars - 1].name && !is(&words->items[stars - 1], "return")) ||
                                      is_one_of(&words->items[stars - 1], types) ||
                                      (is(&words->items[stars - 1], ",") && stars < begin));
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
    while (at < last && !(words->items[at].depth == inside && is(&words->items[at], ",")) &&
           !(words->items[at].depth < inside))
        at++;
    return at;
}

/* What Fortran's allocate at `call` allocates, in order, each without its shape: a and b%c of allocate(a(n), b%c(n), stat=s),
 * x of allocate(real(8) :: x(n)). */
static void allocated(const struct words *words, size_t call, size_t last, struct found *found)
{
    int16_t inside = (int16_t)(words->items[call + 1].depth + 1);
    char name[SOURCE_NAME_MAX];
    for (size_t at = call + 2, end; at < last && words->items[at].depth >= inside; at = end + 1) {
        end = argument_end(words, at, last, inside);
        for (size_t i = at; i < end; i++)
            if (words->items[i].depth == inside && is(&words->items[i], "::"))
                at = i + 1;
        if (at + 1 < end && is(&words->items[at + 1], "="))
            continue; /* stat=, source= */
        size_t shape = end;
        if (end > at && is(&words->items[end - 1], ")"))
            shape = opening(words, at, end - 1);
        if (shape > at && put(words, at, shape, name))
            add(found, name);
    }
}

/* The first argument of the call whose name is at `call`: behind casts and `&`, up to the comma. */
static bool first_argument(const struct words *words, size_t call, size_t last, char name[SOURCE_NAME_MAX])
{
    size_t at = call + 2;
    int16_t inside = (int16_t)(words->items[call + 1].depth + 1);
    if (at >= last)
        return false;
    size_t end = argument_end(words, at, last, inside);
    while (at < end && is(&words->items[at], "(")) { /* a cast, or the argument in parentheses */
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
    bool address = at < end && is(&words->items[at], "&");
    at += address;
    if (at >= end || !words->items[at].name || keyword(&words->items[at]) ||
        isdigit((unsigned char)*words->items[at].text))
        return false;
    return expression(words, at, end) == at && put(words, at, end, name);
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
static bool constructed(const struct words *words, size_t first, size_t open, char name[SOURCE_NAME_MAX])
{
    if (open <= first || !words->items[open - 1].name || keyword(&words->items[open - 1]) || open - 1 <= first)
        return false;
    const struct word *before = &words->items[open - 2];
    static const char *const begins[] = {">", ":", ",", "*", "&", NULL};
    bool typed = (before->name && !is(before, "return") && !is(before, "new") && !is(before, "throw") &&
                  !is(before, "delete")) ||
                 is_one_of(before, begins);
    return typed && words->items[open].depth == 0 && put(words, open - 1, open, name);
}

/* `pvector<float> scores(g.num_nodes(), x)`: the variable that a statement declares with arguments, whatever they call. */
static bool declared(const struct words *words, size_t first, size_t last, char name[SOURCE_NAME_MAX])
{
    for (size_t i = first + 1; i + 1 < last; i++) {
        const struct word *word = &words->items[i], *before = word - 1;
        if (word->depth == 0 && is(word, "="))
            return false;
        bool typed = before->name || is(before, ">") || is(before, "*");
        if (word->name && word->depth == 0 && typed && is(word + 1, "("))
            return constructed(words, first, i + 1, name);
    }
    return false;
}

static bool statement_name(const struct words *words, size_t first, size_t last, size_t call,
                           char name[SOURCE_NAME_MAX])
{
    const struct word *word = &words->items[call];
    static const char *const by_argument[] = {"posix_memalign", "asprintf", "vasprintf", "getline", "getdelim", NULL};
    if (is_one_of(word, by_argument))
        return first_argument(words, call, last, name);
    for (size_t i = call; i-- > first;)
        if (is(&words->items[i], "=") && words->items[i].depth <= word->depth)
            return left_side(words, first, i, name);
    for (size_t i = call + 1; i-- > first;) {
        const struct word *at = &words->items[i];
        if (!at->name || i + 1 >= last || !is(&words->items[i + 1], "("))
            continue;
        if (i > first && (is(&words->items[i - 1], ".") || is(&words->items[i - 1], "->"))) {
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
                         struct found *found)
{
    const struct word *end = &words->items[last - 1];
    char name[SOURCE_NAME_MAX];
    if (near == ANY_CALL && last - first > 1 && is(end, "{") && end->depth == 0 && is(end - 1, ")"))
        return; /* the head of a function */
    if (near == ANY_CALL && !words->fortran && words->items[first].line == line && declared(words, first, last, name)) {
        add(found, name);
        return;
    }
    for (size_t i = first; i < last; i++) {
        bool on_line = words->items[i].line == line;
        if (near == IN_STATEMENT ? end->line < line : !on_line)
            continue;
        if (near == ANY_CALL ? !calls(words, i, last) : !allocates(words, i, last))
            continue;
        if (words->fortran && near != ANY_CALL)
            allocated(words, i, last, found);
        else if (statement_name(words, first, last, i, name))
            add(found, name);
    }
}

size_t source_text_names(const char *text, size_t size, uint32_t line, bool fortran,
                         char names[SOURCE_NAMES][SOURCE_NAME_MAX])
{
    struct words words = {.fortran = fortran};
    struct found found = {.names = names};
    const char *end = text + size, *from = text, *to = text;
    uint32_t begin = line > ABOVE ? line - ABOVE : 1, at = 1;
    if (line == 0)
        return 0;
    for (const char *c = text; c < end && at <= line + BELOW; c++) {
        if (*c != '\n')
            continue;
        at++;
        if (at == begin)
            from = c + 1;
        to = c + 1;
    }
    if (at <= line + BELOW)
        to = end;
    if (at < begin)
        return 0;
    cut(&words, from, to, begin);
    for (enum near near = ON_LINE; near <= ANY_CALL && found.count == 0; near++) {
        for (size_t first = 0, i = 0; i < words.count; i++) {
            if (!ends(&words, i) && i + 1 < words.count)
                continue;
            if (words.items[first].line <= line && words.items[i].line >= line)
                in_statement(&words, first, i + 1, line, near, &found);
            first = i + 1;
        }
    }
    return found.count;
}

bool source_text_name(const char *text, size_t size, uint32_t line, bool fortran, struct source_twin twin,
                      char name[SOURCE_NAME_MAX])
{
    char names[SOURCE_NAMES][SOURCE_NAME_MAX];
    size_t count = source_text_names(text, size, line, fortran, names);
    uint32_t which = count > 1 && twin.of == count ? twin.number : 0;
    if (count == 0 || (count > 1 && (twin.of != count || twin.number >= count)))
        return false;
    memcpy(name, names[which], SOURCE_NAME_MAX);
    return true;
}
