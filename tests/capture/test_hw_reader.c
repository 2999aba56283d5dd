/* test_hw_reader.c - ring pages byte by byte as the kernel writes them for PEBS, IBS and SPE. */
#include "../perf/bytes.h"
#include "capture/hardware/hw_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RING = 4096, AUX = 1024 };

struct made { /* a ring whose kernel is the test */
    struct perf_event_mmap_page header;
    uint8_t data[RING], aux[AUX];
    struct perf_ring ring;
    uint64_t head;
    struct hw_reader reader;
};

struct reported {
    struct hw_sample samples[64];
    uint64_t frames[64][HW_FRAMES_MOST];
    unsigned count;
    uint64_t losses[LOSS_CAUSES];
};

static void tell_sample(void *context, const struct hw_sample *sample)
{
    struct reported *reported = context;
    memcpy(reported->frames[reported->count], sample->frames, sample->depth * sizeof *sample->frames);
    reported->samples[reported->count++] = *sample;
}

static void tell_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    (void)time;
    ((struct reported *)context)->losses[cause] += count;
}

static struct made *make(uint8_t source, uint64_t sample_type)
{
    struct made *made = calloc(1, sizeof *made);
    made->ring = (struct perf_ring){
        .fd = -1, .header = &made->header, .data = made->data, .size = RING, .aux = made->aux, .aux_size = AUX};
    made->reader = (struct hw_reader){
        .layout = {.sample_type = sample_type | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                   .sample_id_all = true},
        .source = source};
    return made;
}

static void unmake(struct made *made)
{
    free(made->ring.copy);
    hw_reader_free(&made->reader);
    free(made);
}

/* Writes a record into the ring, wrapped at its end. */
static void write_record(struct made *made, struct bytes *record)
{
    uint16_t size = (uint16_t)record->size;
    assert_int_equal(size % 8, 0);
    memcpy(record->data + 6, &size, 2);
    for (size_t i = 0; i < size; i++)
        made->data[(made->head + i) % RING] = record->data[i];
    made->head += size;
    made->header.data_head = made->head;
}

static void read_all(struct made *made, struct reported *reported, const struct counter_clock *clock)
{
    struct hw_listener listener = {reported, tell_sample, tell_loss, clock};
    const struct perf_event_header *record;
    while ((record = perf_ring_peek(&made->ring))) {
        hw_reader_take(&made->reader, &made->ring, record, &listener);
        perf_ring_next(&made->ring, record);
    }
    perf_ring_release(&made->ring);
    assert_int_equal(made->header.data_tail, made->head);
}

static void put_common(struct bytes *record, uint64_t ip, uint64_t time)
{
    put_header(record, PERF_RECORD_SAMPLE);
    put64(record, ip);
    put32(record, 100), put32(record, 101);
    put64(record, time);
}

static void put_trailer(struct bytes *record, uint64_t time)
{
    put32(record, 100), put32(record, 101);
    put64(record, time);
    put32(record, 5), put32(record, 0);
}

/* IP, TID, TIME, ADDR, CPU, CALLCHAIN, WEIGHT_STRUCT, DATA_SRC, PHYS_ADDR: Ice Lake and later. */
static void put_pebs(struct bytes *record, uint64_t time, uint64_t addr, unsigned depth)
{
    put_common(record, 0x401000, time);
    put64(record, addr);
    put32(record, 5), put32(record, 0);
    put64(record, 1 + depth);
    put64(record, PERF_CONTEXT_USER);
    for (unsigned i = 0; i < depth; i++)
        put64(record, 0x402000 + i);
    put64(record, 321 | (uint64_t)44 << 32 | (uint64_t)7 << 48);
    put64(record, (uint64_t)PERF_MEM_OP_LOAD | (uint64_t)13 << 33 | 1ULL << 37); /* remote memory */
    put64(record, 0xabc000);
}

static const uint64_t pebs_type =
    PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR;

