#include "fixture.h"
#include "symbols/types.h"

#include <stdio.h>
#include <string.h>

static const char *const programs[] = {FRUITS_PLAIN, FRUITS_SPLIT, FRUITS_UNITS};

static void units_of_equal_offsets_have_their_own_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, programs[i], NULL, 0);
        struct symbol_variable variable;
        assert_true(symbols_variable(module, fixture_address(programs[i], "probe_apple", NULL), 0, "held", &variable));
        assert_string_equal(variable.type, "apple *");
        assert_true(symbols_variable(module, fixture_address(programs[i], "probe_grape", NULL), 0, "held", &variable));
        assert_string_equal(variable.type, "grape *");
        symbols_free(symbols);
    }
}

static void fields_are_as_they_are_declared(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "const char *const label", "double *restrict weights",       "_Atomic int picked", "volatile int seen",
        "int (*grid)[4]",          "const struct apple *rows[3][2]", "void (*taste)()",    "enum shape shape"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, programs[i], NULL, 0);
        const struct symbol_type *type =
            symbols_expression_type(module, fixture_address(programs[i], "probe_apple", NULL), 0, "held");
        assert_non_null(type);
        assert_string_equal(type->name, "struct apple");
        assert_int_equal(type->field_count, sizeof fields / sizeof *fields);
        for (size_t k = 0; k < type->field_count; k++) {
            char text[200];
            snprintf(text, sizeof text, "%s%s%s", type->fields[k].before, type->fields[k].name, type->fields[k].after);
            assert_string_equal(text, fields[k]);
        }
        symbols_free(symbols);
    }
}

static void types_are_found_by_their_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, programs[i], NULL, 0);
        const struct symbol_type *type =
            symbols_named_type(module, fixture_address(programs[i], "probe_grape", NULL), "struct grape");
        assert_non_null(type);
        assert_int_equal(type->field_count, 8);
        assert_string_equal(type->fields[1].name, "weights");
        assert_null(symbols_named_type(module, fixture_address(programs[i], "probe_grape", NULL), "struct cherry"));
        symbols_free(symbols);
    }
}

#ifdef SCOPES_PLAIN
static void types_have_the_scopes_around_them(void **state)
{
    (void)state;
    static const char *const scoped[] = {SCOPES_PLAIN, SCOPES_SPLIT, SCOPES_UNITS};
    static const char *const types[][2] = {{"before", "before *"},           {"first", "one::first *"},
                                           {"inner", "one::first::inner *"}, {"deep", "one::first::inner::deep *"},
                                           {"second", "one::second *"},      {"only", "one::two::only *"},
                                           {"hidden", "one::hidden *"},      {"last", "one::last *"},
                                           {"behind", "behind *"},           {"again", "one::again *"}};
    for (size_t i = 0; i < sizeof scoped / sizeof *scoped; i++) {
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, scoped[i], NULL, 0);
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            struct symbol_variable variable;
            char probe[32];
            snprintf(probe, sizeof probe, "probe_%s", types[k][0]);
            assert_true(symbols_variable(module, fixture_address(scoped[i], probe, NULL), 0, "held", &variable));
            assert_string_equal(variable.type, types[k][1]);
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(types[k][1], " "), types[k][1]);
            const struct symbol_type *type = symbols_named_type(module, fixture_address(scoped[i], probe, NULL), name);
            assert_non_null(type);
            assert_string_equal(type->name, types[k][0]);
            assert_string_equal(type->fields[0].name, "x");
        }
        symbols_free(symbols);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_equal_offsets_have_their_own_types),
        cmocka_unit_test(fields_are_as_they_are_declared),
        cmocka_unit_test(types_are_found_by_their_names),
#ifdef SCOPES_PLAIN
        cmocka_unit_test(types_have_the_scopes_around_them),
#endif
    };
    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
