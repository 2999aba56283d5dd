#include "../skip.h"
#include "fixture.h"
#include "symbols/binary.h"
#include "symbols/symbols.h"
#include "symbols/symtab.h"

#include <stdio.h>
#include <string.h>

/* Three frames at the label in `leaf`, with the lines where each calls the next. */
static void check_inlines(struct symbols_module *module, const char *known)
{
    struct symbol_frame frames[8];
    uint64_t probe = fixture_address(known, "probe_leaf", NULL), outer = fixture_address(known, "outer", NULL);
    for (int again = 0; again < 2; again++) { /* the second answer is the remembered one */
        assert_int_equal(symbols_frames(module, probe, frames, 8), 3);
        assert_string_equal(frames[0].function, "leaf");
        assert_string_equal(frames[1].function, "middle");
        assert_string_equal(frames[2].function, "outer");
        assert_int_equal(frames[0].line, fixture_line(KNOWN_SOURCE, "leaf"));
        assert_int_equal(frames[1].line, fixture_line(KNOWN_SOURCE, "middle"));
        assert_int_equal(frames[2].line, fixture_line(KNOWN_SOURCE, "outer"));
        for (int i = 0; i < 3; i++) {
            assert_int_equal(frames[i].inlined, i < 2);
            assert_true(fixture_ends_with(frames[i].file, "fixtures/known.c"));
        }
        assert_int_equal(frames[2].offset, probe - outer);
    }
    assert_int_equal(symbols_frames(module, probe, frames, 2), 2);
    assert_string_equal(frames[1].function, "middle");
}

static void inlined_functions_are_frames(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_DEBUG, NULL, 0);
    assert_null(symbols_module_trouble(module));
    check_inlines(module, KNOWN_DEBUG);
    struct symbol_frame frames[8];
    assert_int_equal(symbols_frames(module, fixture_address(KNOWN_DEBUG, "probe_hidden", NULL), frames, 8), 1);
    assert_string_equal(frames[0].function, "hidden");
    assert_int_equal(frames[0].line, fixture_line(KNOWN_SOURCE, "hidden"));
    assert_false(frames[0].inlined);
    symbols_free(symbols);
}

static void without_debug_info_there_is_function_and_offset(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_PLAIN, NULL, 0);
    struct symbol_frame frame;
    uint64_t probe = fixture_address(KNOWN_PLAIN, "probe_hidden", NULL);
    assert_int_equal(symbols_frames(module, probe, &frame, 1), 1);
    assert_string_equal(frame.function, "hidden");
    assert_string_equal(frame.file, "");
    assert_int_equal(frame.line, 0);
    assert_int_equal(frame.offset, probe - fixture_address(KNOWN_PLAIN, "hidden", NULL));
    assert_int_equal(symbols_frames(module, fixture_address(KNOWN_PLAIN, "_start", NULL) + 4, &frame, 1), 1);
    assert_string_equal(frame.function, "_start");
    assert_int_equal(frame.offset, 4);
    assert_int_equal(symbols_frames(module, 1, &frame, 1), 0);
    assert_int_equal(symbols_frames(module, UINT64_MAX, &frame, 1), 0);
    struct symbol_object object;
    assert_true(symbols_object(module, fixture_address(KNOWN_PLAIN, "local_array", NULL) + 80, &object));
    assert_string_equal(object.name, "local_array");
    assert_int_equal(object.size, 300 * sizeof(long));
    assert_string_equal(object.file, "");
    symbols_free(symbols);
}

static void tables_alone_name_the_real_function(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_DEBUG, NULL, 0);
    uint64_t probe = fixture_address(KNOWN_DEBUG, "probe_leaf", NULL);
    struct symbol_frame frame = symbols_function(module, probe);
    assert_string_equal(frame.function, "outer");
    assert_string_equal(frame.file, "");
    assert_int_equal(frame.line, 0);
    assert_int_equal(frame.offset, probe - fixture_address(KNOWN_DEBUG, "outer", NULL));
    check_inlines(module, KNOWN_DEBUG); /* which know more all the same */
    assert_string_equal(symbols_function(module, 1).function, "");
    symbols_free(symbols);
}

