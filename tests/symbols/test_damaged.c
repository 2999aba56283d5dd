/* Files that are cut short or changed at random: any answer is right, but there must be one. Sanitizers watch. */
#include "../whole_file.h"

#include "fixture.h"
#include "symbols/cut_file.h"
#include "symbols/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void ask_everything(const uint8_t *bytes, size_t size)
{
    char path[] = "/tmp/numalens-damaged-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, path, NULL, 0);
    struct symbol_frame frames[16];
    struct symbol_object object;
    struct symbol_section section;
    symbols_module_trouble(module);
    size_t length = 0; /* reads the texts */
    for (uint64_t addr = 0x600; addr < 0x1400; addr += 12) {
        size_t count = symbols_frames(module, addr, frames, 16);
        for (size_t i = 0; i < count; i++)
            length += strlen(frames[i].function) + strlen(frames[i].file);
    }
    for (uint64_t addr = 0; addr < 0x21000; addr += 64) {
        if (symbols_object(module, addr, &object))
            length += strlen(object.name) + strlen(object.file);
        if (symbols_section(module, addr, &section))
            length += strlen(section.name);
    }
    assert_true(length < SIZE_MAX);
    symbols_free(symbols);
    unlink(path);
}

static void check_cuts(const char *path)
{
    size_t size;
    uint8_t *bytes = whole_file(path, &size);
    for (size_t cut = 0; cut < size; cut += size / 60 + 1)
        ask_everything(bytes, cut);
    free(bytes);
}

/* Changes a few bytes: anywhere, or only in the section table and the headers, where it hurts most. */
static void check_changes(const char *path, int rounds)
{
    size_t size;
    uint8_t *bytes = whole_file(path, &size), *changed = malloc(size);
    uint64_t headers_at;
    memcpy(&headers_at, bytes + 40, 8); /* e_shoff */
    for (int round = 0; round < rounds; round++) {
        memcpy(changed, bytes, size);
        size_t first = 0, room = size;
        if (round % 4 == 1) {
            first = headers_at;
            room = size - headers_at;
        } else if (round % 4 == 2) {
            first = 16; /* behind the magic number */
            room = 48;
        } else if (round % 4 == 3) {
            first = headers_at / 2; /* where debug information is */
            room = headers_at - first;
        }
        int changes = 1 + (int)(next_random() % 30);
        for (int i = 0; i < changes; i++) {
            static const uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
            uint64_t value = next_random();
            changed[first + next_random() % room] = value & 0x100 ? nasty[value % sizeof nasty] : (uint8_t)value;
        }
        ask_everything(changed, size);
    }
    free(changed);
    free(bytes);
}

static void programs_cut_short(void **state)
{
    (void)state;
    check_cuts(KNOWN_DEBUG);
    check_cuts(KNOWN_PLAIN);
}

static void programs_changed_at_random(void **state)
{
    (void)state;
    const char *rounds = getenv("NUMALENS_FUZZ_ROUNDS");
    check_changes(KNOWN_DEBUG, rounds ? atoi(rounds) : 200);
    check_changes(LIBRARY, rounds ? atoi(rounds) : 100);
#ifdef KNOWN_FORTRAN
    check_changes(KNOWN_FORTRAN, rounds ? atoi(rounds) : 100);
#endif
}

/* The program itself may do that to its libraries. */
static void cut_while_it_is_read(void **state)
{
    (void)state;
    size_t size, length = 0;
    char path[] = "/tmp/numalens-cut-XXXXXX";
    uint8_t *bytes = whole_file(KNOWN_DEBUG, &size);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    cut_file_survive();
    for (size_t left = 0; left < size; left += size / 5) {
        assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
        struct symbols *symbols = symbols_new();
        struct symbols_module *module = symbols_module(symbols, path, NULL, 0);
        struct symbol_frame frames[16];
        assert_null(symbols_module_trouble(module)); /* it is open now */
        assert_int_equal(ftruncate(fd, (off_t)left), 0);
        for (uint64_t addr = 0x600; addr < 0x1400; addr += 12) {
            size_t count = symbols_frames(module, addr, frames, 16);
            for (size_t i = 0; i < count; i++)
                length += strlen(frames[i].function) + strlen(frames[i].file);
        }
        const char *trouble = symbols_module_trouble(module); /* NULL: only what was read before was asked for */
        if (left == 0 || trouble)
            assert_string_equal(trouble ? trouble : "", "became shorter while it was read");
        symbols_free(symbols);
    }
    assert_true(length < SIZE_MAX);
    close(fd);
    unlink(path);
    free(bytes);
}

/* Opening a device or a pipe may do something: neither is opened. */
static void only_files_are_opened(void **state)
{
    (void)state;
    char path[64];
    struct inotify_event seen;
    snprintf(path, sizeof path, "/tmp/numalens-pipe-%d", getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    int watch = inotify_init1(IN_NONBLOCK);
    assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
    struct symbols *symbols = symbols_new();
    assert_string_equal(symbols_module_trouble(symbols_module(symbols, path, NULL, 0)), "is not a regular file");
    assert_int_equal(read(watch, &seen, sizeof seen), -1);
    close(open(path, O_RDONLY | O_NONBLOCK));
    assert_true(read(watch, &seen, sizeof seen) > 0); /* else it would not have been seen */
    symbols_free(symbols);
    close(watch);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_cut_short),
        cmocka_unit_test(programs_changed_at_random),
        cmocka_unit_test(cut_while_it_is_read),
        cmocka_unit_test(only_files_are_opened),
    };
    return cmocka_run_group_tests_name("damaged", tests, NULL, NULL);
}