static void test_pebs(void **state)
{
    (void)state;
    struct made *made = make(SOURCE_PEBS, pebs_type);
    struct reported reported = {0};
    struct bytes record = {0};
    put_pebs(&record, 1000, 0x7f0000001000, 3);
    write_record(made, &record);
    read_all(made, &reported, NULL);
    assert_int_equal(reported.count, 1);
    const struct memory_access *access = &reported.samples[0].access;
    assert_int_equal(access->addr, 0x7f0000001000);
    assert_int_equal(access->physical, 0xabc000);
    assert_int_equal(access->latency, 321);
    assert_int_equal(access->level, LEVEL_REMOTE_RAM);
    assert_int_equal(access->flags, SAMPLE_READ | SAMPLE_HAS_LATENCY);
    assert_int_equal(access->pid, 100);
    assert_int_equal(access->tid, 101);
    assert_int_equal(access->cpu, 5);
    assert_int_equal(access->time, 1000);
    assert_int_equal(reported.samples[0].depth, 3);
    assert_int_equal(reported.frames[0][0], 0x401000); /* the access, not where the interrupt came */
    assert_int_equal(reported.frames[0][1], 0x402001);
    unmake(made);
}

/* A record that carries its period, and one whose event has a fixed one. */
static void test_period(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct made *made = make(SOURCE_PEBS, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | (own ? PERF_SAMPLE_PERIOD : 0));
        struct reported reported = {0};
        struct bytes record = {0};
        made->reader.periods.fixed = 2000;
        put_common(&record, 0x401000, 1000);
        put64(&record, 0x7f0000001000);
        put32(&record, 5), put32(&record, 0);
        if (own)
            put64(&record, 777);
        put64(&record, (uint64_t)PERF_MEM_OP_LOAD | (uint64_t)13 << 33);
        write_record(made, &record);
        read_all(made, &reported, NULL);
        assert_int_equal(reported.count, 1);
        assert_int_equal(reported.samples[0].access.level, LEVEL_RAM);
        assert_int_equal(reported.samples[0].access.period, own ? 777 : 2000);
        unmake(made);
    }
}

/* Every place in the ring at which a record can be cut in two. */
static void test_split(void **state)
{
    (void)state;
    struct made *made = make(SOURCE_PEBS, pebs_type);
    unsigned rounds = 0;
    for (uint64_t start = 0; start < RING; start += 8, rounds++) {
        struct reported reported = {0};
        struct bytes record = {0};
        made->head = made->ring.tail = RING + start;
        for (unsigned i = 0; i < 3; i++) {
            record.size = 0;
            put_pebs(&record, 1000 + i, 0x7f0000001000 + i * 4096, i * 4);
            write_record(made, &record);
        }
        read_all(made, &reported, NULL);
        assert_int_equal(reported.count, 3);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(reported.samples[i].access.addr, 0x7f0000001000 + i * 4096);
            assert_int_equal(reported.samples[i].access.physical, 0xabc000);
        }
    }
    assert_int_equal(rounds, RING / 8);
    unmake(made);
}

static void test_left_out(void **state)
{
    (void)state;
    struct made *made = make(SOURCE_PEBS, pebs_type);
    struct reported reported = {0};
    struct bytes record = {0};
    put_pebs(&record, 1000, 0xffff888000001000, 1); /* the kernel's memory */
    write_record(made, &record);
    record.size = 0;
    put_pebs(&record, 1000, 0, 1); /* the hardware did not know */
    write_record(made, &record);
    record.size = 0;
    put_pebs(&record, 1000, 0x1000, 1);
    record.size -= 16; /* cut short */
    write_record(made, &record);
    read_all(made, &reported, NULL);
    assert_int_equal(reported.count, 0);
    assert_int_equal(made->reader.other, 2);
    assert_int_equal(made->reader.unreadable, 1);
    unmake(made);
}

