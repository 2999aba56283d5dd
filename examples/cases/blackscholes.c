/* blackscholes.c - pricing of options in small (LaProf's Table IV): main reads all options into arrays, then each thread
 * prices its own part of them, again and again.
 * Truth: main allocates and fills `data`, so it lies where main runs; thread I alone reads part I of it and alone writes
 * part I of `prices`. Under cluster nothing is remote; dealt over N nodes the parts of N-1 of N threads are.
 * The mathematics is approximate and inline: tables of a library's would be memory too. */
#include "../example.h"

enum { MOST_THREADS = 64 };

struct option {
    float spot, strike, rate, volatility, time;
};

static struct option *data;
static float *prices;
static long options, rounds, threads;
static pthread_barrier_t begin;

/* exp(x) for x from -2 to 2 or so, and ln(x) for x from 0.5 to 2. */
static float exponential(float x)
{
    x = 1 + x / 64;
    for (unsigned i = 0; i < 6; i++)
        x *= x;
    return x;
}

static float logarithm(float x)
{
    float y = (x - 1) / (x + 1), square = y * y;
    return 2 * y * (1 + square * (1.0F / 3 + square * (1.0F / 5 + square / 7)));
}

static float root(float x)
{
    float y = (1 + x) / 2;
    for (unsigned i = 0; i < 4; i++)
        y = (y + x / y) / 2;
    return y;
}

/* The cumulative normal distribution, as the original approximates it (Abramowitz and Stegun 26.2.17). */
static float normal(float x)
{
    bool below = x < 0;
    x = below ? -x : x;
    float k = 1 / (1 + 0.2316419F * x);
    float sum = k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
    float result = 1 - 0.39894228F * exponential(-x * x / 2) * sum;
    return below ? 1 - result : result;
}

static float price(const volatile struct option *option)
{
    float spot = option->spot, strike = option->strike, rate = option->rate, time = option->time;
    float width = option->volatility * root(time);
    float high = (logarithm(spot / strike) + (rate + option->volatility * option->volatility / 2) * time) / width;
    return spot * normal(high) - strike * exponential(-rate * time) * normal(high - width);
}

static void *work(void *argument)
{
    long number = (long)argument, first = options * number / threads, last = options * (number + 1) / threads;
    volatile float *result = prices;
    pthread_barrier_wait(&begin);
    for (long round = 0; round < rounds; round++)
        for (long i = first; i < last; i++)
            result[i] = price(&data[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t handles[MOST_THREADS];
    options = example_option(argc, argv, "options", 1 << 16);
    rounds = example_option(argc, argv, "rounds", 60);
    threads = example_option(argc, argv, "threads", 8);
    example_need(threads >= 1 && threads <= MOST_THREADS && options >= threads, "--threads, --options");
    data = malloc((size_t)options * sizeof *data);     /* site: data */
    prices = malloc((size_t)options * sizeof *prices); /* site: prices */
    example_need(data && prices, "malloc");
    for (long i = 0; i < options; i++) {
        float wheel = (float)(i % 101) / 101;
        data[i] = (struct option){90 + 20 * wheel, 100, 0.02F + 0.01F * wheel, 0.2F + 0.2F * wheel, 0.5F + wheel / 2};
        prices[i] = 0;
    }
    pthread_barrier_init(&begin, NULL, (unsigned)threads);
    for (long i = 0; i < threads; i++)
        handles[i] = example_thread(work, (void *)i);
    double sum = 0;
    for (long i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (long i = 0; i < options; i++)
        sum += prices[i];
    printf("%ld options, mean price %.3f\n", options, sum / (double)options);
    return 0;
}
