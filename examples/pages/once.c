/* A page that is written once and never again, beside one that is written all the time. */
#include "pages.h"

int main(int argc, char **argv)
{
    uint64_t ms = (uint64_t)example_option(argc, argv, "ms", 300);
    pages_idle(argc, argv);
    volatile char *once = pages_map("once", 1, false), *always = pages_map("always", 1, false);
    printf("truth use array=once thread=%d first=0 pages=1 reads=0 writes=1 phase=0\n", getpid());
    once[0] = 1;
    pages_run(&(struct pages_use){"always", always, 0, 1, false, true, pages_now_ms() + ms, 1});
    return 0;
}
