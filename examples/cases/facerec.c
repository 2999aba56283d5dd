/* facerec.c - a face recogniser in small: 193 matrices come from one function and are used by another, and one of them
 * is what every thread reads all the time.
 * Truth: main fills s->basis, then nobody writes it; all workers read it at the same time, and nearly all remote accesses
 * are to it, in transpose_multiply. The other matrices are each thread's own, and the results among them are written.
 * --duplicate is the paper's change: one copy of s->basis a node, made by a thread of that node. */
#include "cases.h"

enum { WORKERS = 7, CORES = 2, IMAGES = 95, PIXELS = 19500, DIMENSIONS = 103, NODES_MAX = 64 };

struct matrix {
    unsigned rows, columns;
    double cells[]; /* a column's cells are adjacent */
};

struct subspace {
    struct matrix *mean, *values, *basis;
};

static struct subspace subspace;
static struct matrix *copies[NODES_MAX];
static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;
static unsigned matrices;
static long rounds, images;
static bool duplicate;
static double results[IMAGES];

static struct matrix *make_matrix(unsigned rows, unsigned columns)
{
    size_t bytes = sizeof(struct matrix) + sizeof(double) * rows * columns;
    struct matrix *matrix = malloc(bytes);
    example_need(matrix, "malloc");
    memset(matrix, 0, bytes);
    matrix->rows = rows;
    matrix->columns = columns;
    __atomic_add_fetch(&matrices, 1, __ATOMIC_RELAXED);
    return matrix;
}

__attribute__((noinline)) static void transpose_multiply(const struct matrix *a, const struct matrix *b,
                                                         struct matrix *result)
{
    for (unsigned column = 0; column < a->columns; column++) {
        const double *cells = a->cells + (size_t)column * a->rows;
        double sum = 0;
        for (unsigned row = 0; row < a->rows; row++)
            sum += cells[row] * b->cells[row];
        result->cells[column] += sum;
    }
}

static void read_subspace(struct subspace *s)
{
    s->mean = make_matrix(PIXELS, 1);           /* site: s->mean */
    s->values = make_matrix(DIMENSIONS, 1);     /* site: s->values */
    s->basis = make_matrix(PIXELS, DIMENSIONS); /* site: s->basis */
    for (unsigned i = 0; i < PIXELS; i++)
        s->mean->cells[i] = i % 7;
    for (unsigned i = 0; i < DIMENSIONS; i++)
        s->values->cells[i] = 1.0 / (1 + i);
    for (unsigned i = 0; i < PIXELS * DIMENSIONS; i++)
        s->basis->cells[i] = (int)(i * 2654435761u >> 28) - 8;
}

static const struct matrix *basis_of(const struct subspace *s, unsigned order)
{
    if (!duplicate)
        return s->basis;
    unsigned node = case_node(order, CORES);
    example_need(node < NODES_MAX, "node");
    pthread_mutex_lock(&copying);
    if (!copies[node]) {
        copies[node] = make_matrix(PIXELS, DIMENSIONS); /* site: copies */
        memcpy(copies[node]->cells, s->basis->cells, sizeof(double) * PIXELS * DIMENSIONS);
    }
    pthread_mutex_unlock(&copying);
    return copies[node];
}

static void *work(void *argument)
{
    unsigned number = (unsigned)(size_t)argument;
    const struct subspace *s = &subspace;
    const struct matrix *basis = basis_of(s, number + 1);
    for (unsigned face = number; face < images; face += WORKERS) {
        struct matrix *image = make_matrix(PIXELS, 1);         /* site: image */
        struct matrix *projected = make_matrix(DIMENSIONS, 1); /* site: projected */
        for (unsigned i = 0; i < PIXELS; i++)
            image->cells[i] = (double)((i * (face + 3)) % 11) - s->mean->cells[i];
        for (long round = 0; round < rounds; round++)
            transpose_multiply(basis, image, projected);
        double norm = 0;
        for (unsigned i = 0; i < DIMENSIONS; i++)
            norm += projected->cells[i] * s->values->cells[i] / (double)rounds;
        results[face] = norm;
        free(projected);
        free(image);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = example_work(argc, argv, "rounds", 6);
    images = example_option(argc, argv, "images", IMAGES);
    example_need(images >= 0 && images <= IMAGES, "--images: 95 at most;");
    duplicate = example_flag(argc, argv, "duplicate");
    read_subspace(&subspace);
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        threads[i] = example_thread(work, (void *)i);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    double sum = 0;
    for (unsigned i = 0; i < IMAGES; i++)
        sum += results[i];
    for (unsigned i = 0; i < NODES_MAX; i++)
        matrices -= copies[i] != NULL;
    printf("%u matrices, sum %.3f\n", matrices, sum);
    return 0;
}
