/* The first half of an array is written in the first phase, the second half in the second. */
#include "pages.h"

int main(int argc, char **argv)
{
    size_t pages = (size_t)example_option(argc, argv, "pages", 256);
    uint64_t ms = (uint64_t)example_option(argc, argv, "ms", 300);
    pages_idle(argc, argv);
    volatile char *array = pages_map("array", pages, false);
    pages_run(&(struct pages_use){"array", array, 0, pages / 2, false, true, pages_now_ms() + ms, 1});
    pages_run(&(struct pages_use){"array", array, pages / 2, pages / 2, false, true, pages_now_ms() + ms, 2});
    return 0;
}
