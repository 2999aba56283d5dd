#include "compare/paired.h"

#include "base/interval.h"

#include <math.h>

enum { PAIRED_LEAST = 4 }; /* fewer pairs show nothing of how runs differ */

void paired_add(struct paired *paired, double first, double second)
{
    if (paired->count < PAIRED_MOST && first > 0 && second > 0)
        paired->logs[paired->count++] = log(first) - log(second); /* their ratio may be no number */
}

struct paired_ratio paired_ratio(const struct paired *paired, double chance)
{
    double sum = 0, squares = 0, count = paired->count;
    if (paired->count == 0)
        return (struct paired_ratio){1, 0, INFINITY};
    for (unsigned i = 0; i < paired->count; i++)
        sum += paired->logs[i];
    double mean = sum / count;
    if (paired->count < 2)
        return (struct paired_ratio){exp(mean), 0, INFINITY};
    for (unsigned i = 0; i < paired->count; i++)
        squares += (paired->logs[i] - mean) * (paired->logs[i] - mean);
    double wide = student_quantile(paired->count - 1, chance) * sqrt(squares / (count - 1) / count);
    return (struct paired_ratio){exp(mean), exp(mean - wide), exp(mean + wide)};
}

enum paired_answer paired_answer(const struct paired *paired, unsigned most, double chance, double margin)
{
    if (paired->count < PAIRED_LEAST)
        return paired->count >= most ? PAIRED_NOT_FASTER : PAIRED_OPEN;
    unsigned looks = most >= PAIRED_LEAST ? most - PAIRED_LEAST + 1 : 1;
    struct paired_ratio ratio = paired_ratio(paired, 2 * chance / looks);
    if (ratio.low > 1 && ratio.factor >= margin)
        return PAIRED_FASTER;
    if (ratio.high < margin || paired->count >= most)
        return PAIRED_NOT_FASTER;
    return PAIRED_OPEN;
}
