/* A library in C++ for a program in C. */
extern "C" {
#include "target.h"
}

#include <new>
#include <stdexcept>
#include <vector>

extern "C" int plugin_exercise(void);

int plugin_exercise(void)
{
    int *volatile number = new int(3);
    say_alloc(ALLOC_NEW, number, sizeof(int));
    say_free(ALLOC_DELETE, number);
    delete number;
    int caught = 0;
    try {
        std::vector<int> many(10);
        many.at(10) = 1;
    } catch (const std::out_of_range &) {
        caught++;
    }
    try {
        const volatile size_t huge = static_cast<size_t>(PTRDIFF_MAX) - 4096;
        void *volatile block = ::operator new(huge);
        ::operator delete(block);
    } catch (const std::bad_alloc &) {
        caught++;
    }
    return caught == 2 ? 0 : 1;
}