static void check_object(struct symbols_module *module, const char *known, const char *symbol, const char *name,
                         uint64_t size, const char *mark)
{
    struct symbol_object object;
    uint64_t start = fixture_address(known, symbol, NULL);
    for (uint64_t at = start; at < start + size; at += size - 1) {
        assert_true(symbols_object(module, at, &object));
        assert_string_equal(object.name, name);
        assert_int_equal(object.start, start);
        assert_int_equal(object.size, size);
        if (mark) {
            assert_int_equal(object.line, fixture_line(KNOWN_SOURCE, mark));
            assert_true(fixture_ends_with(object.file, "fixtures/known.c"));
        }
    }
}

static void static_objects_have_names_and_places(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_DEBUG, NULL, 0);
    check_object(module, KNOWN_DEBUG, "global_array", "global_array", 500 * sizeof(int), "global_array");
    check_object(module, KNOWN_DEBUG, "local_array", "local_array", 300 * sizeof(long), "local_array");
    check_object(module, KNOWN_DEBUG, "constant_text", "constant_text", 64, NULL);
    check_object(module, KNOWN_DEBUG, "calls", "calls", 7 * sizeof(int), "calls");
    check_object(module, KNOWN_DEBUG, "assembly_words", "assembly_words", 32, NULL); /* bounded by the next label */
    struct symbol_object object;
    assert_false(symbols_object(module, fixture_address(KNOWN_DEBUG, "main", NULL), &object));
    assert_false(symbols_object(module, 3, &object));
    /* A thread-local's value is an offset, and its room in the file is only what it starts with. */
    struct symbol_section section;
    for (uint64_t addr = 0; addr < 0x40000; addr += 4)
        if (addr < 0x1000 || (symbols_section(module, addr, &section) && strcmp(section.name, ".tdata") == 0))
            assert_false(symbols_object(module, addr, &object) && strcmp(object.name, "thread_locals") == 0);
    assert_true(symbols_thread_local(module, 399, &object));
    assert_string_equal(object.name, "thread_locals");
    assert_int_equal(object.start, 0);
    assert_int_equal(object.size, 100 * sizeof(int));
    assert_int_equal(object.line, fixture_line(KNOWN_SOURCE, "thread_locals"));
    assert_true(fixture_ends_with(object.file, "fixtures/known.c"));
    assert_false(symbols_thread_local(module, 400, &object));
    symbols_free(symbols);
}

static void other_kinds_of_debug_info(void **state)
{
    (void)state;
    static const char *const kinds[] = {KNOWN_DWARF4, KNOWN_PACKED, KNOWN_SPLIT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, kinds[i], NULL, 0);
        check_inlines(module, kinds[i]);
        check_object(module, kinds[i], "local_array", "local_array", 300 * sizeof(long), "local_array");
        check_object(module, kinds[i], "calls", "calls", 7 * sizeof(int), "calls");
        symbols_free(symbols);
    }
}

static void sections_are_known(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_PLAIN, NULL, 0);
    struct symbol_section section;
    assert_true(symbols_section(module, fixture_address(KNOWN_PLAIN, "main", NULL), &section));
    assert_true(strncmp(section.name, ".text", 5) == 0);
    assert_true(section.executable && !section.writable);
    assert_true(symbols_section(module, fixture_address(KNOWN_PLAIN, "local_array", NULL), &section));
    assert_string_equal(section.name, ".bss");
    assert_true(section.writable && !section.executable);
    assert_true(symbols_section(module, fixture_address(KNOWN_PLAIN, "_GLOBAL_OFFSET_TABLE_", NULL), &section));
    assert_true(strncmp(section.name, ".got", 4) == 0);
    struct symbol_object object; /* the linker's mark is no variable, whatever its type */
    assert_false(symbols_object(module, fixture_address(KNOWN_PLAIN, "_GLOBAL_OFFSET_TABLE_", NULL), &object));
    assert_false(symbols_section(module, 1, &section));
    symbols_free(symbols);
}