static void test_losses(void **state)
{
    (void)state;
    struct made *made = make(SOURCE_PEBS, pebs_type);
    struct reported reported = {0};
    struct bytes record = {0};
    put_header(&record, PERF_RECORD_LOST);
    put64(&record, 1), put64(&record, 77);
    put_trailer(&record, 5000);
    write_record(made, &record);
    record.size = 0;
    put_header(&record, PERF_RECORD_LOST_SAMPLES);
    put64(&record, 23);
    put_trailer(&record, 5001);
    write_record(made, &record);
    record.size = 0;
    put_header(&record, PERF_RECORD_THROTTLE);
    put64(&record, 5002), put64(&record, 1), put64(&record, 1);
    put_trailer(&record, 5002);
    assert_int_equal(hw_reader_time((struct perf_event_header *)record.data), 0); /* its size is not there yet */
    write_record(made, &record);
    assert_int_equal(hw_reader_time((struct perf_event_header *)record.data), 5002);
    read_all(made, &reported, NULL);
    assert_int_equal(reported.losses[LOSS_PERF], 100);
    assert_int_equal(reported.losses[LOSS_THROTTLED], 1);
    unmake(made);
}

static void test_ibs(void **state)
{
    (void)state;
    struct made *made =
        make(SOURCE_IBS, PERF_SAMPLE_ADDR | PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC);
    made->reader.ibs = (struct ibs_cpu){0x19, 0x11};
    struct reported reported = {0};
    struct bytes record = {0};
    put_common(&record, 0x401000, 900);
    put64(&record, 0); /* Linux before 6.1 reports no address */
    put32(&record, 5), put32(&record, 0);
    put32(&record, 4 + 7 * 8);
    put32(&record, 1 << 11); /* Zen 4 */
    put64(&record, 0), put64(&record, 0x401000), put64(&record, 0);
    put64(&record, 3 | 1 << 4);                                           /* far memory */
    put64(&record, 1 | 1 << 7 | 1 << 17 | 1 << 20 | (uint64_t)700 << 32); /* a load that missed */
    put64(&record, 0x7f0000002000), put64(&record, 0);
    put64(&record, 0), put64(&record, 0); /* weight, data_src: nothing */
    write_record(made, &record);
    read_all(made, &reported, NULL);
    assert_int_equal(reported.count, 1);
    assert_int_equal(reported.samples[0].access.addr, 0x7f0000002000);
    assert_int_equal(reported.samples[0].access.level, LEVEL_REMOTE_RAM);
    assert_int_equal(reported.samples[0].access.latency, 700);
    assert_int_equal(reported.samples[0].source, SOURCE_IBS);
    unmake(made);
}

static void put_spe(struct bytes *packets, uint64_t addr, uint64_t ticks)
{
    put8(packets, 0xb0), put64(packets, 0x401000);
    put8(packets, 0x49), put8(packets, 0);
    put8(packets, 0x98), put16(packets, 90);
    put8(packets, 0x43), put8(packets, 0xe);
    put8(packets, 0xb2), put64(packets, addr);
    put8(packets, 0x71), put64(packets, ticks);
}

static void write_aux(struct made *made, uint64_t *aux_head, const struct bytes *packets, uint64_t flags)
{
    for (size_t i = 0; i < packets->size; i++)
        made->aux[(*aux_head + i) % AUX] = packets->data[i];
    struct bytes record = {0};
    put_header(&record, PERF_RECORD_AUX);
    put64(&record, *aux_head), put64(&record, packets->size), put64(&record, flags);
    put_trailer(&record, 7777);
    write_record(made, &record);
    *aux_head += packets->size;
}

