/* One thread writes every page of an array, two others read them. */
#include "pages.h"

int main(int argc, char **argv)
{
    size_t pages = (size_t)example_option(argc, argv, "pages", 256);
    uint64_t end = pages_now_ms() + (uint64_t)example_option(argc, argv, "ms", 300);
    volatile char *array = pages_map("array", pages, false);
    struct pages_use write = {"array", array, 0, pages, false, true, end, 1};
    struct pages_use read = {"array", array, 0, pages, true, false, end, 1};
    pthread_t writer = example_thread(pages_run, &write);
    pthread_t one = example_thread(pages_run, &read), other = example_thread(pages_run, &read);
    pthread_join(writer, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
