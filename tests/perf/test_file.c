/* test_file.c - recordings of real machines, whole, cut and bent. */
#include "../whole_file.h"

#include "perf/perf_file.h"
#include "perf/memory_access.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct tally {
    unsigned types[256];
    unsigned unknown, unparsed, loads, stores, locked;
    unsigned load_levels[16];
    char end[512];
};

static struct perf_file *open_data(const char *name)
{
    char path[4096];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s.perf.data", DATA, name);
    struct perf_file *file = perf_file_open(path, &err);
    if (!file)
        fail_msg("%s", err.text);
    return file;
}

static void count_sample(struct tally *tally, const struct perf_file_record *record)
{
    struct perf_sample sample;
    struct memory_access access;
    if (!record->event) {
        tally->unknown++;
        return;
    }
    if (!perf_sample_parse(&sample, &record->event->layout, record->bytes, record->size)) {
        tally->unparsed++;
        return;
    }
    if (!memory_from_sample(&access, &sample))
        return;
    tally->locked += (access.flags & SAMPLE_LOCKED) != 0;
    tally->stores += (access.flags & SAMPLE_WRITE) != 0;
    if (access.flags & SAMPLE_READ) {
        tally->loads++;
        tally->load_levels[access.level]++;
    }
}

static struct tally count(struct perf_file *file)
{
    struct tally tally = {0};
    struct perf_file_record record;
    struct error err = {0};
    int more;
    while ((more = perf_file_next(file, &record, &err)) > 0) {
        tally.types[record.header->type & 255]++;
        if (record.header->type == PERF_RECORD_SAMPLE)
            count_sample(&tally, &record);
    }
    if (more < 0)
        memcpy(tally.end, err.text, sizeof tally.end);
    return tally;
}

static void test_pebs(void **state)
{
    (void)state;
    struct perf_file *file = open_data("pebs-rcppthread");
    struct tally tally = count(file);
    assert_string_equal(tally.end, "");
    assert_int_equal(tally.types[PERF_RECORD_SAMPLE], 698);
    assert_int_equal(tally.loads, 204);
    assert_int_equal(tally.stores, 494);
    assert_int_equal(tally.locked, 5);
    assert_int_equal(tally.load_levels[LEVEL_L1], 185);
    assert_int_equal(tally.load_levels[LEVEL_LFB], 12);
    assert_int_equal(tally.load_levels[LEVEL_L3], 6);
    assert_int_equal(tally.load_levels[LEVEL_RAM], 1);
    assert_int_equal(tally.types[PERF_RECORD_MMAP], 165);
    assert_int_equal(tally.types[PERF_RECORD_MMAP2], 90);
    assert_int_equal(tally.types[PERF_RECORD_FORK], 10);
    assert_int_equal(tally.unknown + tally.unparsed, 0);

    const struct perf_file_event *events;
    assert_int_equal(perf_file_events(file, &events), 2);
    assert_string_equal(events[0].name, "cpu/mem-loads,ldlat=30/P");
    const struct perf_file_facts *facts = perf_file_facts(file);
    assert_int_equal(facts->node_count, 1);
    assert_string_equal(facts->nodes[0].cpus, "0-15");
    assert_non_null(strstr(facts->cpu_desc, "i9-9980HK"));
    perf_file_close(file);
}

static void test_other_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned samples, mmap2, events;
        const char *command;
    } shapes[] = {
        {"zstd2", 7, 4, 1, "sleep 1"},
        {"zstd-pipe", 8, 4, 1, "sleep 1"},
        {"pipe-header-features", 2, 4, 1, "echo Hello, World!"},
        {"lost-samples", 191, 6, 3, "echo Hello, World!"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct perf_file *file = open_data(shapes[i].name);
        struct tally tally = count(file);
        const struct perf_file_event *events;
        assert_string_equal(tally.end, "");
        assert_int_equal(tally.types[PERF_RECORD_SAMPLE], shapes[i].samples);
        assert_int_equal(tally.types[PERF_RECORD_MMAP2], shapes[i].mmap2);
        assert_int_equal(tally.loads + tally.stores + tally.unknown + tally.unparsed, 0);
        assert_int_equal(perf_file_events(file, &events), shapes[i].events);
        assert_non_null(strstr(perf_file_facts(file)->command, shapes[i].command));
        perf_file_close(file);
    }
    struct perf_file *file = open_data("lost-samples");
    assert_int_equal(count(file).types[PERF_RECORD_LOST_SAMPLES], 2);
    perf_file_close(file);
}

static uint8_t *slurp(const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.perf.data", DATA, name);
    return whole_file(path, size);
}

/* Reads changed bytes to their end or to an error with a text. */
static unsigned read_bytes(const uint8_t *bytes, size_t size)
{
    char path[] = "/tmp/numalens-perf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    struct error err = {0};
    struct perf_file *file = perf_file_open(path, &err);
    unsigned samples = 0;
    if (file) {
        samples = count(file).types[PERF_RECORD_SAMPLE];
        perf_file_close(file);
    } else {
        assert_string_not_equal(err.text, "");
    }
    close(fd);
    unlink(path);
    return samples;
}

static void test_cut(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = slurp("zstd-pipe", &size);
    unsigned last = 0;
    for (size_t cut = 0; cut < size; cut += 97) {
        unsigned samples = read_bytes(bytes, cut);
        assert_true(samples >= last); /* what is whole is kept */
        last = samples;
    }
    assert_int_equal(read_bytes(bytes, size), 8);
    free(bytes);
}

static void test_bent(void **state)
{
    (void)state;
    static const char *const names[] = {"zstd2", "pipe-header-features", "lost-samples"};
    uint64_t random = 88172645463325252u;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t size;
        uint8_t *bytes = slurp(names[n], &size);
        uint8_t *bent = malloc(size);
        for (unsigned round = 0; round < 300; round++) {
            memcpy(bent, bytes, size);
            for (unsigned hits = 0; hits < 1 + round % 8; hits++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                size_t reach = round % 2 ? 512 : size; /* half of them where the places and sizes are */
                bent[random % (reach < size ? reach : size)] ^= (uint8_t)(random >> 40 | 1);
            }
            read_bytes(bent, size);
        }
        free(bent);
        free(bytes);
    }
}

static void test_no_recording(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(perf_file_open("/nonexistent/perf.data", &err));
    assert_int_equal(err.code, -ENOENT);
    assert_null(perf_file_open("/dev/null", &err));
    assert_non_null(strstr(err.text, "perf mem record"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pebs), cmocka_unit_test(test_other_shapes), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_bent), cmocka_unit_test(test_no_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
