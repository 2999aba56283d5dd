/* options.c - prices of options, as in blackscholes: each thread prices a part of its own and calls the mathematical library,
 * whose tables all threads read.
 *
 * bad: the main thread fills the options. The options are far-initialised; the library's tables are not the program's to place.
 * good: each worker fills its own part. */
#include "team.h"

#include <math.h>

enum { OPTIONS = 1 << 17 };

struct option {
    double spot, strike, rate, volatility, time, price;
};

static struct option *options;

static void fill(size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        options[i] = (struct option){90 + i % 20, 100, 0.02 + i % 7 * 0.001, 0.2 + i % 11 * 0.01, 0.5 + i % 5 * 0.1, 0};
}

static double price(const volatile struct option *option)
{
    double root = option->volatility * sqrt(option->time);
    double d1 = (log(option->spot / option->strike) +
                 (option->rate + option->volatility * option->volatility / 2) * option->time) /
                root;
    return option->spot * 0.5 * erfc(-d1 * M_SQRT1_2) -
           option->strike * exp(-option->rate * option->time) * 0.5 * erfc(-(d1 - root) * M_SQRT1_2);
}

static long compute(size_t number)
{
    size_t first = (number - 1) * OPTIONS / team.size, end = number * OPTIONS / team.size;
    if (team_mode("good"))
        fill(first, end);
    double total = 0;
    for (long round = 0; round < team.rounds; round++) {
        for (size_t i = first; i < end; i++) {
            options[i].price = price(&options[i]);
            total += options[i].price;
        }
    }
    return (long)total;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 60);
    options = aligned_alloc(PAGE, OPTIONS * sizeof *options); /* site: options */
    example_need(options, "aligned_alloc");
    if (team_mode("bad"))
        fill(0, OPTIONS);
    team_run(compute);
    free(options);
    return 0;
}
