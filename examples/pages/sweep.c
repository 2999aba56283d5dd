/* One thread writes every page of one array again and again, then reads every page of another, which it had filled
 * before. A third array is never touched. */
#include "pages.h"

int main(int argc, char **argv)
{
    size_t pages = (size_t)example_option(argc, argv, "pages", 256);
    uint64_t ms = (uint64_t)example_option(argc, argv, "ms", 300);
    bool huge = example_flag(argc, argv, "huge");
    pages_idle(argc, argv);
    volatile char *written = pages_map("written", pages, huge), *read = pages_map("read", pages, huge);
    pages_map("untouched", pages, huge);
    pages_run(&(struct pages_use){"read", read, 0, pages, false, true, 0, 0});
    pages_run(&(struct pages_use){"written", written, 0, pages, false, true, pages_now_ms() + ms, 1});
    pages_run(&(struct pages_use){"read", read, 0, pages, true, false, pages_now_ms() + ms, 2});
    return 0;
}
