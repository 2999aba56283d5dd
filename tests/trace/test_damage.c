/* Whatever the bytes, the reader answers with events or with an error, and says what is missing. Run under sanitizers
 * too. The changed payloads get right sums, so that damage reaches the decoder and not only the checksums. */
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "churn.h"
#include "wild.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

enum { EVENTS = 320, WILD = 250 };

static int memory = -1; /* a file in memory: thousands of them are written */
static char path[64];
static uint8_t *whole; /* a good file */
static size_t whole_size;

static void put_file(const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(memory, 0), 0);
    assert_int_equal(pwrite(memory, bytes, size, 0), size);
}

/* Reads everything there is, in every way. Returns how many events, or -1 when the file does not open. */
static long read_all(bool *damaged)
{
    struct error err = {0};
    struct event event;
    struct trace_reader *reader = trace_reader_open(path, &err);
    if (!reader) {
        assert_true(err.code < 0);
        assert_true(strlen(err.text) > 0);
        assert_null(strchr(err.text, '\n'));
        return -1;
    }
    long count = 0;
    int more;
    uint64_t last = 0;
    volatile size_t sum = 0;
    while ((more = trace_reader_next(reader, &event, &err)) != 0) {
        if (more < 0)
            continue; /* what is left is read all the same */
        assert_true(event.time >= last);
        last = event.time;
        count++;
        if (event.kind == EVENT_MAP)
            sum += strlen(event.map.path);
        if (event.kind == EVENT_PROCESS_START)
            sum += strlen(event.process.exe) + strlen(event.process.command);
        for (unsigned i = 0; event.kind == EVENT_STACK && i < event.stack.depth; i++)
            sum += event.stack.frames[i];
    }
    (void)sum;
    uint64_t samples = trace_reader_count(reader, EVENT_SAMPLE);
    for (uint64_t i = 0; i < samples && i < 2000; i++)
        trace_reader_sample(reader, i, &event, &err);
    if (damaged)
        *damaged = trace_reader_damage(reader) != NULL;
    trace_reader_close(reader);
    return count;
}

static void cut_at_every_length(void **state)
{
    (void)state;
    bool damaged;
    long most = 0;
    for (size_t size = 0; size < whole_size; size++) {
        put_file(whole, size);
        long count = read_all(&damaged);
        assert_true(count >= -1 && count < EVENTS + 1);
        assert_true(count >= most || count == -1); /* a longer file never holds less */
        if (count >= 0) {
            assert_true(damaged);
            most = count;
        }
    }
    put_file(whole, whole_size);
    assert_int_equal(read_all(&damaged), EVENTS);
    assert_false(damaged);
}

static void changed_bytes(void **state)
{
    (void)state;
    struct wild wild = {.random = 3};
    uint8_t *copy = malloc(whole_size);
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, whole, whole_size);
        bool changed = false;
        for (uint64_t i = 0; i < 1 + wild_number(&wild) % 4; i++) {
            size_t at = wild_number(&wild) % whole_size;
            uint8_t byte = (uint8_t)wild_number(&wild);
            changed = changed || byte != whole[at];
            copy[at] = byte;
        }
        put_file(copy, whole_size);
        bool damaged = false;
        long count = read_all(&damaged);
        assert_true(count <= EVENTS);
        if (changed && count >= 0)
            assert_true(damaged);
    }
    free(copy);
}

static void garbage(void **state)
{
    (void)state;
    enum { BEGINNING = 600 };
    struct wild wild = {.random = 5};
    uint8_t bytes[4096];
    put_file(whole, BEGINNING);
    long most = read_all(NULL);
    assert_in_range(most, 0, EVENTS / 10);
    for (int round = 0; round < 1000; round++) {
        size_t size = wild_number(&wild) % sizeof bytes;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)wild_number(&wild);
        /* Some begin well, so that the rest is looked at. */
        if (round % 2)
            memcpy(bytes, whole, size < BEGINNING ? size : BEGINNING);
        put_file(bytes, size);
        assert_true(read_all(NULL) <= most);
    }
}