static void calls_out_of_a_library_have_names(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, LIBRARY, NULL, 0);
    struct symbol_frame frame;
    bool seen = false;
    /* Each stub of .plt and its kin: at most 32 bytes long, and malloc's is among them. */
    for (uint64_t addr = 0; addr < 0x10000; addr += 8) {
        struct symbol_section section;
        if (symbols_section(module, addr, &section) && strncmp(section.name, ".plt", 4) == 0 &&
            symbols_frames(module, addr, &frame, 1) == 1 && strcmp(frame.function, "malloc@plt") == 0) {
            seen = true;
            assert_true(frame.offset < 32);
        }
    }
    assert_true(seen);
    struct symbol_object object;
    assert_true(symbols_object(module, fixture_address(LIBRARY, "shared_table", NULL) + 8, &object));
    assert_string_equal(object.name, "shared_table");
    assert_int_equal(object.line, fixture_line(LIBRARY_SOURCE, "shared_table"));
    symbols_free(symbols);
}

static unsigned tables_read;
bool __real_symtab_read(const struct binary *binary, struct symtab *symtab);
bool __wrap_symtab_read(const struct binary *binary, struct symtab *symtab);

bool __wrap_symtab_read(const struct binary *binary, struct symtab *symtab)
{
    tables_read++;
    return __real_symtab_read(binary, symtab);
}

/* A recorder asks for no more: the tables of node have 200,000 names. */
static void tables_are_read_for_names_only(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, KNOWN_DEBUG, NULL, 0);
    struct symbol_frame frame;
    uint8_t build_id[BUILD_ID_MOST];
    uint64_t low, high;
    tables_read = 0;
    assert_int_equal(symbols_build_id(module, build_id, sizeof build_id), 8);
    assert_true(symbols_extent(module, &low, &high));
    assert_true(symbols_address_of_offset(module, 0, &low));
    assert_null(symbols_module_trouble(module));
    assert_int_equal(tables_read, 0);
    assert_true(symbols_frames(module, fixture_address(KNOWN_DEBUG, "outer", NULL), &frame, 1) > 0);
    assert_int_equal(tables_read, 1);
    symbols_free(symbols);
}

static void debug_files_are_found_by_link(void **state)
{
    (void)state;
    char *copy, *directory = fixture_directory(KNOWN_DEBUG, &copy);
    fixture_run(
        "objcopy --remove-section .note.gnu.build-id '%s' 2>/dev/null && objcopy --only-keep-debug '%s' '%s.debug' && "
        "strip -s '%s' && objcopy --add-gnu-debuglink='%s.debug' '%s'",
        copy, copy, copy, copy, copy, copy);
    struct symbols *symbols = symbols_new();
    check_inlines(symbols_module(symbols, copy, NULL, 0), KNOWN_DEBUG);
    check_object(symbols_module(symbols, copy, NULL, 0), KNOWN_DEBUG, "local_array", "local_array", 300 * sizeof(long),
                 "local_array");
    symbols_free(symbols);
    /* In .debug/ beside it. */
    fixture_run("mkdir '%s/.debug' && mv '%s.debug' '%s/.debug'", directory, copy, directory);
    symbols = symbols_new();
    check_inlines(symbols_module(symbols, copy, NULL, 0), KNOWN_DEBUG);
    symbols_free(symbols);
    /* One whose checksum differs is not taken. */
    fixture_run("printf x >>'%s/.debug/known_debug.debug'", directory);
    symbols = symbols_new();
    struct symbol_frame frame;
    uint64_t probe = fixture_address(KNOWN_DEBUG, "probe_leaf", NULL);
    assert_int_equal(symbols_frames(symbols_module(symbols, copy, NULL, 0), probe, &frame, 1), 0);
    symbols_free(symbols);
    fixture_clean(directory, copy);
}

/* The build-id as the linker was asked to make it. */
static const uint8_t known_id[] = {0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89};

