/* tests/agent/shapes_bare.c - code that .eh_frame does not describe. */
#include "shapes.h"

unsigned shape_bare(struct shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = shapes_next(way) + 1;
    SHAPES_LEAVE(way);
    return result;
}
