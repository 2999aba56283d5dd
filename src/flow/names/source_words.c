#include "flow/names/source_words.h"

#include <ctype.h>
#include <string.h>

bool word_is_one_of(const struct word *word, const char *const *texts)
{
    for (; *texts; texts++)
        if (word_is(word, *texts))
            return true;
    return false;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *line_end(const char *at, const char *end)
{
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return newline ? newline : end;
}

/* Behind a comment, a text or a blank at `at`; `at` itself when there is none. */
static const char *skip(const char *at, const char *end, bool fortran)
{
    if (isspace((unsigned char)*at))
        return at + 1;
    if (fortran ? *at == '!' : end - at > 1 && at[0] == '/' && at[1] == '/')
        return line_end(at, end);
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

/* --- which branch of an #if --- */

enum { NESTED = 8, LINES = 64 };

struct branch {        /* an #if, its branches up to now */
    uint32_t start;    /* line of the branch that is open */
    uint64_t all, own; /* lines of its branches, and of the one that the line asked for is in; a bit for each */
};

static uint64_t lines_between(uint32_t first, uint32_t last)
{
    uint64_t bits = 0;
    for (uint32_t i = first; i < last && i < LINES; i++)
        bits |= 1ull << i;
    return bits;
}

/* Closes the open branch before line `at`; lines count from the window's first, as `asked` does. */
static void close_branch(struct branch *branch, uint32_t at, uint32_t asked)
{
    uint64_t bits = lines_between(branch->start, at);
    branch->all |= bits;
    if (bits & lines_between(asked, asked + 1))
        branch->own = bits;
    branch->start = at;
}

static uint64_t dead_of(const struct branch *branch)
{
    return branch->own ? branch->all & ~branch->own : 0;
}

/* A bit for each line that is in another branch than the line that is asked for. */
static uint64_t dead_lines(const char *text, const char *end, uint32_t asked)
{
    struct branch open[NESTED] = {{0}};
    unsigned depth = 0;
    uint64_t dead = 0;
    uint32_t line = 0;
    for (const char *at = text; at < end && line < LINES; line++) {
        const char *next = line_end(at, end);
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        bool directive = at < end && *at == '#';
        for (at += directive; directive && at < end && (*at == ' ' || *at == '\t');)
            at++;
        size_t size = directive ? (size_t)(end - at) : 0;
        if (size > 2 && memcmp(at, "if", 2) == 0) {
            if (depth < NESTED)
                open[depth++] = (struct branch){.start = line};
        } else if (size > 4 && (memcmp(at, "else", 4) == 0 || memcmp(at, "elif", 4) == 0)) {
            if (depth == 0) /* its #if is above */
                open[depth++] = (struct branch){.start = 0};
            close_branch(&open[depth - 1], line, asked);
        } else if (size > 4 && memcmp(at, "endif", 5) == 0 && depth > 0) {
            close_branch(&open[depth - 1], line, asked);
            dead |= dead_of(&open[--depth]);
        }
        at = next < end ? next + 1 : end;
    }
    while (depth > 0) {
        close_branch(&open[depth - 1], line, asked);
        dead |= dead_of(&open[--depth]);
    }
    return dead;
}

/* --- Fortran --- */

/* In fixed form, where the statement of the line at `at` begins when the line continues the one before; else NULL. */
static const char *continued(const char *at, const char *end)
{
    enum { MARK = 5 };
    if (line_end(at, end) - at <= MARK)
        return NULL;
    for (unsigned i = 0; i < MARK; i++)
        if (at[i] != ' ')
            return NULL;
    return at[MARK] != ' ' && at[MARK] != '0' && at[MARK] != '!' ? at + MARK + 1 : NULL;
}

static bool fixed_comment(const char *at, const char *end)
{
    const char *c = at, *stop = line_end(at, end);
    if (at < stop && strchr("cCdD*!", *at))
        return true;
    while (c < stop && isspace((unsigned char)*c))
        c++;
    return c == stop || *c == '!';
}

/* Behind a newline of Fortran: the statement goes on, or a `;` ends it, and one that ends before the line asked for is dropped: a
 * window of long statements has more words than there is room for. Returns where to go on. */
static const char *fortran_line(struct words *words, const char *at, const char *end, int16_t *depth, uint32_t *line,
                                uint32_t asked)
{
    struct word *last = words->count ? &words->items[words->count - 1] : NULL;
    if (words->fixed) {
        while (at < end && fixed_comment(at, end)) {
            at = line_end(at, end);
            if (at < end) {
                at++;
                ++*line;
            }
        }
        const char *more = at < end && last && !word_is(last, ";") ? continued(at, end) : NULL;
        if (more)
            return more;
    } else if (last && word_is(last, "&")) { /* until a word follows: lines of comments may be between */
        return at;
    }
    *depth = 0;
    if (last && !word_is(last, ";") && words->count < SOURCE_WORDS)
        words->items[words->count++] = (struct word){.text = ";", .size = 1, .line = last->line};
    if (last && last->line < asked)
        words->count = 0;
    return at;
}

void words_cut(struct words *words, const char *text, const char *end, uint32_t begin, uint32_t asked)
{
    uint64_t dead = words->fortran ? 0 : dead_lines(text, end, asked - begin);
    int16_t depth = 0;
    bool line_start = true;
    uint32_t line = begin;
    const char *at = text, *start = text;
    while (at < end && words->count < SOURCE_WORDS) {
        const char *next = skip(at, end, words->fortran);
        bool is_dead = line - begin < LINES && (dead >> (line - begin) & 1);
        if (line_start && !words->fortran && (*at == '#' || is_dead)) /* a directive is no part of a statement */
            next = at < line_end(at, end) ? line_end(at, end) : next;
        if (next != at) {
            for (; at < next; at++) {
                line += *at == '\n';
                line_start |= *at == '\n';
                start = *at == '\n' ? at + 1 : start;
            }
            if (words->fortran && at[-1] == '\n') {
                at = fortran_line(words, at, end, &depth, &line, asked);
                start = at;
            }
            continue;
        }
        line_start = false;
        struct word word = {
            .text = at, .line = line, .column = (uint32_t)(at - start) + 1, .depth = depth, .name = name_char(*at)};
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
        if (words->fortran && words->count && word_is(&words->items[words->count - 1], "&")) {
            words->count--;
            if (*at == '&') { /* once more before what it continues */
                at += size;
                continue;
            }
        }
        words->items[words->count++] = word;
        at += size;
    }
}
