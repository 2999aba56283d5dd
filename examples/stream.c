/* stream.c - a triad in the manner of McCalpin's STREAM: a[i] = b[i] + 3 c[i], each thread in its part of the arrays.
 *
 * The main thread fills all three arrays, so all of them are on its node. With --first-touch each thread fills the part that it
 * uses.
 * Truth: with N nodes and threads on all of them, (N - 1) of N bytes are remote; few loads wait, because all of it is
 * prefetched. With --first-touch nothing is remote. */
#include "example.h"

struct stream {
    double *a, *b, *c;
    size_t count;
    long times, threads;
    bool first_touch;
    pthread_barrier_t done;
};

struct worker {
    struct stream *stream;
    long number;
};

static void fill(struct stream *stream, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        stream->a[i] = 1; /* not 0: a compiler would let calloc do it, and nobody would touch a page */
        stream->b[i] = (double)i;
        stream->c[i] = 2;
    }
}

__attribute__((noinline)) static void triad(double *a, const double *b, const double *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + 3 * c[i];
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct stream *stream = worker->stream;
    size_t part = stream->count / (size_t)stream->threads, from = (size_t)worker->number * part;
    if (stream->first_touch)
        fill(stream, from, from + part);
    pthread_barrier_wait(&stream->done);
    for (long i = 0; i < stream->times; i++) {
        triad(stream->a + from, stream->b + from, stream->c + from, part);
        pthread_barrier_wait(&stream->done);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct stream stream = {.threads = example_option(argc, argv, "threads", 16),
                            .count = (size_t)example_option(argc, argv, "mib", 128) << 17,
                            .times = example_work(argc, argv, "times", 60),
                            .first_touch = example_flag(argc, argv, "first-touch")};
    struct worker *workers = calloc((size_t)stream.threads, sizeof *workers);
    pthread_t *threads = calloc((size_t)stream.threads, sizeof *threads);
    stream.count -= stream.count % (size_t)stream.threads;
    stream.a = malloc(stream.count * sizeof *stream.a); /* site: a */
    stream.b = malloc(stream.count * sizeof *stream.b); /* site: b */
    stream.c = malloc(stream.count * sizeof *stream.c); /* site: c */
    example_need(workers && threads && stream.a && stream.b && stream.c, "malloc");
    if (!stream.first_touch)
        fill(&stream, 0, stream.count);
    pthread_barrier_init(&stream.done, NULL, (unsigned)stream.threads);
    for (long i = 0; i < stream.threads; i++) {
        workers[i] = (struct worker){.stream = &stream, .number = i};
        threads[i] = example_thread(work, &workers[i]);
    }
    for (long i = 0; i < stream.threads; i++)
        pthread_join(threads[i], NULL);
    printf("a[1] is %g\n", stream.a[1]);
    free(stream.a);
    free(stream.b);
    free(stream.c);
    free(threads);
    free(workers);
    return 0;
}
