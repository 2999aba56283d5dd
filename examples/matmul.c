/* matmul.c - a naive matrix multiplication by two threads, as in Section 3 of the paper on MOCA.
 *
 * A master initialises the three matrices together, row by row, then creates two workers and waits. Each worker computes
 * half of the result: the first the even columns, the second the odd ones.
 *
 * Truth. Three threads. Two phases: in the first only the master works, and sweeps all three matrices from the first page
 * to the last (written). In the second only the workers do: both sweep `a` (read) and `res` (written), row by row and both at
 * the same rows; and both go through all of `b` (read) for every row: at any time all of it is in use.
 *
 * usage: matmul [rows [fills]]
 * fills: how often the master initialises (1), so that its phase lasts as long as is wanted.
 * EXAMPLE_LONGER=N in the environment: it does so, and each element of the result is computed, N times over (see example.h);
 * with one fill that stays one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2 };

static int size = 384, longer = 1;
static double *a, *b, *res;

static void initialise(void)
{
    for (int row = 0; row < size; row++) {
        for (int column = 0; column < size; column++) {
            size_t at = (size_t)row * (size_t)size + (size_t)column;
            a[at] = row % 7 + 1;
            b[at] = column % 5 + 1;
            res[at] = 0;
        }
    }
}

static void *multiply(void *argument)
{
    int id = *(int *)argument;
    for (int row = 0; row < size; row++) {
        for (int column = id; column < size; column += WORKERS) {
            double sum = 0;
            for (int time = 0; time < longer; time++) {
                sum = 0;
                for (int k = 0; k < size; k++)
                    sum += a[(size_t)row * (size_t)size + (size_t)k] * b[(size_t)k * (size_t)size + (size_t)column];
                __asm__ volatile("" ::"g"(&sum) : "memory"); /* each time counts */
            }
            res[(size_t)row * (size_t)size + (size_t)column] = sum;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    int ids[WORKERS];
    if (argc > 1)
        size = atoi(argv[1]);
    const char *wish = getenv("EXAMPLE_LONGER");
    longer = wish ? atoi(wish) : 1;
    int fills = argc > 2 ? atoi(argv[2]) : 1;
    if (size < 1 || size > 10000 || fills < 1 || fills > 10000)
        return 2;
    size_t bytes = (size_t)size * (size_t)size * sizeof(double);
    a = malloc(bytes);
    b = malloc(bytes);
    res = malloc(bytes);
    if (!a || !b || !res)
        return 1;
    for (int i = 0; i < (fills > 1 ? fills * longer : 1); i++)
        initialise();
    for (int i = 0; i < WORKERS; i++) {
        ids[i] = i;
        if (pthread_create(&threads[i], NULL, multiply, &ids[i]) != 0)
            return 1;
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", res[0] + res[(size_t)size * (size_t)size - 1]); /* too short for a phase of its own */
    free(a);
    free(b);
    free(res);
    return 0;
}
