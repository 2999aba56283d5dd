// cxx_statics.cc - static objects as C++ has them, each read as often as the others.
// Truth: shop::prices, (anonymous namespace)::hidden, shop::Stock::shelves (a static member) and the variable `seen` local to
// shop::Stock::count(long) get 1/4 of the accesses each.
#include "../example.h"
#include "walk.h"

enum { ITEMS = 4096, PASSES = 4 };

namespace shop {

volatile long prices[ITEMS]; // site: prices

struct Stock {
    static volatile long shelves[ITEMS];
    static long count(long first);
};

volatile long Stock::shelves[ITEMS]; // site: shelves

__attribute__((noinline)) long Stock::count(long first)
{
    static volatile long seen[ITEMS]; // site: seen
    seen[0] = seen[0] + first;
    return walk(seen, ITEMS, PASSES);
}

} // namespace shop

namespace {
volatile long hidden[ITEMS]; // site: hidden
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 15000), total = 0;
    hidden[0] = shop::prices[0] = shop::Stock::shelves[0] = 1;
    for (long round = 0; round < rounds; round++)
        total += walk(shop::prices, ITEMS, PASSES) + walk(hidden, ITEMS, PASSES) +
                 walk(shop::Stock::shelves, ITEMS, PASSES) + shop::Stock::count(1);
    printf("total %ld\n", total);
    return 0;
}
