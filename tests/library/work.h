/* Work with a known answer, and waiting for samples by working. */
#ifndef TESTS_LIBRARY_WORK_H
#define TESTS_LIBRARY_WORK_H

#include "numalens/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORDS = 1 << 16 };

/* Nearly all its accesses are reads of `array`. */
static inline uint64_t read_all(const volatile uint64_t *array)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < WORDS; i += 4)
        sum += array[i] + array[i + 1] + array[i + 2] + array[i + 3];
    return sum;
}

static inline void write_all(volatile uint64_t *array)
{
    for (size_t i = 0; i < WORDS; i++)
        array[i] = i;
}

static inline uint64_t *new_array(void)
{
    uint64_t *array = calloc(WORDS, sizeof *array);
    assert_non_null(array);
    return array;
}

static inline bool lies_in(const uint64_t *array, uint64_t addr)
{
    return addr - (uintptr_t)array < WORDS * sizeof *array;
}

static inline uint64_t samples_of(nlens_session *session)
{
    nlens_session_stats stats;
    nlens_session_flush(session, NULL);
    nlens_session_get_stats(session, &stats);
    return stats.samples;
}

/* Reads until the session has that many samples more. A session that gets none never comes back: the test's time runs
 * out. */
static inline void read_until(nlens_session *session, const uint64_t *array, uint64_t more)
{
    for (uint64_t wanted = samples_of(session) + more; samples_of(session) < wanted;)
        for (int i = 0; i < 20; i++)
            read_all(array);
}

static inline nlens_session *make(nlens_session_options options)
{
    nlens_error err;
    options.size = sizeof options;
    options.source = NLENS_SOURCE_SOFT;
    options.period_ns = options.period_ns ? options.period_ns : 100000;
    options.budget = 1000000;
    nlens_session *session = nlens_session_new(&options, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

#endif
