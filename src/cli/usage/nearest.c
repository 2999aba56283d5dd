#include "cli/usage/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 40 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Damerau and Levenshtein, with neighbours swapped as one change. */
static unsigned distance(const char *word, const char *name)
{
    unsigned rows[3][LONGEST + 1]; /* used cyclically: two before, the one before, this one */
    size_t wide = strlen(name), high = strlen(word);
    for (unsigned k = 0; k <= wide; k++)
        rows[0][k] = k;
    for (unsigned i = 1; i <= high; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned k = 1; k <= wide; k++) {
            now[k] = smaller(smaller(before[k], now[k - 1]) + 1, before[k - 1] + !same(word[i - 1], name[k - 1]));
            if (i > 1 && k > 1 && same(word[i - 1], name[k - 2]) && same(word[i - 2], name[k - 1]))
                now[k] = smaller(now[k], older[k - 2] + 1);
        }
    }
    return rows[high % 3][wide];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(word);
    unsigned fewest = (unsigned)(length + 2) / 3 + 1;
    if (length == 0 || length > LONGEST)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) > LONGEST)
            continue;
        bool begins = length > 2 && strncasecmp(names[i], word, length) == 0;
        unsigned changes = begins ? 1 : distance(word, names[i]);
        /* Two letters that have nothing to do with each other are two changes, too. */
        if (changes < fewest && changes < length) {
            fewest = changes;
            best = names[i];
        }
    }
    return best;
}
