/* tests/agent/shapes.h - functions with all kinds of frames, each calling the next one of a list.
 *
 * Every shape notes its return address on a stack of its own, so that a test knows the chain without an unwinder. */
#ifndef NUMALENS_TESTS_AGENT_SHAPES_H
#define NUMALENS_TESTS_AGENT_SHAPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SHAPES_DEPTH = 256 };

struct shapes_way {
    const uint8_t *list;                   /* which shape comes next */
    unsigned left;                         /* how many more */
    unsigned size;                         /* for frames whose size is not fixed */
    void (*probe)(struct shapes_way *way); /* called at the end of the list */
    unsigned depth;
    uint64_t returns[SHAPES_DEPTH]; /* return addresses of the shapes that are active, oldest first */
};

typedef unsigned (*shape_fn)(struct shapes_way *way);

unsigned shape_plain(struct shapes_way *way);
unsigned shape_saving(struct shapes_way *way); /* uses many registers */
unsigned shape_big(struct shapes_way *way);    /* 20 kB of locals */
unsigned shape_huge(struct shapes_way *way);   /* 200 kB of locals */
unsigned shape_vla(struct shapes_way *way);    /* a frame of a size known at run time */
unsigned shape_alloca(struct shapes_way *way);
unsigned shape_variadic(struct shapes_way *way);
unsigned shape_aligned(struct shapes_way *way);   /* realigns its stack */
unsigned shape_tail(struct shapes_way *way);      /* leaves by a tail call, so is not in the chain */
unsigned shape_sort(struct shapes_way *way);      /* through the C library's qsort */
unsigned shape_pointer(struct shapes_way *way);   /* through a function pointer, with a switch */
unsigned shape_library(struct shapes_way *way);   /* in a shared library, through its .plt and back */
unsigned shape_object(struct shapes_way *way);    /* C++: destructors on the way */
unsigned shape_throwing(struct shapes_way *way);  /* C++: goes on inside a catch block */
unsigned shape_unwinding(struct shapes_way *way); /* C++: goes on in a destructor while an exception passes */
unsigned shape_bare(struct shapes_way *way);      /* built without unwind tables, but with a frame pointer */

extern const shape_fn shapes[];
extern const unsigned shapes_count;   /* all */
extern const unsigned shapes_regular; /* the first ones have unwind tables */

/* Calls the next shape of the list, or the probe. */
unsigned shapes_next(struct shapes_way *way);

#define SHAPES_ENTER(way)                                                                                              \
    (way)->returns[(way)->depth++] = (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0))
#define SHAPES_LEAVE(way) (way)->depth--

#ifdef __cplusplus
}
#endif

#endif
