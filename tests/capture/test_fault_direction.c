/* test_fault_direction.c - reads and writes of faults, by the bytes of the instructions that this process has in its memory. */
#include "base/units.h"
#include "capture/faults/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { BYTES = 4 };

#if defined(__x86_64__)
static const uint8_t LOAD[BYTES] = {0x8a, 0x00, 0x90, 0x90}; /* mov (%rax), %al */
static const uint8_t STORE[BYTES] = {0x88, 0x00, 0x90, 0x90};
#elif defined(__aarch64__)
static const uint8_t LOAD[BYTES] = {0x00, 0x00, 0x40, 0x39}; /* ldrb w0, [x0] */
static const uint8_t STORE[BYTES] = {0x00, 0x00, 0x00, 0x39};
#else
#error "test_fault_direction: this architecture is not supported"
#endif

static uint8_t code[256];
static struct event_page seen;

static void add(void *unused, const struct event *event)
{
    (void)unused;
    seen.reads += event->page.reads;
    seen.writes += event->page.writes;
    seen.unknown += event->page.unknown;
}

/* A page each, after which the code is overwritten by the other instruction, as translated code is by the next burst. */
static void record(enum capture_samples samples, const char *owner)
{
    struct capture_options options = {.samples = samples,
                                      .mechanism = MECHANISM_NONE,
                                      .interval_ns = 1000000000,
                                      .chunks = 16,
                                      .chunk_pages = 16,
                                      .memory = 1 << 24,
                                      .fault_budget_ppm = 1000000};
    struct sink sink = {.tap = add};
    struct faults *faults = faults_new(&options, NULL, &sink);
    struct source source = faults_source(faults);
    struct code_map map = {.addr = (uintptr_t)code, .size = sizeof code, .inode = 1, .executable = true, .path = owner};
    struct direction_registers registers = {0};
    struct error err = {0};
    uint32_t pid = (uint32_t)getpid();
    seen = (struct event_page){0};
    assert_int_equal(source.open(source.context, &err), 0);
    faults_map(faults, pid, &map);
    for (unsigned i = 0; i < 4; i++) {
        struct faults_fault fault = {.addr = (0x100 + i) * PAGE_UNIT,
                                     .ip = (uintptr_t)(code + i / 2 * BYTES * 4),
                                     .pid = pid,
                                     .tid = pid,
                                     .first = true,
                                     .registers = &registers};
        memcpy((void *)fault.ip, i % 2 ? STORE : LOAD, BYTES);
        faults_fault(faults, &fault);
    }
    source.finish(source.context);
    source.close(source.context);
}

static void the_programs_is_that_of_its_instruction(void **state)
{
    (void)state;
    record(SAMPLES_SOFT, "//anon");
    assert_int_equal(seen.unknown, 0);
    assert_int_equal(seen.reads + seen.writes, 4);
    assert_true(seen.reads > 0);
}

static void of_code_that_is_written_elsewhere_it_is_not_known(void **state)
{
    (void)state;
    record(SAMPLES_SOFT, "/dev/zero (deleted)");
    assert_int_equal(seen.unknown, 4);
    assert_int_equal(seen.reads + seen.writes, 0);
}

/* It may be the timed load before an access. */
static void of_the_agents_own_instructions_it_is_not_known(void **state)
{
    (void)state;
    record(SAMPLES_SOFT, "/usr/lib/numalens/libnumalens-agent.so");
    assert_int_equal(seen.unknown, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programs_is_that_of_its_instruction),
        cmocka_unit_test(of_code_that_is_written_elsewhere_it_is_not_known),
        cmocka_unit_test(of_the_agents_own_instructions_it_is_not_known),
    };
    return cmocka_run_group_tests_name("fault_direction", tests, NULL, NULL);
}
