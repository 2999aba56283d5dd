/* tests/agent/shapes.c - see shapes.h. Built with -O2 and no frame pointers. */
#include "shapes.h"

#include <alloca.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Keeps the compiler from seeing through memory, and from making what stands before it a tail call. */
#define BARRIER(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

NOINLINE unsigned shapes_next(struct shapes_way *way)
{
    unsigned result = 0;
    SHAPES_ENTER(way);
    if (way->left == 0) {
        way->probe(way);
    } else {
        way->left--;
        unsigned index = *way->list++;
        result = shapes[index % shapes_count](way) + 1;
        way->list--;
        way->left++;
    }
    SHAPES_LEAVE(way);
    BARRIER(way);
    return result;
}

NOINLINE unsigned shape_plain(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = shapes_next(way) + 1;
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_saving(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned a = way->size, b = a * 3, c = b ^ 77, d = c * 11, e = d + 5, f = e * 13, g = f ^ a, h = g + b;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    unsigned result = shapes_next(way);
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "r"(g), "r"(h));
    SHAPES_LEAVE(way);
    return result + a + b + c + d + e + f + g + h;
}

NOINLINE unsigned shape_big(struct shapes_way *way)
{
    char room[20000];
    SHAPES_ENTER(way);
    room[way->size % sizeof room] = 1;
    BARRIER(room);
    unsigned result = shapes_next(way);
    BARRIER(room);
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_huge(struct shapes_way *way)
{
    char room[200000];
    SHAPES_ENTER(way);
    room[way->size % sizeof room] = 1;
    BARRIER(room);
    unsigned result = shapes_next(way);
    BARRIER(room);
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_vla(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    char room[16 + way->size % 500];
    room[0] = 1;
    BARRIER(room);
    unsigned result = shapes_next(way);
    BARRIER(room);
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_alloca(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    char *room = NULL;
    for (unsigned i = 0; i <= way->size % 3; i++)
        room = alloca(48);
    BARRIER(room);
    unsigned result = shapes_next(way);
    BARRIER(room);
    SHAPES_LEAVE(way);
    return result;
}

static NOINLINE unsigned variadic(struct shapes_way *way, int count, ...)
{
    SHAPES_ENTER(way);
    va_list list;
    va_start(list, count);
    unsigned sum = shapes_next(way);
    while (count-- > 0)
        sum += (unsigned)va_arg(list, int);
    va_end(list);
    SHAPES_LEAVE(way);
    return sum;
}

NOINLINE unsigned shape_variadic(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = variadic(way, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9) + 1;
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_aligned(struct shapes_way *way)
{
    alignas(128) char room[256];
    SHAPES_ENTER(way);
    room[way->size % sizeof room] = 1;
    BARRIER(room);
    unsigned result = shapes_next(way);
    BARRIER(room);
    SHAPES_LEAVE(way);
    return result;
}

NOINLINE unsigned shape_tail(struct shapes_way *way)
{
    return shape_plain(way);
}

static __thread struct shapes_way *sorting;

static NOINLINE int compare(const void *a, const void *b)
{
    struct shapes_way *way = sorting;
    if (way) {
        sorting = NULL;
        SHAPES_ENTER(way);
        shapes_next(way);
        SHAPES_LEAVE(way);
    }
    return *(const int *)a - *(const int *)b;
}

NOINLINE unsigned shape_sort(struct shapes_way *way)
{
    int numbers[2] = {2, 1};
    SHAPES_ENTER(way);
    sorting = way;
    qsort(numbers, 2, sizeof numbers[0], compare);
    SHAPES_LEAVE(way);
    return (unsigned)numbers[0];
}

NOINLINE unsigned shape_pointer(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    shape_fn function = way->size & 1 ? shape_plain : shape_saving;
    BARRIER(&function);
    unsigned result = 0;
    switch (way->size % 5) {
    case 0:
        result = function(way) + 1;
        break;
    case 1:
        result = function(way) * 2;
        break;
    case 2:
        BARRIER(way);
        result = function(way) ^ 3;
        break;
    default:
        result = function(way) - 1;
    }
    SHAPES_LEAVE(way);
    return result;
}

const shape_fn shapes[] = {shape_plain,    shape_saving,   shape_big,       shape_huge, shape_vla,     shape_alloca,
                           shape_variadic, shape_aligned,  shape_tail,      shape_sort, shape_pointer, shape_library,
                           shape_object,   shape_throwing, shape_unwinding, shape_bare};
const unsigned shapes_count = sizeof shapes / sizeof shapes[0];
const unsigned shapes_regular = sizeof shapes / sizeof shapes[0] - 1;
