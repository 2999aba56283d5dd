/* cg.c - a sparse matrix times a vector, again and again, as in CG of the NAS benchmarks: rows are a thread's own, the
 * vector is everybody's and read at random. Sums are taken in blocks, so that they do not depend on the threads. */
#include "nas.h"

#include <math.h>

enum { ENTRIES = 16, BLOCK = 64 };

static double *values, *vector, *product, *sums;
static uint32_t *columns;
static long size;

static void init(long first, long last)
{
    for (long row = first; row < last; row++) {
        for (long i = row * ENTRIES; i < (row + 1) * ENTRIES; i++) {
            values[i] = nas_value((uint64_t)i) - 0.25;
            columns[i] = (uint32_t)(nas_value((uint64_t)i * 3 + 1) * (double)size);
        }
        vector[row] = nas_value((uint64_t)row);
        product[row] = 0;
        sums[row / BLOCK] = 0;
    }
}

static void work(struct nas_member *member)
{
    long blocks = size / BLOCK, first, last;
    nas_part(member, blocks, &first, &last);
    for (long n = 0; n < member->team->iterations; n++) {
        for (long block = first; block < last; block++) {
            double square = 0;
            for (long row = block * BLOCK; row < (block + 1) * BLOCK; row++) {
                double sum = 0;
                for (long i = row * ENTRIES; i < (row + 1) * ENTRIES; i++)
                    sum += values[i] * vector[columns[i]];
                product[row] = sum;
                square += sum * sum;
            }
            sums[block] = square;
        }
        nas_wait(member);
        double square = 0;
        for (long block = 0; block < blocks; block++)
            square += sums[block];
        double scale = 1 / sqrt(square);
        for (long row = first * BLOCK; row < last * BLOCK; row++)
            vector[row] = product[row] * scale;
        nas_wait(member);
    }
}

int main(int argc, char **argv)
{
    struct nas_team team = nas_options(argc, argv, 16384, 40);
    example_need(team.size % BLOCK == 0, "--size, which must be a multiple of 64,");
    size = team.size;
    values = nas_array(size * ENTRIES);
    columns = (uint32_t *)nas_array(size * ENTRIES / 2);
    vector = nas_array(size);
    product = nas_array(size);
    sums = nas_array(size / BLOCK);
    nas_run(&team, init, work);
    nas_checksum("cg", vector, size);
    return 0;
}
