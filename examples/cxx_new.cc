// cxx_new.cc - C++: new[], a vector, single objects made with new, and exceptions thrown through frames all the while.
// Truth: the array from new[] gets 50% of the accesses, the vector's storage 25%, one of the cells 25%. The vector's site is
// the line that resizes it, not a line inside the standard library.
#include "example.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace shop {

struct Cell {
    volatile long value;
    explicit Cell(long v) : value(v)
    {
    }
};

class Store {
  public:
    explicit Store(size_t count) : count_(count)
    {
        array_ = new long[2 * count]; /* site: array */
        numbers_.resize(count);       /* site: numbers */
        for (size_t i = 0; i < count; i++) {
            array_[2 * i] = array_[2 * i + 1] = static_cast<long>(i);
            cells_.push_back(new Cell(1)); /* site: cell */
        }
    }
    ~Store()
    {
        delete[] array_;
        for (Cell *cell : cells_)
            delete cell;
    }
    Store(const Store &) = delete;
    Store &operator=(const Store &) = delete;

    long pass() const
    {
        const volatile long *array = array_;
        const volatile long *numbers = numbers_.data();
        const Cell *cell = cells_.front();
        long total = 0;
        for (size_t i = 0; i < count_; i++)
            total += array[2 * i] + array[2 * i + 1] + numbers[i] + cell->value;
        return total;
    }

  private:
    size_t count_;
    long *array_;
    std::vector<long> numbers_;
    std::vector<Cell *> cells_;
};

} // namespace shop

__attribute__((noinline)) static void refuse(long round)
{
    if (round % 100 == 0)
        throw std::runtime_error("round " + std::to_string(round));
}

int main(int argc, char **argv)
{
    size_t count = static_cast<size_t>(example_option(argc, argv, "count", 16384));
    long rounds = example_work(argc, argv, "rounds", 80000);
    shop::Store store(count);
    long total = 0, caught = 0;
    for (long round = 0; round < rounds; round++) {
        try {
            refuse(round);
            total += store.pass();
        } catch (const std::runtime_error &error) {
            caught += error.what()[0] == 'r';
        }
    }
    printf("total %ld, caught %ld\n", total, caught);
    if (example_flag(argc, argv, "truth")) {
        unsigned long each = count * static_cast<size_t>(rounds - caught);
        example_truth("array", "cxx_new", 2 * each, 2 * count);
        example_truth("numbers", "cxx_new", each, count);
        example_truth("cell", "cxx_new", each, count);
    }
    return 0;
}
