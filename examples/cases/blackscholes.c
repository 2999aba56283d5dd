/* blackscholes.c - pricing of options in small (LaProf's Table IV): main reads all options into arrays, then each thread
 * prices its own part of them, again and again.
 * Truth: main allocates and fills `data`, so its home node is main's; thread I alone reads part I of it and alone
 * writes part I of `prices`. Under cluster nothing is remote; assigned over N nodes the parts of N-1 of N threads are.
 * Where the arrays are is in two global variables, which all threads read again for each option, as in the original: a
 * function is called between. So a fourth of the accesses go to data that all threads share (the paper: 40%; there are
 * more arrays). The mathematics is in whole numbers and inline: constants with a point, and tables of a library's,
 * would be memory too, on pages of a file. */
#include "../example.h"

enum { MOST_THREADS = 64, ONE = 1 << 16 }; /* numbers are in parts of ONE */

struct option {
    int32_t spot, strike, rate, volatility, time;
};

static struct option *volatile data;
static int32_t *volatile prices;
static long options, rounds, threads;
static pthread_barrier_t begin;

static int64_t times(int64_t a, int64_t b)
{
    return a * b / ONE;
}

static int64_t by(int64_t a, int64_t b)
{
    return a * ONE / b;
}

/* exp(x) for x from -2 to 2 or so, and ln(x) for x from 0.5 to 2. */
static int64_t exponential(int64_t x)
{
    x = ONE + x / 64;
    for (unsigned i = 0; i < 6; i++)
        x = times(x, x);
    return x;
}

static int64_t logarithm(int64_t x)
{
    int64_t y = by(x - ONE, x + ONE), square = times(y, y);
    return 2 * times(y, ONE + times(square, ONE / 3 + times(square, ONE / 5 + square / 7)));
}

static int64_t root(int64_t x)
{
    int64_t y = (ONE + x) / 2;
    for (unsigned i = 0; i < 4; i++)
        y = (y + by(x, y)) / 2;
    return y;
}

/* The cumulative normal distribution, as the original approximates it (Abramowitz and Stegun 26.2.17). */
static int64_t normal(int64_t x)
{
    bool below = x < 0;
    x = below ? -x : x;
    int64_t k = by(ONE, ONE + times(15181, x)), sum = 87184;
    sum = times(k, sum) - 119358;
    sum = times(k, sum) + 116743;
    sum = times(k, sum) - 23368;
    sum = times(k, times(k, sum) + 20931);
    int64_t result = ONE - times(times(26145, exponential(-times(x, x) / 2)), sum);
    return below ? ONE - result : result;
}

static int32_t price(const volatile struct option *option)
{
    int64_t spot = option->spot, strike = option->strike, rate = option->rate, time = option->time;
    int64_t volatility = option->volatility, width = times(volatility, root(time));
    int64_t drift = times(rate + times(volatility, volatility) / 2, time);
    int64_t high = by(logarithm(by(spot, strike)) + drift, width);
    return (int32_t)(times(spot, normal(high)) -
                     times(times(strike, exponential(-times(rate, time))), normal(high - width)));
}

static void *work(void *argument)
{
    long number = (long)argument, first = options * number / threads, last = options * (number + 1) / threads;
    pthread_barrier_wait(&begin);
    for (long round = 0; round < rounds; round++)
        for (long i = first; i < last; i++)
            prices[i] = price(&data[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t handles[MOST_THREADS];
    options = example_option(argc, argv, "options", 1 << 16);
    rounds = example_work(argc, argv, "rounds", 60);
    threads = example_option(argc, argv, "threads", 8);
    example_need(threads >= 1 && threads <= MOST_THREADS && options >= threads, "--threads, --options");
    data = malloc((size_t)options * sizeof *data);     /* site: data */
    prices = malloc((size_t)options * sizeof *prices); /* site: prices */
    example_need(data && prices, "malloc");
    for (long i = 0; i < options; i++) {
        int32_t wheel = (int32_t)(i % 101) * ONE / 101;
        data[i] = (struct option){90 * ONE + 20 * wheel, 100 * ONE, ONE / 50 + wheel / 100, ONE / 5 + wheel / 5,
                                  ONE / 2 + wheel / 2};
        prices[i] = 0;
    }
    pthread_barrier_init(&begin, NULL, (unsigned)threads);
    for (long i = 0; i < threads; i++)
        handles[i] = example_thread(work, (void *)i);
    int64_t sum = 0;
    for (long i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (long i = 0; i < options; i++)
        sum += prices[i];
    printf("%ld options, mean price %.3f\n", options, (double)(sum / options) / ONE);
    return 0;
}
