/* ft.c - transforms of the rows of a matrix, a transpose, transforms of what were the columns, as in FT of the NAS
 * benchmarks (Walsh-Hadamard, that is a Fourier transform without its factors). Rows are a thread's own; the transpose
 * reads from everybody. */
#include "nas.h"

static double *matrix, *other;
static long size;

static void init(long first, long last)
{
    for (long i = first * size; i < last * size; i++) {
        matrix[i] = nas_value((uint64_t)i);
        other[i] = 0;
    }
}

static void transform(double *row)
{
    for (long half = 1; half < size; half *= 2)
        for (long block = 0; block < size; block += 2 * half)
            for (long i = block; i < block + half; i++) {
                double left = row[i], right = row[i + half];
                row[i] = (left + right) * 0.70710678118654752;
                row[i + half] = (left - right) * 0.70710678118654752;
            }
}

static void transpose(const double *from, double *to, long first, long last)
{
    enum { TILE = 16 };
    for (long column = 0; column < size; column += TILE)
        for (long row = first; row < last; row++)
            for (long i = column; i < column + TILE; i++)
                to[row * size + i] = from[i * size + row];
}

static void work(struct nas_member *member)
{
    long first, last;
    nas_part(member, size, &first, &last);
    for (long n = 0; n < member->team->iterations; n++) {
        double *from = n % 2 ? other : matrix, *to = n % 2 ? matrix : other;
        for (long row = first; row < last; row++)
            transform(from + row * size);
        nas_wait(member);
        transpose(from, to, first, last);
        nas_wait(member);
    }
}

int main(int argc, char **argv)
{
    struct nas_team team = nas_options(argc, argv, 256, 30);
    size = team.size;
    example_need(size >= 16 && (size & (size - 1)) == 0, "--size, which must be a power of two,");
    matrix = nas_array(size * size);
    other = nas_array(size * size);
    nas_run(&team, init, work);
    nas_checksum("ft", team.iterations % 2 ? other : matrix, size * size);
    return 0;
}