/* The file with block number `chosen` changed behind its sums: payload bytes, and sometimes header fields. */
static size_t forge(struct wild *wild, uint8_t *to, unsigned chosen)
{
    size_t at = sizeof(struct trace_file_header), size = at;
    memcpy(to, whole, at);
    for (unsigned number = 0; at < whole_size; number++) {
        struct trace_block_header header;
        memcpy(&header, whole + at, sizeof header);
        const uint8_t *payload = whole + at + sizeof header;
        at += sizeof header + header.packed_bytes;
        uint8_t *out = to + size + sizeof header;
        if (number == chosen) {
            assert_true(block_unpack(&header, payload, out));
            header.packing = TRACE_STORED;
            header.packed_bytes = header.raw_bytes;
            for (uint64_t i = 0; i < wild_number(wild) % 4; i++)
                out[wild_number(wild) % header.raw_bytes] = (uint8_t)wild_number(wild);
            uint32_t *fields[] = {&header.count, &header.runs, &header.raw_bytes, &header.packing, &header.pid};
            if (wild_number(wild) % 3 == 0)
                *fields[wild_number(wild) % 5] = (uint32_t)wild_value(wild);
            if (wild_number(wild) % 8 == 0)
                header.kind =
                    wild_number(wild) % 4 ? (uint16_t)(wild_number(wild) % (EVENT_KINDS + 2)) : (uint16_t)EVENT_ALLOC;
            if (wild_number(wild) % 8 == 0)
                header.first_time = wild_value(wild);
        } else {
            memcpy(out, payload, header.packed_bytes);
        }
        header.payload_sum = XXH3_64bits(out, header.packed_bytes);
        header.header_sum = XXH3_64bits(&header, offsetof(struct trace_block_header, header_sum));
        memcpy(to + size, &header, sizeof header);
        size += sizeof header + header.packed_bytes;
    }
    return size;
}

static void forged_blocks(void **state)
{
    (void)state;
    struct wild wild = {.random = 77};
    uint8_t *forged = malloc(whole_size * 4 + 65536);
    for (unsigned round = 0; round < 3000; round++) {
        size_t size = forge(&wild, forged, round % 24);
        put_file(forged, size);
        read_all(NULL);
    }
    free(forged);
}

static void a_block_of_the_future_is_passed_over(void **state)
{
    (void)state;
    uint8_t *longer = malloc(whole_size + sizeof(struct trace_block_header));
    struct trace_block_header header = {.magic = TRACE_BLOCK_MAGIC, .kind = 0x7777, .version = TRACE_VERSION};
    header.payload_sum = XXH3_64bits("", 0);
    header.header_sum = XXH3_64bits(&header, offsetof(struct trace_block_header, header_sum));
    memcpy(longer, whole, whole_size);
    memcpy(longer + whole_size, &header, sizeof header);
    put_file(longer, whole_size + sizeof header);
    bool damaged;
    assert_int_equal(read_all(&damaged), EVENTS);
    assert_false(damaged);
    free(longer);
}

static int make_whole(void **state)
{
    (void)state;
    struct error err;
    char place[] = "/tmp/numalens-test-XXXXXX";
    int fd = mkstemp(place);
    memory = memfd_create("damage", 0);
    if (fd < 0 || memory < 0)
        return -1;
    close(fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "command", "a test");
    struct trace_writer *writer = trace_writer_open(place, session, &err);
    struct wild wild = {.random = 42};
    struct churn churn = {.random = 43, .tid = 100};
    for (int i = 0; i < EVENTS; i++) {
        struct event event =
            i < WILD ? wild_event(&wild, 1 + wild_number(&wild) % (EVENT_KINDS - 1)) : churn_next(&churn);
        event.pid = 100;
        trace_writer_append(writer, &event, &err);
        if (i == WILD / 2)
            trace_writer_flush(writer, &err);
    }
    trace_writer_close(writer, session, &err);
    trace_session_free(session);
    fd = open(place, O_RDONLY);
    whole_size = (size_t)lseek(fd, 0, SEEK_END);
    whole = malloc(whole_size);
    ssize_t got = pread(fd, whole, whole_size, 0);
    close(fd);
    unlink(place);
    return got == (ssize_t)whole_size ? 0 : -1;
}

static int remove_whole(void **state)
{
    (void)state;
    free(whole);
    return close(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_length),
        cmocka_unit_test(changed_bytes),
        cmocka_unit_test(garbage),
        cmocka_unit_test(forged_blocks),
        cmocka_unit_test(a_block_of_the_future_is_passed_over),
    };
    return cmocka_run_group_tests_name("damage", tests, make_whole, remove_whole);
}
