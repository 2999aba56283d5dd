/* handover.c - a buffer allocated and filled by thread `maker`, then used by thread `user` alone.
 * Truth: `buffer` gets (nearly) all samples, from `user`; `maker` allocated it and touched each page first, so where the
 * two run on different nodes every access of `user` is remote. */
#include "example.h"

struct work {
    volatile long *buffer;
    size_t count;
    long rounds, total;
};

static void *make(void *argument)
{
    struct work *work = argument;
    pthread_setname_np(pthread_self(), "maker");
    work->buffer = malloc(work->count * sizeof *work->buffer); /* site: buffer */
    example_need(work->buffer, "malloc");
    for (size_t i = 0; i < work->count; i++)
        work->buffer[i] = (long)i;
    return NULL;
}

static void *use(void *argument)
{
    struct work *work = argument;
    pthread_setname_np(pthread_self(), "user");
    volatile long *buffer = work->buffer;
    size_t count = work->count;
    long total = 0;
    for (long round = 0; round < work->rounds; round++) {
        /* one loop: samples are spread over time, so only what is mixed in one loop is shared out exactly */
        for (size_t i = 0; i < count; i += 4) {
            total += buffer[i] + buffer[i + 1] + buffer[i + 2] + buffer[i + 3];
            buffer[i] = round;
        }
    }
    work->total = total;
    return NULL;
}

int main(int argc, char **argv)
{
    struct work work = {
        .count = (size_t)example_option(argc, argv, "count", 1 << 18),
        .rounds = example_work(argc, argv, "rounds", 8000),
    };
    pthread_join(example_thread(make, &work), NULL);
    pthread_join(example_thread(use, &work), NULL);
    printf("total %ld\n", work.total);
    if (example_flag(argc, argv, "truth")) {
        example_truth("buffer", "maker", 0, work.count);
        example_truth("buffer", "user", work.count * (size_t)work.rounds, work.count / 4 * (size_t)work.rounds);
    }
    free((void *)work.buffer);
    return 0;
}