static void debug_files_are_found_by_build_id(void **state)
{
    (void)state;
    char *copy, *directory = fixture_directory(KNOWN_DEBUG, &copy);
    fixture_run(
        "mkdir -p '%s/.build-id/ab' && objcopy --only-keep-debug '%s' '%s/.build-id/ab/cdef0123456789.debug' && "
        "strip -s '%s'",
        directory, copy, directory, copy);
    struct symbols *symbols = symbols_new();
    symbols_add_debug_directory(symbols, directory);
    struct symbols_module *module = symbols_module(symbols, copy, known_id, sizeof known_id);
    assert_null(symbols_module_trouble(module));
    check_inlines(module, KNOWN_DEBUG);
    assert_ptr_equal(module, symbols_module(symbols, copy, known_id, sizeof known_id));
    symbols_free(symbols);
    /* The program was deleted: its debug file still knows. */
    fixture_run("rm '%s'", copy);
    symbols = symbols_new();
    symbols_add_debug_directory(symbols, directory);
    module = symbols_module(symbols, copy, known_id, sizeof known_id);
    assert_non_null(strstr(symbols_module_trouble(module), "No such file"));
    check_inlines(module, KNOWN_DEBUG);
    symbols_free(symbols);
    fixture_clean(directory, copy);
}

/* A program that was deleted, or another build of it. */
static void binaries_are_found_elsewhere(void **state)
{
    (void)state;
    char *copy, *directory = fixture_directory(KNOWN_DEBUG, &copy);
    const char *home = getenv("HOME");
    char *old_home = home ? strdup(home) : NULL;
    fixture_run("mkdir -p '%s/tree/missing'", directory);
    setenv("HOME", directory, 1);
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, "/missing/known", known_id, sizeof known_id);
    assert_non_null(strstr(symbols_module_missing(module), "No such file"));
    symbols_free(symbols);
    /* Below another root, with and without a build-id. */
    fixture_run("cp '%s' '%s/tree/missing/known'", copy, directory);
    char tree[600];
    snprintf(tree, sizeof tree, "%s/tree", directory);
    for (unsigned with_id = 0; with_id < 2; with_id++) {
        symbols = symbols_new();
        symbols_set_root(symbols, tree);
        module = symbols_module(symbols, "/missing/known", known_id, with_id ? sizeof known_id : 0);
        assert_null(symbols_module_missing(module));
        check_inlines(module, KNOWN_DEBUG);
        /* What is here under that path is another machine's, unless the build-id shows that it is the same. */
        assert_int_equal(
            !symbols_module_missing(symbols_module(symbols, copy, known_id, with_id ? sizeof known_id : 0)), with_id);
        symbols_free(symbols);
    }
    /* In perf's cache, by build-id: as a folder, and as older versions have it. */
    fixture_run("mkdir -p '%s/.debug/.build-id/ab/cdef0123456789' && cp '%s' "
                "'%s/.debug/.build-id/ab/cdef0123456789/elf'",
                directory, copy, directory);
    for (unsigned older = 0; older < 2; older++) {
        symbols = symbols_new();
        module = symbols_module(symbols, "/missing/known", known_id, sizeof known_id);
        assert_null(symbols_module_missing(module));
        check_inlines(module, KNOWN_DEBUG);
        assert_non_null(symbols_module_missing(symbols_module(symbols, "/missing/known", NULL, 0)));
        symbols_free(symbols);
        if (!older)
            fixture_run("cd '%s/.debug/.build-id/ab' && rm -r cdef0123456789 && cp '%s' cdef0123456789", directory,
                        copy);
    }
    /* Another build is not taken, wherever it is. */
    static const uint8_t other_id[] = {0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x88};
    fixture_run("cd '%s/.debug/.build-id/ab' && cp '%s' cdef0123456788", directory, copy);
    symbols = symbols_new();
    symbols_set_root(symbols, tree);
    module = symbols_module(symbols, copy, other_id, sizeof other_id);
    assert_non_null(strstr(symbols_module_missing(module), "build-id differs"));
    symbols_free(symbols);
    if (old_home)
        setenv("HOME", old_home, 1);
    else
        unsetenv("HOME");
    free(old_home);
    fixture_clean(directory, copy);
}

