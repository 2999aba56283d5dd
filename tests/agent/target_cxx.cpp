/* C++: every form of new and delete, exceptions, and what the language allocates by itself. */
extern "C" {
#include "target.h"
}

#include <new>
#include <string>
#include <thread>
#include <vector>

static thread_local void *volatile sink;

template <typename Type> static Type *keep(Type *block)
{
    sink = block;
    return static_cast<Type *>(sink);
}

static int handler_calls;

static void out_of_memory()
{
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

static void throwing()
{
    const volatile size_t huge = static_cast<size_t>(PTRDIFF_MAX) - 4096;
    std::set_new_handler(out_of_memory);
    bool caught = false;
    try {
        keep(static_cast<char *>(::operator new(huge)));
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    MUST(caught && handler_calls == 3);
    MUST(::operator new(huge, std::nothrow) == nullptr);
    /* What comes after an exception is seen as before. */
    void *after = keep(malloc(66));
    say_alloc(ALLOC_MALLOC, after, 66);
    say_free(ALLOC_FREE, after);
    free(after);
}

struct alignas(128) Wide {
    char bytes[256];
};

struct Guard {
    std::vector<int> *numbers = new std::vector<int>(100);
    ~Guard()
    {
        delete numbers;
    }
};

static thread_local Guard guard;

int main()
{
    char *one = static_cast<char *>(keep(::operator new(10)));
    say_alloc(ALLOC_NEW, one, 10);
    char *many = keep(new char[20]);
    say_alloc(ALLOC_NEW_ARRAY, many, 20);
    void *quiet = keep(::operator new(30, std::nothrow));
    say_alloc(ALLOC_NEW, quiet, 30);
    void *quiet_many = keep(::operator new[](40, std::nothrow));
    say_alloc(ALLOC_NEW_ARRAY, quiet_many, 40);
    Wide *wide = keep(new Wide);
    say_alloc(ALLOC_NEW, wide, sizeof(Wide));
    Wide *wides = keep(new Wide[2]);
    say_alloc(ALLOC_NEW_ARRAY, wides, 2 * sizeof(Wide));
    const auto align = std::align_val_t(64);
    void *aligned = keep(::operator new(64, align, std::nothrow));
    say_alloc(ALLOC_NEW, aligned, 64);
    void *aligned_many = keep(::operator new[](128, align, std::nothrow));
    say_alloc(ALLOC_NEW_ARRAY, aligned_many, 128);

    say_free(ALLOC_DELETE, one);
    ::operator delete(one, 10);
    say_free(ALLOC_DELETE_ARRAY, many);
    ::operator delete[](many);
    say_free(ALLOC_DELETE, quiet);
    ::operator delete(quiet, std::nothrow);
    say_free(ALLOC_DELETE_ARRAY, quiet_many);
    ::operator delete[](quiet_many, std::nothrow);
    say_free(ALLOC_DELETE, wide);
    delete wide;
    say_free(ALLOC_DELETE_ARRAY, wides);
    ::operator delete[](wides, 2 * sizeof(Wide), std::align_val_t(128));
    say_free(ALLOC_DELETE, aligned);
    ::operator delete(aligned, align, std::nothrow);
    say_free(ALLOC_DELETE_ARRAY, aligned_many);
    ::operator delete[](aligned_many, align);
    delete keep(static_cast<char *>(nullptr));

    throwing();
    std::vector<std::string> texts;
    for (int i = 0; i < 100; i++)
        texts.push_back(std::string(100, 'x'));
    std::thread([] { guard.numbers->push_back(1); }).join();
    return texts.size() == 100 ? 0 : 1;
}
