/* Runs kernels and prints what they computed: the same whoever looks on.
 *
 *   target_identical PASSES [KERNEL] */
#include "identical.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
    const char *name;
    uint64_t (*run)(uint64_t seed);
    bool needs_avx512;
};

static const struct kernel kernels[] = {
    {"hash", kernel_hash, false},
    {"qsort", kernel_qsort, false},
    {"string", kernel_string, false},
    {"indirect", kernel_indirect, false},
    {"recursion", kernel_recursion, false},
    {"longjmp", kernel_longjmp, false},
    {"atomic", kernel_atomic, false},
    {"flags", kernel_flags, false},
    {"lists", kernel_lists, false},
    {"libc", kernel_libc, false},
    {"printf", kernel_printf, false},
    {"malloc", kernel_malloc, false},
    {"regex", kernel_regex, false},
    {"x87", kernel_x87, false},
    {"double", kernel_double, false},
    {"rounding", kernel_rounding, false},
    {"varargs", kernel_varargs, false},
    {"sse", kernel_sse, false},
    {"mmx", kernel_mmx, false},
    {"avx512", kernel_avx512, true},
    {"gather", kernel_gather, true},
    {"saxpy", kernel_saxpy, true},
    {"mask", kernel_mask, true},
    {"matmul", kernel_matmul, true},
};

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi2");
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    const char *only = argc > 2 ? argv[2] : NULL;
    bool avx512 = has_avx512();
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            if ((only && strcmp(only, kernels[i].name) != 0) || (kernels[i].needs_avx512 && !avx512))
                continue;
            uint64_t seed = (uint64_t)(round % 16) * 0x9e3779b97f4a7c15u + 12345;
            printf("%s %ld %lx\n", kernels[i].name, round, kernels[i].run(seed));
        }
    return 0;
}
