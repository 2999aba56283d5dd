/* lu.c - sweeps over a matrix as LU of the NAS benchmarks does: rows in blocks, one a thread, in a pipeline.
 * Each element needs the one above and the one to the left (then, backwards, below and right): so a thread begins a
 * stretch of columns when its neighbour has finished it, and reads the neighbour's last row. */
#include "nas.h"

#include <semaphore.h>

enum { STRETCH = 64 };

static double *matrix;
static long width;
static sem_t ready[NAS_MOST_THREADS];

static void init(long first, long last)
{
    for (long i = first * width; i < last * width; i++)
        matrix[i] = nas_value((uint64_t)i);
}

/* One stretch of the rows [first, last); `step` 1: downwards, -1: upwards. */
static void sweep(const struct nas_team *team, long first, long last, long column, long step)
{
    long end = column + STRETCH < width ? column + STRETCH : width;
    for (long n = 0; n < last - first; n++) {
        long row = step > 0 ? first + n : last - 1 - n;
        if (row - step < 0 || row - step >= team->size)
            continue;
        double *here = matrix + row * width, *before = here - step * width;
        for (long m = column; m < end; m++) {
            long i = step > 0 ? m : width - 1 - m;
            double side = i - step >= 0 && i - step < width ? here[i - step] : 0.5;
            here[i] = 0.5 * here[i] + 0.25 * (before[i] + side);
        }
    }
}

static void pipeline(struct nas_member *member, long step)
{
    long first, last, next = member->number + step;
    bool leads = member->number == (step > 0 ? 0 : member->team->threads - 1);
    nas_part(member, member->team->size, &first, &last);
    for (long column = 0; column < width; column += STRETCH) {
        if (!leads)
            while (sem_wait(&ready[member->number]) != 0)
                ;
        sweep(member->team, first, last, column, step);
        if (next >= 0 && next < member->team->threads)
            sem_post(&ready[next]);
    }
    nas_wait(member);
}

static void work(struct nas_member *member)
{
    for (long i = 0; i < member->team->iterations; i++) {
        pipeline(member, 1);
        pipeline(member, -1);
    }
}

int main(int argc, char **argv)
{
    struct nas_team team = nas_options(argc, argv, 512, 40);
    width = team.size;
    matrix = nas_array(width * width);
    for (long i = 0; i < team.threads; i++)
        sem_init(&ready[i], 0, 0);
    nas_run(&team, init, work);
    nas_checksum("lu", matrix, width * width);
    return 0;
}
