/* streamcluster.c - clustering of points in small: all points' coordinates are in one array, which every thread reads
 * and writes.
 * Truth: main allocates `block` and fills it, so it is on main's node; then all threads use it at the same time, each
 * reads all of it (in dist) and writes every THREADSth point (in shift). Most remote accesses are to `block`, the rest to
 * points.p, the array of pointers into it.
 * --interleave is the paper's change: the pages of `block` are spread over the nodes. Here the threads touch every Nth
 * before main fills them, which comes to the same and needs no library. */
#include "cases.h"

enum { THREADS = 7, POINTS = 16384, DIMENSIONS = 128, SHIFTS = 8, PAGE = 4096, FLOATS_A_PAGE = PAGE / sizeof(float) };

struct point {
    float *coord;
    unsigned assign;
};

struct points {
    struct point *p;
    unsigned count;
};

static struct points points;
static float *block;
static long rounds;
static bool interleave;
static pthread_barrier_t turn;
static unsigned changes[THREADS];

static float dist(struct point a, struct point b)
{
    float result = 0;
    for (unsigned i = 0; i < DIMENSIONS; i++)
        result += (a.coord[i] - b.coord[i]) * (a.coord[i] - b.coord[i]);
    return result;
}

/* Moves a point to its mirror image; the next call moves it back, so that the sum stays. */
static void shift(struct point a)
{
    for (unsigned i = 0; i < DIMENSIONS; i++)
        a.coord[i] = 1.0F - a.coord[i];
}

static void touch_in_turn(unsigned number)
{
    for (unsigned page = number; page * FLOATS_A_PAGE < points.count * DIMENSIONS; page += THREADS)
        block[page * FLOATS_A_PAGE] = 0;
}

/* Each thread looks for the centre nearest to every point of its part of the pass. */
static void *cluster(void *argument)
{
    unsigned number = (unsigned)(size_t)argument;
    if (interleave)
        touch_in_turn(number);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    for (long round = 0; round < rounds; round++) {
        for (unsigned i = number; i < points.count; i += THREADS) {
            unsigned centre = (i * 37 + (unsigned)round * 101) % points.count;
            float near = dist(points.p[i], points.p[centre]);
            changes[number] += near > (float)DIMENSIONS; /* never: coordinates are within 0 and 1 */
            for (unsigned times = 0; times < SHIFTS; times++)
                shift(points.p[i]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = example_work(argc, argv, "rounds", 400);
    interleave = example_flag(argc, argv, "interleave");
    points.count = (unsigned)example_option(argc, argv, "points", POINTS);
    size_t bytes = sizeof(float) * points.count * DIMENSIONS;
    block = aligned_alloc(PAGE, bytes);                 /* site: block */
    points.p = malloc(sizeof *points.p * points.count); /* site: points.p */
    example_need(block && points.p, "malloc");
    for (unsigned i = 0; i < points.count; i++)
        points.p[i] = (struct point){.coord = block + (size_t)i * DIMENSIONS};
    pthread_barrier_init(&turn, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = example_thread(cluster, (void *)i);
    pthread_barrier_wait(&turn);
    for (unsigned i = 0; i < points.count * DIMENSIONS; i++)
        block[i] = (float)(i * 2654435761u >> 24) / 256;
    pthread_barrier_wait(&turn);
    unsigned total = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += changes[i];
    }
    double sum = 0;
    for (unsigned i = 0; i < points.count * DIMENSIONS; i++)
        sum += block[i];
    printf("%u points, %u changes, sum %.3f\n", points.count, total, sum);
    return 0;
}