static void test_spe(void **state)
{
    (void)state;
    struct made *made = make(SOURCE_SPE, 0);
    made->reader.spe.decoder.midr = 0x411fd401;
    /* Two ns a tick: */
    struct counter_clock clock = {.count = 1, .lines[0] = {.from = 100, .ns = 5000, .slope = 2ULL << 32}};
    struct reported reported = {0};
    struct bytes packets = {0};
    uint64_t aux_head = 3 * AUX + AUX - 50; /* the second record wraps at the end */
    put_spe(&packets, 0x7f0000001000, 200);
    put_spe(&packets, 0x7f0000002000, 300);
    write_aux(made, &aux_head, &packets, 0);
    read_all(made, &reported, &clock);
    assert_int_equal(reported.count, 2);
    assert_int_equal(reported.samples[0].access.time, 5200);
    assert_int_equal(reported.samples[1].access.time, 5400);
    assert_int_equal(reported.samples[1].access.addr, 0x7f0000002000);
    assert_int_equal(reported.samples[0].access.pid, 100);
    assert_int_equal(reported.samples[0].access.tid, 101);
    assert_int_equal(reported.samples[0].access.cpu, 5);
    assert_int_equal(reported.samples[0].access.level, LEVEL_RAM);
    assert_int_equal(reported.frames[0][0], 0x401000);
    assert_int_equal(made->header.aux_tail, aux_head); /* given back */

    /* A buffer that was full ends anywhere; a new one begins with a new record. */
    struct bytes cut = packets;
    cut.size -= 12;
    write_aux(made, &aux_head, &cut, PERF_AUX_FLAG_TRUNCATED | 8);
    write_aux(made, &aux_head, &packets, 0);
    reported.count = 0;
    read_all(made, &reported, NULL);
    assert_int_equal(reported.count, 3);
    assert_int_equal(reported.samples[2].access.time, 7777); /* no clock: when the stretch ended */
    assert_int_equal(reported.losses[LOSS_AUX_FULL], 1);
    assert_int_equal(reported.losses[LOSS_COLLISION], 1);

    /* Sizes that cannot be */
    struct bytes record = {0};
    put_header(&record, PERF_RECORD_AUX);
    put64(&record, 1ULL << 63), put64(&record, 1ULL << 40), put64(&record, 0);
    put_trailer(&record, 8888);
    write_record(made, &record);
    read_all(made, &reported, NULL);
    assert_int_equal(reported.count, 3);
    unmake(made);
}

static void note_time(void *context, unsigned ring, const struct perf_event_header *record)
{
    struct {
        uint64_t last, count;
    } *order = context;
    (void)ring;
    assert_true(hw_reader_time(record) >= order->last);
    order->last = hw_reader_time(record);
    order->count++;
}

/* Rings of many CPUs come out as one, in order of time, up to a time. */
static void test_merge(void **state)
{
    (void)state;
    enum { RINGS = 37, EACH = 20 };
    struct made *made[RINGS];
    struct perf_ring rings[RINGS];
    uint64_t random = 88172645463325252u;
    unsigned early = 0;
    for (unsigned i = 0; i < RINGS; i++) {
        made[i] = make(SOURCE_PEBS, pebs_type);
        uint64_t time = 1;
        for (unsigned r = 0; r < (i % 5 ? EACH : 0); r++) { /* some are empty */
            struct bytes record = {0};
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            time += random % 100;
            early += time <= 700;
            put_pebs(&record, time, 0x1000, 1);
            write_record(made[i], &record);
        }
        rings[i] = made[i]->ring;
    }
    struct {
        uint64_t last, count;
    } order = {0};
    perf_ring_merge(rings, RINGS, hw_reader_time, 700, note_time, &order);
    assert_int_equal(order.count, early);
    assert_true(order.last <= 700);
    perf_ring_merge(rings, RINGS, hw_reader_time, UINT64_MAX, note_time, &order);
    assert_int_equal(order.count, (RINGS - (RINGS + 4) / 5) * EACH);
    for (unsigned i = 0; i < RINGS; i++) {
        assert_int_equal(made[i]->header.data_tail, made[i]->head); /* given back */
        unmake(made[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pebs),   cmocka_unit_test(test_period),
                                       cmocka_unit_test(test_split),  cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_losses), cmocka_unit_test(test_ibs),
                                       cmocka_unit_test(test_spe),    cmocka_unit_test(test_merge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
