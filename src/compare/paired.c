#include "compare/paired.h"

#include <math.h>

enum { PAIRED_LEAST = 4 }; /* fewer pairs show nothing of how runs differ */

void paired_add(struct paired *paired, double first, double second)
{
    if (paired->count < PAIRED_MOST && first > 0 && second > 0)
        paired->logs[paired->count++] = log(first) - log(second); /* their ratio may be no number */
}

/* The continued fraction of the incomplete beta function (Numerical Recipes, section 6.4). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double result = d;
    for (int m = 1; m < 500; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            result *= d * c;
        }
        if (fabs(d * c - 1) < 1e-12)
            break;
    }
    return result;
}

static double beta_regular(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x > 0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double paired_student(unsigned freedom, double chance)
{
    double low = 0, high = 1;
    double nu = freedom;
    while (beta_regular(nu / 2, 0.5, nu / (nu + high * high)) > chance && high < 1e12)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (beta_regular(nu / 2, 0.5, nu / (nu + middle * middle)) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
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
    double wide = paired_student(paired->count - 1, chance) * sqrt(squares / (count - 1) / count);
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
