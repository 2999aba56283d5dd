/* base/bisect.h - binary search in whatever is sorted.
 *
 * bisect(count, i, before) is the first of `count` positions for which `before`, an expression of `i`, does not hold; `count`
 * when it holds for all. It must hold for none behind the first for which it does not.
 *
 *     size_t at = bisect(table->count, i, table->items[i].start <= addr);     the first that begins behind addr
 *
 * No calls, no state: handlers of signals may use it. */
#pragma once

#include <stddef.h>

#define bisect(count, i, before)                                                                                       \
    ({                                                                                                                 \
        size_t bisect_low_ = 0, bisect_high_ = (count);                                                                \
        while (bisect_low_ < bisect_high_) {                                                                           \
            size_t i = bisect_low_ + (bisect_high_ - bisect_low_) / 2;                                                 \
            if (before)                                                                                                \
                bisect_low_ = i + 1;                                                                                   \
            else                                                                                                       \
                bisect_high_ = i;                                                                                      \
        }                                                                                                              \
        bisect_low_;                                                                                                   \
    })
