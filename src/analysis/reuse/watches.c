/* See watches.h. */
#include "analysis/reuse/watches.h"

#include "analysis/thresholds.h"
#include "base/units.h"

#include <math.h>

void watched_words_add(struct watched_words *words, const struct watch *watch)
{
    bool last = watch->flags & REUSE_LAST, other = watch->flags & REUSE_OTHER;
    words->both += last && other;
    words->last += last && !other;
    words->other += other && !last;
}

double watched_words_factor(const struct watched_words *words, const struct watched_words *all)
{
    const unsigned words_of_line = CACHE_LINE / sizeof(uint64_t);
    const double others = words_of_line - 1;
    struct watched_words sum = *words;
    double every = all ? all->last + all->other + all->both : 0;
    if (every > 0) {
        sum.last += thresholds.few_bursts * all->last / every;
        sum.other += thresholds.few_bursts * all->other / every;
        sum.both += thresholds.few_bursts * all->both / every;
    }
    double again = sum.last + sum.both; /* visits that use the last word again */
    if (again <= 0)
        return 1;                                 /* nothing is known of them */
    double visit = 1 + others * sum.both / again; /* words that one uses */
    return (again + others * sum.other / visit) / (again + sum.other);
}

void reuse_watched_add(struct reuse_watched *watched, const struct watch *watch, double weight, double rate,
                       double factor)
{
    if (weight <= 0)
        return;
    bool used = !(watch->flags & REUSE_AT_LEAST);
    unsigned first = reuse_bin((uint64_t)watch->age),
             end = reuse_bin((uint64_t)fmin(watch->age + watch->ns * rate / factor, 1e18));
    end = end < REUSE_BINS ? end : REUSE_BINS - 1;
    for (unsigned bin = first; bin <= end; bin++)
        watched->at_risk[bin] += weight;
    unsigned longest = reuse_bin((uint64_t)(watch->age + REUSE_WATCH_NS * rate));
    for (unsigned bin = first; bin <= (used && end < longest ? longest : end); bin++)
        watched->known[bin]++;
    watched->used[end] += used ? weight : 0;
    watched->weight += weight;
    watched->count++;
}
