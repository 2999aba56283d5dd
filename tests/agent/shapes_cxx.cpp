/* tests/agent/shapes_cxx.cpp - C++ frames: destructors, a catch block, a destructor that an exception runs. */
#include "shapes.h"

namespace {
struct guard {
    shapes_way *way;
    bool goes_on;
    unsigned *result;
    __attribute__((noinline)) ~guard()
    {
        SHAPES_ENTER(way);
        if (goes_on)
            *result = shapes_next(way);
        SHAPES_LEAVE(way);
    }
};

struct failure {
    unsigned code;
};

__attribute__((noinline)) void fail(shapes_way *way)
{
    throw failure{way->size};
}

__attribute__((noinline)) void fail_through_guard(shapes_way *way, unsigned *result)
{
    guard inner{way, true, result};
    fail(way);
}
} // namespace

extern "C" __attribute__((noinline)) unsigned shape_object(shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = 0;
    {
        guard first{way, false, &result};
        result = shapes_next(way) + 1;
    }
    SHAPES_LEAVE(way);
    return result;
}

extern "C" __attribute__((noinline)) unsigned shape_throwing(shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = 0;
    try {
        fail(way);
    } catch (const failure &caught) {
        result = shapes_next(way) + caught.code;
    }
    SHAPES_LEAVE(way);
    return result;
}

extern "C" __attribute__((noinline)) unsigned shape_unwinding(shapes_way *way)
{
    SHAPES_ENTER(way);
    unsigned result = 0;
    try {
        fail_through_guard(way, &result);
    } catch (const failure &) {
        result++;
    }
    SHAPES_LEAVE(way);
    return result;
}
