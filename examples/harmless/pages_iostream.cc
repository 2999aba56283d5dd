/* pages_iostream.cc - pages.c in C++, with what libstdc++ brings along. */
#include <iostream>
#include <memory>
#include <vector>

namespace {
struct Greeting {
    Greeting()
    {
        std::vector<std::unique_ptr<int>> numbers;
        for (int i = 0; i < 100; i++)
            numbers.push_back(std::unique_ptr<int>(new int(i)));
        std::cout << "begins " << numbers.size() << std::endl;
    }
} greeting;
} // namespace

#include "pages.c"
