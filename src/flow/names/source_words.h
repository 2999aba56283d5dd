/* flow/names/source_words.h - a few lines of source text, cut into words: names, numbers and operators, without comments, texts and
 * directives. Of `#if` and its `#else` only the branch that the line asked for is in is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SOURCE_WORDS = 1024 };

struct word {
    const char *text;
    uint16_t size;
    int16_t depth;         /* of parentheses and brackets around it */
    uint32_t line, column; /* from 1 */
    bool name;             /* an identifier or keyword */
};

struct words {
    struct word items[SOURCE_WORDS];
    size_t count;
    bool fortran, fixed; /* fixed: Fortran by columns, as files that end in .f have it */
};

/* Whole lines of text up to `end`, the first of which is number `begin`; `line` is the one that is asked for. A line of Fortran
 * that the next does not continue ends in a `;`. */
void words_cut(struct words *words, const char *text, const char *end, uint32_t begin, uint32_t line);

/* Asked many times of each word of each site: the first letter decides most, and the length of a literal is a constant. */
static inline bool word_is(const struct word *word, const char *text)
{
    return *word->text == *text && word->size == strlen(text) && memcmp(word->text, text, word->size) == 0;
}
bool word_is_one_of(const struct word *word, const char *const *texts); /* the last is NULL */
