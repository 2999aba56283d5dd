/* A small dataflow program that profiles itself, as in section 6 of the numap paper: actors run on threads of their own
 * and pass tokens through channels; samples of numalens/capture.h are matched with both, and each gets its memory cost.
 *
 * Truth: `gather` reads a large table at random and costs most; `scale` and `sum` only stream their tokens. Tokens of
 * `source` go through channel "samples" to `gather`, then through "values" to `scale`, then through "scaled" to `sum`. */
#include <numalens/capture.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TOKENS = 512, BLOCKS = 3000, TABLE = 1 << 23, DEPTH = 4 };

/* A channel: blocks of tokens, first in, first out; readers wait for a block, writers for room. */
struct channel {
    const char *name;
    uint32_t blocks[DEPTH][TOKENS];
    unsigned written, read;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t samples, latency;
};

struct actor {
    const char *name;
    void (*fire)(const uint32_t *in, uint32_t *out);
    struct channel *in, *out; /* NULL: none */
    pid_t tid;
    uint64_t samples, latency;
};

static uint32_t *table;
static uint64_t total;

static uint32_t *block_to_write(struct channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    while (channel->written - channel->read == DEPTH)
        pthread_cond_wait(&channel->changed, &channel->lock);
    pthread_mutex_unlock(&channel->lock);
    return channel->blocks[channel->written % DEPTH];
}

static uint32_t *block_to_read(struct channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    while (channel->written == channel->read)
        pthread_cond_wait(&channel->changed, &channel->lock);
    pthread_mutex_unlock(&channel->lock);
    return channel->blocks[channel->read % DEPTH];
}

static void pass_on(struct channel *channel, unsigned *count)
{
    pthread_mutex_lock(&channel->lock);
    ++*count;
    pthread_cond_broadcast(&channel->changed);
    pthread_mutex_unlock(&channel->lock);
}

static void fire_source(const uint32_t *in, uint32_t *out)
{
    static uint32_t seed = 1;
    (void)in;
    for (int i = 0; i < TOKENS; i++)
        out[i] = seed = seed * 1664525 + 1013904223;
}

static void fire_gather(const uint32_t *in, uint32_t *out)
{
    for (int i = 0; i < TOKENS; i++) {
        uint32_t at = in[i] % TABLE;
        for (int step = 0; step < 8; step++)
            at = table[at];
        out[i] = at;
    }
}

static void fire_scale(const uint32_t *in, uint32_t *out)
{
    for (int i = 0; i < TOKENS; i++)
        out[i] = in[i] * 3;
}

static void fire_sum(const uint32_t *in, uint32_t *out)
{
    (void)out;
    for (int i = 0; i < TOKENS; i++)
        total += in[i];
}

static struct channel channels[] = {{.name = "samples"}, {.name = "values"}, {.name = "scaled"}};
static struct actor actors[] = {
    {"source", fire_source, NULL, &channels[0], 0, 0, 0},
    {"gather", fire_gather, &channels[0], &channels[1], 0, 0, 0},
    {"scale", fire_scale, &channels[1], &channels[2], 0, 0, 0},
    {"sum", fire_sum, &channels[2], NULL, 0, 0, 0},
};
enum { ACTORS = sizeof actors / sizeof *actors, CHANNELS = sizeof channels / sizeof *channels };

static nlens_session *session;

static void *run(void *argument)
{
    struct actor *actor = argument;
    actor->tid = (pid_t)syscall(SYS_gettid);
    nlens_session_add_thread(session, actor->tid, NULL);
    for (int block = 0; block < BLOCKS; block++) {
        const uint32_t *in = actor->in ? block_to_read(actor->in) : NULL;
        uint32_t *out = actor->out ? block_to_write(actor->out) : NULL;
        actor->fire(in, out);
        if (actor->in)
            pass_on(actor->in, &actor->in->read);
        if (actor->out)
            pass_on(actor->out, &actor->out->written);
    }
    return NULL;
}

/* Called by the library as samples come in: what they mean to this program. */
static void take(void *context, const nlens_sample *samples, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        for (int a = 0; a < ACTORS; a++) {
            if ((uint32_t)actors[a].tid == samples[i].tid) {
                actors[a].samples++;
                actors[a].latency += samples[i].latency;
            }
        }
        for (int c = 0; c < CHANNELS; c++) {
            if (samples[i].addr - (uintptr_t)channels[c].blocks < sizeof channels[c].blocks) {
                channels[c].samples++;
                channels[c].latency += samples[i].latency;
            }
        }
    }
}

static void print(const char *what, const char *name, uint64_t samples, uint64_t latency)
{
    printf("%-8s %-8s %8llu samples %10llu ns\n", what, name, (unsigned long long)samples, (unsigned long long)latency);
}

int main(void)
{
    nlens_error err;
    nlens_session_options options = {sizeof options};
    options.samples = take;
    options.period_ns = 200000;
    options.budget = 100000;
    session = nlens_session_new(&options, &err);
    table = malloc(TABLE * sizeof *table);
    if (!session || !table || nlens_session_add_thread(session, 0, &err) < 0 || nlens_session_start(session, &err) < 0)
        return fprintf(stderr, "dataflow: %s\n", err.text), 1;
    for (uint32_t i = 0; i < TABLE; i++)
        table[i] = (i * 2654435761u + 12345) % TABLE;
    pthread_t threads[ACTORS];
    for (int c = 0; c < CHANNELS; c++) {
        pthread_mutex_init(&channels[c].lock, NULL);
        pthread_cond_init(&channels[c].changed, NULL);
    }
    for (int a = 0; a < ACTORS; a++)
        pthread_create(&threads[a], NULL, run, &actors[a]);
    for (int a = 0; a < ACTORS; a++)
        pthread_join(threads[a], NULL);
    printf("%s\n", nlens_session_source(session));
    if (nlens_session_close(session, &err) < 0)
        return fprintf(stderr, "dataflow: %s\n", err.text), 1;
    for (int a = 0; a < ACTORS; a++)
        print("actor", actors[a].name, actors[a].samples, actors[a].latency);
    for (int c = 0; c < CHANNELS; c++)
        print("channel", channels[c].name, channels[c].samples, channels[c].latency);
    free(table);
    return total == 0;
}
