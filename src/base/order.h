/* base/order.h - what qsort and bsearch compare by.
 *
 *     ORDER_BY(by_time, struct task, ORDER(a->time, b->time) ?: ORDER(b->size, a->size))
 *
 * is a function by_time that puts the earlier one first, and of the same time the larger. */
#pragma once

#define ORDER(x, y) ((x) < (y) ? -1 : (x) > (y))

#define ORDER_BY(name, type, ...)                                                                                      \
    static int name(const void *left_, const void *right_)                                                             \
    {                                                                                                                  \
        const __typeof__(type) *a = left_, *b = right_;                                                                \
        return __VA_ARGS__;                                                                                            \
    }
