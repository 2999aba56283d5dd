/* base/array.h - a growable array of any type.
 *
 *     array_of(int) numbers = {0};
 *     array_push(&numbers, 42);
 *     array_each(&numbers, int, number) sum += *number;
 *     array_free(&numbers);
 *
 * Items move when the array grows: keep indices, not pointers. */
#pragma once

#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>

#define array_of(type)                                                                                                 \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        size_t count, capacity;                                                                                        \
    }

#define array_reserve(array, wanted)                                                                                   \
    do {                                                                                                               \
        if ((array)->capacity < (wanted)) {                                                                            \
            size_t array_capacity_ = (array)->capacity ? (array)->capacity * 2 : 16;                                   \
            while (array_capacity_ < (wanted))                                                                         \
                array_capacity_ *= 2;                                                                                  \
            (array)->items = mem_resize((array)->items, array_capacity_ * sizeof *(array)->items);                     \
            (array)->capacity = array_capacity_;                                                                       \
        }                                                                                                              \
    } while (0)

#define array_push(array, ...)                                                                                         \
    do {                                                                                                               \
        array_reserve(array, (array)->count + 1);                                                                      \
        (array)->items[(array)->count++] = (__VA_ARGS__);                                                              \
    } while (0)

#define array_sort(array, compare)                                                                                     \
    do {                                                                                                               \
        if ((array)->count > 1)                                                                                        \
            qsort((array)->items, (array)->count, sizeof *(array)->items, compare);                                    \
    } while (0)

#define array_each(array, type, name) for (type *name = (array)->items; name < (array)->items + (array)->count; name++)

#define array_free(array)                                                                                              \
    do {                                                                                                               \
        free((array)->items);                                                                                          \
        (array)->items = NULL;                                                                                         \
        (array)->count = (array)->capacity = 0;                                                                        \
    } while (0)
