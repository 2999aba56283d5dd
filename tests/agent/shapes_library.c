/* tests/agent/shapes_library.c - a shape in a shared library: reached and left through a .plt. */
#include "shapes.h"

__attribute__((noinline)) static unsigned inner(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = shapes_next(way) + 1;
    SHAPES_LEAVE(way);
    return result;
}

unsigned shape_library(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = inner(way) + 1;
    SHAPES_LEAVE(way);
    return result;
}
