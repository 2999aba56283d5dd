/* wrappers.c - allocation wrappers: a report should name the caller that matters, not the wrapper.
 * Truth: `first` gets 1/8 of the accesses, `second` 1/8, `left` 2/8 and `right` 4/8. `left` and `right` are allocated on
 * one source line and must be distinguished. No site is a line of xmalloc() or matrix_new(). */
#include "example.h"

static __attribute__((noinline)) void *xmalloc(size_t size)
{
    void *memory = malloc(size);
    example_need(memory, "malloc");
    return memory;
}

struct matrix {
    size_t rows, columns;
    volatile long *cells;
};

static __attribute__((noinline)) struct matrix *matrix_new(size_t rows, size_t columns)
{
    struct matrix *matrix = xmalloc(sizeof *matrix);
    matrix->rows = rows;
    matrix->columns = columns;
    matrix->cells = xmalloc(rows * columns * sizeof *matrix->cells);
    memset((void *)matrix->cells, 0, rows * columns * sizeof *matrix->cells);
    return matrix;
}

static void matrix_free(struct matrix *matrix)
{
    free((void *)matrix->cells);
    free(matrix);
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 60000);
    size_t count = 16384;
    volatile long *first = xmalloc(count * sizeof *first);   /* site: first */
    volatile long *second = xmalloc(count * sizeof *second); /* site: second */
    struct matrix *left, *right;
    left = matrix_new(128, 256), right = matrix_new(256, 256); /* site: left and right */
    volatile long *l = left->cells, *r = right->cells;
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            first[i] = round;
            second[i] = round;
            total += l[2 * i] + l[2 * i + 1];
            total += r[4 * i] + r[4 * i + 1] + r[4 * i + 2] + r[4 * i + 3];
        }
    }
    printf("total %ld\n", total);
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = count * (size_t)rounds;
        example_truth("first", "wrappers", 0, each);
        example_truth("second", "wrappers", 0, each);
        example_truth("left", "wrappers", 2 * each, 0);
        example_truth("right", "wrappers", 4 * each, 0);
    }
    free((void *)first);
    free((void *)second);
    matrix_free(left);
    matrix_free(right);
    return 0;
}
