/* Two threads, each at its own half of an array, at the same time; the main thread has touched no page of it. */
#include "pages.h"

int main(int argc, char **argv)
{
    size_t pages = (size_t)example_option(argc, argv, "pages", 256);
    uint64_t end = pages_now_ms() + (uint64_t)example_option(argc, argv, "ms", 300);
    volatile char *array = pages_map("array", pages, false);
    struct pages_use one = {"array", array, 0, pages / 2, false, true, end, 1};
    struct pages_use other = {"array", array, pages / 2, pages / 2, false, true, end, 1};
    pthread_t thread = example_thread(pages_run, &one), second = example_thread(pages_run, &other);
    pthread_join(thread, NULL);
    pthread_join(second, NULL);
    return 0;
}
