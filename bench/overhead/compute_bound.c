/* compute_bound.c - two threads, each with bodies that attract one another: little memory, much arithmetic. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 256 };

struct body {
    double x, y, vx, vy, mass;
};

static long rounds;

static void *work(void *argument)
{
    struct body *bodies = calloc(BODIES, sizeof *bodies);
    if (!bodies)
        abort();
    for (int i = 0; i < BODIES; i++)
        bodies[i] = (struct body){.x = i * 1.5, .y = (i * 7919) % 101, .mass = 1 + i % 3};
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < BODIES; i++) {
            double ax = 0, ay = 0;
            for (int j = 0; j < BODIES; j++) {
                double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
                double square = dx * dx + dy * dy + 0.01, inverse = bodies[j].mass / (square * sqrt(square));
                ax += dx * inverse;
                ay += dy * inverse;
            }
            bodies[i].vx += 0.001 * ax;
            bodies[i].vy += 0.001 * ay;
        }
        for (int i = 0; i < BODIES; i++) {
            bodies[i].x += bodies[i].vx;
            bodies[i].y += bodies[i].vy;
        }
    }
    *(double *)argument = bodies[3].x;
    free(bodies);
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 12000;
    double results[2];
    pthread_t other;
    if (pthread_create(&other, NULL, work, &results[1]) != 0)
        return 1;
    work(&results[0]);
    pthread_join(other, NULL);
    printf("%.6f %.6f\n", results[0], results[1]);
    return 0;
}