static void compressed_symbols_in_a_stripped_program(void **state)
{
    (void)state;
    if (system("command -v xz >/dev/null") != 0)
        skip_test("xz is not installed");
    char *copy, *directory = fixture_directory(KNOWN_PLAIN, &copy);
    fixture_run("cp '%s' '%s.mini' && strip --strip-debug '%s.mini' && xz '%s.mini' && strip -s '%s' && "
                "objcopy --add-section .gnu_debugdata='%s.mini.xz' '%s'",
                copy, copy, copy, copy, copy, copy, copy);
    struct symbols *symbols = symbols_new();
    struct symbol_frame frame;
    uint64_t hidden = fixture_address(KNOWN_PLAIN, "hidden", NULL);
    assert_int_equal(symbols_frames(symbols_module(symbols, copy, NULL, 0), hidden + 4, &frame, 1), 1);
    assert_string_equal(frame.function, "hidden");
    assert_int_equal(frame.offset, 4);
    symbols_free(symbols);
    fixture_clean(directory, copy);
}

static void bad_files_say_what_is_wrong(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbol_frame frame;
    struct symbol_object object;
    struct symbol_section section;
    uint8_t other_id[sizeof known_id] = {1};
    const struct {
        const char *path, *trouble;
        const uint8_t *id;
    } cases[] = {
        {"/nonexistent/program", "No such file", NULL},
        {"", "No such file", NULL},
        {"/dev/null", "not a regular file", NULL},
        {"/proc", "not a regular file", NULL},
        {KNOWN_SOURCE, "not an ELF file", NULL},
        {KNOWN_DEBUG, "build-id differs", other_id},
        {KNOWN_DEBUG, NULL, known_id},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct symbols_module *module =
            symbols_module(symbols, cases[i].path, cases[i].id, cases[i].id ? sizeof other_id : 0);
        const char *trouble = symbols_module_trouble(module);
        if (!cases[i].trouble) {
            assert_null(trouble);
            continue;
        }
        assert_non_null(trouble);
        if (!strstr(trouble, cases[i].trouble))
            fail_msg("%s: %s", cases[i].path, trouble);
        uint64_t addr = fixture_address(KNOWN_DEBUG, "outer", NULL);
        assert_int_equal(symbols_frames(module, addr, &frame, 1), 0);
        assert_false(symbols_object(module, addr, &object));
        assert_false(symbols_section(module, addr, &section));
    }
    symbols_free(symbols);
}

static void the_kernels_own_library(void **state)
{
    (void)state;
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, "[vdso]", NULL, 0);
    if (symbols_module_trouble(module))
        skip_test("the kernel's own code cannot be read: %s", symbols_module_trouble(module));
    struct symbol_section section;
    bool has_code = false;
    for (uint64_t addr = 0; addr < 0x4000 && !has_code; addr += 16)
        has_code = symbols_section(module, addr, &section) && section.executable;
    assert_true(has_code);
    symbols_free(symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_are_frames),
        cmocka_unit_test(without_debug_info_there_is_function_and_offset),
        cmocka_unit_test(tables_alone_name_the_real_function),
        cmocka_unit_test(static_objects_have_names_and_places),
        cmocka_unit_test(other_kinds_of_debug_info),
        cmocka_unit_test(sections_are_known),
        cmocka_unit_test(calls_out_of_a_library_have_names),
        cmocka_unit_test(tables_are_read_for_names_only),
        cmocka_unit_test(debug_files_are_found_by_link),
        cmocka_unit_test(debug_files_are_found_by_build_id),
        cmocka_unit_test(binaries_are_found_elsewhere),
        cmocka_unit_test(compressed_symbols_in_a_stripped_program),
        cmocka_unit_test(bad_files_say_what_is_wrong),
        cmocka_unit_test(the_kernels_own_library),
    };
    return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
