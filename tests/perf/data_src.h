/* data_src.h - words of perf_mem_data_src in the kernel's own terms, and what they must be read as. */
#ifndef TESTS_PERF_DATA_SRC_H
#define TESTS_PERF_DATA_SRC_H

#include "perf/memory_access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define OP(x)     ((uint64_t)PERF_MEM_OP_##x << PERF_MEM_OP_SHIFT)
#define LVL(x)    ((uint64_t)PERF_MEM_LVL_##x << PERF_MEM_LVL_SHIFT)
#define SNOOP(x)  ((uint64_t)PERF_MEM_SNOOP_##x << PERF_MEM_SNOOP_SHIFT)
#define TLB(x)    ((uint64_t)PERF_MEM_TLB_##x << PERF_MEM_TLB_SHIFT)
#define LOCKED    ((uint64_t)PERF_MEM_LOCK_LOCKED << PERF_MEM_LOCK_SHIFT)
#define NUMBER(x) ((uint64_t)(x) << 33)
#define REMOTE    ((uint64_t)1 << 37)
#define FORWARDED ((uint64_t)1 << 38)
#define HOPS(x)   ((uint64_t)(x) << 43)

struct expectation {
    const char *what;
    uint64_t data_src;
    uint8_t level, flags;
};

static inline void expect_all(const struct expectation *expectations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct expectation *expected = &expectations[i];
        struct memory_access access = {0};
        memory_from_data_src(&access, expected->data_src);
        if (access.level != expected->level || access.flags != expected->flags)
            fail_msg("%s: level %u flags %#x", expected->what, access.level, access.flags);
    }
}

#endif
