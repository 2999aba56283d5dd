// cxx_libraries.cc - objects behind libraries of templates, in the shapes of Eigen, Kokkos and Boost: deep expression templates that are
// inlined as a whole, handles that allocate out of line, arrays of arrays.
// Truth: Solver::left, Solver::field and Solver::grid are made in one constructor; `product` by an assignment through 24 inlined functions of the library.
// Two boxes are made by two lines, so that each member is its box's: first.cells, first.marks, second.cells. `twice` is made by an operator, `grown` by a
// function that is given it, `table` by its `[]`. What stable_sort merges in is no variable's; `order` is what it sorts.
#include "example.h"

#include <algorithm>
#include <vector>

namespace Eigen {

namespace internal {

__attribute__((noinline)) void *aligned_malloc(size_t size)
{
    void *block = NULL;
    example_need(posix_memalign(&block, 64, size) == 0, "posix_memalign");
    return memset(block, 0, size);
}

template <int Depth> struct assignment {
    __attribute__((always_inline)) static double *run(size_t count)
    {
        return assignment<Depth - 1>::run(count);
    }
};

template <> struct assignment<0> {
    __attribute__((always_inline)) static double *run(size_t count)
    {
        return static_cast<double *>(aligned_malloc(count * sizeof(double)));
    }
};

} // namespace internal

template <class T> class Matrix {
  public:
    Matrix() : data_(NULL), count_(0)
    {
    }
    explicit Matrix(size_t count) : data_(internal::assignment<8>::run(count)), count_(count)
    {
    }
    ~Matrix()
    {
        free(data_);
    }
    Matrix(const Matrix &) = delete;
    Matrix &operator=(const Matrix &) = delete;
    __attribute__((always_inline)) Matrix &operator=(size_t count)
    {
        free(data_);
        data_ = internal::assignment<24>::run(count);
        count_ = count;
        return *this;
    }
    T *data()
    {
        return data_;
    }
    size_t size() const
    {
        return count_;
    }
    friend Matrix operator*(const Matrix &left, double factor)
    {
        (void)factor;
        return Matrix(left.count_);
    }

  private:
    T *data_;
    size_t count_;
};

} // namespace Eigen

namespace Kokkos {

namespace Impl {

struct SharedAllocationRecord {
    void *data;
    explicit SharedAllocationRecord(size_t size);
};

__attribute__((noinline)) SharedAllocationRecord::SharedAllocationRecord(size_t size) : data(calloc(size, 1))
{
}

} // namespace Impl

template <class T> struct View {
    Impl::SharedAllocationRecord *record;
    View(const char *label, size_t count) : record(new Impl::SharedAllocationRecord(count * sizeof(T)))
    {
        (void)label;
    }
    T *data()
    {
        return static_cast<T *>(record->data);
    }
};

template <class T> void resize(View<T> &view, size_t count)
{
    view = View<T>("", count);
}

} // namespace Kokkos

namespace boost {

template <class T, unsigned long Dimensions> class multi_array {
  public:
    explicit multi_array(size_t side) : base_(allocate_space(side))
    {
    }
    T *data()
    {
        return base_;
    }

  private:
    __attribute__((noinline)) T *allocate_space(size_t side)
    {
        return new T[side * side]();
    }
    T *base_;
};

template <class Key, class T> class unordered_map {
  public:
    unordered_map() : items_(NULL)
    {
    }
    T &operator[](Key key)
    {
        if (!items_)
            items_ = new T[1 << 18]();
        return items_[key];
    }
    T *data()
    {
        return items_;
    }

  private:
    T *items_;
};

} // namespace boost

enum { SIDE = 512, COUNT = SIDE * SIDE };

struct Solver {
    Eigen::Matrix<double> left;
    Kokkos::View<double> field;
    boost::multi_array<double, 2> grid;
    explicit Solver(size_t side);
};

Solver::Solver(size_t side) : left(side * side), field("field", side * side), grid(side) /* site: solver */
{
}

struct Box {
    boost::multi_array<double, 2> cells;
    double *marks;
    explicit Box(size_t side);
};

Box::Box(size_t side) : cells(side), marks(new double[side * side]()) /* site: box */
{
}

__attribute__((noinline)) static void add(double *items, size_t count)
{
    volatile double *item = items;
    for (size_t i = 0; i < count; i++)
        item[i] = item[i] + 1;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 40);
    Solver solver(SIDE);
    Eigen::Matrix<double> product;
    product = COUNT;                           /* site: product */
    Eigen::Matrix<double> twice = product * 2; /* site: twice */
    Kokkos::View<double> grown("grown", 1), other("other", 1);
    Kokkos::resize(grown, COUNT); /* site: grown */
    boost::unordered_map<long, double> table;
    for (long i = 0; i < COUNT; i++)
        table[i] = static_cast<double>(i); /* site: table */
    Box first(SIDE);                       /* site: first */
    Box *second = new Box(SIDE);           /* site: second */
    std::vector<long> order(COUNT);
    for (long round = 0; round < rounds; round++) {
        add(solver.left.data(), COUNT);
        add(solver.field.data(), COUNT);
        add(solver.grid.data(), COUNT);
        add(product.data(), product.size());
        double *const others[] = {twice.data(),       grown.data(), table.data(),
                                  first.cells.data(), first.marks,  second->cells.data()};
        for (double *items : others)
            add(items, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            order[i] = static_cast<long>(i * 7919 % COUNT);
        std::stable_sort(order.begin(), order.end()); /* site: sorted */
    }
    printf("%ld\n", order[COUNT / 2]);
    return 0;
}
