#include "compare/ratio.h"

#include <math.h>

void ratio_add(struct ratio *ratio, double x, double n)
{
    ratio->bursts += n > 0;
    ratio->x += x;
    ratio->n += n;
    ratio->xx += x * x;
    ratio->xn += x * n;
    ratio->nn += n * n;
}

double ratio_value(const struct ratio *ratio)
{
    return ratio->n > 0 ? ratio->x / ratio->n : 0;
}

double ratio_variance(const struct ratio *ratio, bool proportion)
{
    if (ratio->bursts < 2 || ratio->n <= 0)
        return INFINITY;
    double value = ratio_value(ratio), bursts = (double)ratio->bursts;
    double squares = ratio->xx - 2 * value * ratio->xn + value * value * ratio->nn;
    double variance = (squares > 0 ? squares : 0) / (ratio->n * ratio->n) * bursts / (bursts - 1);
    double near = (ratio->x + 0.5) / (ratio->n + 1), min_variance = near * (1 - near) / ratio->n;
    return proportion && variance < min_variance ? min_variance : variance;
}

double ratio_chance(const struct ratio *left, const struct ratio *right, bool proportion)
{
    double variance = ratio_variance(left, proportion) + ratio_variance(right, proportion);
    double distance = fabs(ratio_value(left) - ratio_value(right));
    if (isinf(variance) || distance == 0)
        return 1;
    return variance > 0 ? erfc(distance / sqrt(2 * variance)) : 0;
}
