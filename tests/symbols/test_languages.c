/* C++ and Fortran, where their compilers are. */
#include "fixture.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <string.h>

#ifdef KNOWN_CXX
static void cxx_functions_and_objects(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_CXX, NULL, 0);
    struct symbol_frame frames[8];
    uint64_t size, sum = fixture_address(KNOWN_CXX, "_ZNK4grid6MatrixIdE3sumEi", &size);
    bool on_line = false;
    for (uint64_t addr = sum; addr < sum + size; addr += 4) {
        size_t count = symbols_frames(module, addr, frames, 8);
        assert_true(count >= 1);
        assert_string_equal(frames[count - 1].function, "grid::Matrix<double>::sum(int) const");
        on_line |= frames[count - 1].line == fixture_line(KNOWN_CXX_SOURCE, "sum");
    }
    assert_true(on_line);
    uint64_t constructor = fixture_address(KNOWN_CXX, "_ZN4grid6MatrixIdEC2Ei", NULL);
    size_t count = symbols_frames(module, constructor, frames, 8);
    assert_true(count >= 1);
    assert_string_equal(frames[count - 1].function, "grid::Matrix<double>::Matrix(int)");
#ifdef KNOWN_OPENMP
    count = symbols_frames(module, fixture_address(KNOWN_CXX, "_ZL7doubledd._omp_fn.0", NULL), frames, 8);
    assert_true(count >= 1);
    assert_string_equal(frames[count - 1].function, "doubled(double) [clone ._omp_fn.0]");
#endif

    struct symbol_object object;
    assert_true(symbols_object(module, fixture_address(KNOWN_CXX, "_ZN4grid6MatrixIdE6zeroesE", NULL) + 8, &object));
    assert_string_equal(object.name, "grid::Matrix<double>::zeroes");
    assert_int_equal(object.size, 32 * sizeof(double));
    assert_true(object.line > 0);
    assert_true(
        symbols_object(module, fixture_address(KNOWN_CXX, "_ZN12_GLOBAL__N_114hidden_numbersE", NULL), &object));
    assert_string_equal(object.name, "(anonymous namespace)::hidden_numbers");
    assert_int_equal(object.line, fixture_line(KNOWN_CXX_SOURCE, "hidden_numbers"));
    assert_true(symbols_object(module, fixture_address(KNOWN_CXX, "_ZZ4mainE4kept", NULL), &object));
    assert_string_equal(object.name, "main::kept");
    assert_int_equal(object.line, fixture_line(KNOWN_CXX_SOURCE, "kept"));
    symbols_free(symbols);
}
#endif

#ifdef KNOWN_FORTRAN
static void fortran_functions_and_objects(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_FORTRAN, NULL, 0);
    struct symbol_frame frames[8];
    static const struct {
        const char *symbol, *name;
    } functions[] = {{"MAIN__", "heat"}, {"exchange_", "exchange"}, {"__fields_MOD_relax", "fields::relax"}};
    for (size_t i = 0; i < 3; i++) {
        size_t count = symbols_frames(module, fixture_address(KNOWN_FORTRAN, functions[i].symbol, NULL), frames, 8);
        assert_true(count >= 1);
        assert_string_equal(frames[count - 1].function, functions[i].name);
        assert_true(fixture_ends_with(frames[count - 1].file, "known.f90"));
    }
    struct symbol_object object;
    assert_true(symbols_object(module, fixture_address(KNOWN_FORTRAN, "__fields_MOD_pressure", NULL) + 40, &object));
    assert_string_equal(object.name, "fields::pressure");
    assert_int_equal(object.size, 1000 * sizeof(double));
    assert_int_equal(object.line, 4);
    uint64_t halo = fixture_address(KNOWN_FORTRAN, "halo_", NULL);
    static const struct {
        uint64_t at, start, size;
        const char *name;
    } members[] = {
        {0, 0, 320, "halo/left"},      {319, 0, 320, "halo/left"},   {320, 320, 480, "halo/right"},
        {799, 320, 480, "halo/right"}, {800, 800, 32, "halo/flags"}, {831, 800, 32, "halo/flags"},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        assert_true(symbols_object(module, halo + members[i].at, &object));
        assert_string_equal(object.name, members[i].name);
        assert_int_equal(object.start, halo + members[i].start);
        assert_int_equal(object.size, members[i].size);
    }
    assert_true(symbols_object(module, fixture_address(KNOWN_FORTRAN, "rounds", NULL), &object));
    assert_string_equal(object.name, "rounds");
    symbols_free(symbols);
}
#endif

static void names_are_demangled(void **state)
{
    (void)state;
    static const struct {
        const char *mangled, *shown;
    } cases[] = {
        {"main", "main"},
        {"", ""},
        {"_", "_"},
        {"_start", "_start"},
        {"_Znwm", "operator new(unsigned long)"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
        {"_RNvNtCs15kBYyAo9fc_7mycrate3sub4work", "mycrate::sub::work"},
        {"__fields_MOD_pressure", "fields::pressure"},
        {"__MOD_x", "__MOD_x"},
        {"_Zgarbage", "_Zgarbage"},
        {"_ZN", "_ZN"},
        {"_D4core8internal2gc2os10os_mem_mapFNbmbZPv", "core.internal.gc.os.os_mem_map"},
        {"_D6matmul6matGenFxmxdZAAd", "matmul.matGen"},
        {"_D3std5stdio__T7writelnTAyaZQnFNfQjZv", "std.stdio.writeln"},
        {"_D4work4gridQfQm", "work.grid.grid.work"},
        {"_D4wor", "_D4wor"},
        {"_D4workQz", "work"},
        {"_DYNAMIC", "_DYNAMIC"},
    };
    struct symbols *symbols = symbols_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int again = 0; again < 2; again++)
            assert_string_equal(symbols_demangle(symbols, cases[i].mangled), cases[i].shown);
    symbols_free(symbols);
}

/* f(A<int, int>, A<that, that>, A<that, that>, ...): each parameter is twice as long as the one before. */
static void make_doubling_name(char *name, int doublings)
{
    strcpy(name, "_Z1f1AIiiE");
    for (int i = 0; i < doublings; i++) {
        char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];
        sprintf(name + strlen(name), "S_IS%c_S%c_E", digit, digit);
    }
}

static void a_name_that_explodes_is_left_alone(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    char name[1024];
    make_doubling_name(name, 2);
    assert_string_equal(symbols_demangle(symbols, name),
                        "f(A<int, int>, A<A<int, int>, A<int, int> >, A<A<A<int, int>, A<int, int> >, "
                        "A<A<int, int>, A<int, int> > >)");
    make_doubling_name(name, 34); /* a hundred gigabytes */
    assert_string_equal(symbols_demangle(symbols, name), name);
    char *long_name = malloc(100001);
    memset(long_name, 'P', 100000);
    memcpy(long_name, "_Z1f", 4);
    long_name[100000] = '\0';
    assert_string_equal(symbols_demangle(symbols, long_name), long_name);
    free(long_name);
    symbols_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef KNOWN_CXX
        cmocka_unit_test(cxx_functions_and_objects),
#endif
#ifdef KNOWN_FORTRAN
        cmocka_unit_test(fortran_functions_and_objects),
#endif
        cmocka_unit_test(names_are_demangled),
        cmocka_unit_test(a_name_that_explodes_is_left_alone),
    };
    return cmocka_run_group_tests_name("languages", tests, NULL, NULL);
}
