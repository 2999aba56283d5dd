/* known.h - made-up recordings whose right answer is known, each near a bound for a reason that programs have. test_thresholds.c asks
 * for their answers with every threshold moved. */
#ifndef NUMALENS_TESTS_KNOWN_H
#define NUMALENS_TESTS_KNOWN_H

#include <stddef.h>

enum { ANSWER = 256 };

struct known {
    const char *name;
    const char *right;
    void (*answer)(char text[ANSWER]);
    const char *near; /* names of thresholds: the answer is another one when one of them moves by a fifth */
};

extern const struct known known_findings[], known_runs[], known_problems[], known_verdicts[], known_differences[],
    known_jobs[], known_placements[]; /* each ends with a row of zeroes */

#endif
