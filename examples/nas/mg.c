/* mg.c - cycles over grids of three sizes, as in MG of the NAS benchmarks: smooth, coarsen, smooth, and back. Planes are
 * a thread's own; it reads one of each neighbour. */
#include "nas.h"

enum { LEVELS = 3 };

static double *grids[LEVELS], *spares[LEVELS];
static long side;

static void init(long first, long last)
{
    for (int level = 0; level < LEVELS; level++) {
        long n = side >> level, from = (first + (1 << level) - 1) >> level, to = (last + (1 << level) - 1) >> level;
        for (long i = from * n * n; i < to * n * n; i++) {
            grids[level][i] = level ? 0 : nas_value((uint64_t)i);
            spares[level][i] = 0;
        }
    }
}

static void part_of(const struct nas_member *member, int level, long *first, long *last)
{
    nas_part(member, side, first, last);
    *first = (*first + (1 << level) - 1) >> level;
    *last = (*last + (1 << level) - 1) >> level;
}

static void smooth(struct nas_member *member, int level)
{
    long n = side >> level, first, last;
    part_of(member, level, &first, &last);
    for (long x = first; x < last; x++)
        for (long y = 1; y < n - 1; y++) {
            const double *in = grids[level] + (x * n + y) * n;
            double *out = spares[level] + (x * n + y) * n;
            long up = x + 1 < n ? n * n : 0, down = x > 0 ? n * n : 0;
            for (long z = 1; z < n - 1; z++)
                out[z] =
                    0.4 * in[z] + 0.1 * (in[z - 1] + in[z + 1] + in[z - n] + in[z + n] + in[z + up] + in[z - down]);
        }
    nas_wait(member);
    double *swap = grids[level];
    nas_wait(member);
    if (member->number == 0) {
        grids[level] = spares[level];
        spares[level] = swap;
    }
    nas_wait(member);
}

static void coarsen(struct nas_member *member, int level)
{
    long n = side >> level, half = n / 2, first, last;
    part_of(member, level + 1, &first, &last);
    for (long x = first; x < last; x++)
        for (long y = 0; y < half; y++)
            for (long z = 0; z < half; z++)
                grids[level + 1][(x * half + y) * half + z] = grids[level][(2 * x * n + 2 * y) * n + 2 * z];
    nas_wait(member);
}

static void refine(struct nas_member *member, int level)
{
    long n = side >> level, half = n / 2, first, last;
    part_of(member, level, &first, &last);
    for (long x = first; x < last; x++)
        for (long y = 0; y < n; y++)
            for (long z = 0; z < n; z++)
                grids[level][(x * n + y) * n + z] = 0.75 * grids[level][(x * n + y) * n + z] +
                                                    0.25 * grids[level + 1][(x / 2 * half + y / 2) * half + z / 2];
    nas_wait(member);
}

static void work(struct nas_member *member)
{
    for (long i = 0; i < member->team->iterations; i++) {
        for (int level = 0; level < LEVELS - 1; level++) {
            smooth(member, level);
            coarsen(member, level);
        }
        smooth(member, LEVELS - 1);
        for (int level = LEVELS - 2; level >= 0; level--) {
            refine(member, level);
            smooth(member, level);
        }
    }
}

int main(int argc, char **argv)
{
    struct nas_team team = nas_options(argc, argv, 64, 10);
    side = team.size;
    example_need(side % 4 == 0, "--size, which must be a multiple of 4,");
    for (int level = 0; level < LEVELS; level++) {
        long n = side >> level;
        grids[level] = nas_array(n * n * n);
        spares[level] = nas_array(n * n * n);
    }
    nas_run(&team, init, work);
    nas_checksum("mg", grids[0], side * side * side);
    return 0;
}
