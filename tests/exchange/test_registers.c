/* test_registers.c - recordings whose accesses are in registers and packets: IBS of older kernels, and SPE. Written
 * byte by byte as perf does in pipe mode. */
#include "recording.h"

#include "exchange/perf_import.h"
#include "trace/reader.h"

static void put_comm(struct recording *recording, uint32_t tid)
{
    struct bytes record = begin(PERF_RECORD_COMM);
    put32(&record, PID), put32(&record, tid);
    put_text(&record, "it", 8);
    put_id(&record, tid, 10, 0);
    end(recording, &record);
}

static struct perf_import import(struct recording *recording, struct trace_reader **reader)
{
    struct perf_import result;
    struct error err = {0};
    fclose(recording->file);
    if (perf_import(recording->path, NULL, recording->output, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(result.damage, "");
    *reader = trace_reader_open(recording->output, &err);
    assert_non_null(*reader);
    trace_reader_only(*reader, 1ULL << EVENT_SAMPLE);
    unlink(recording->path);
    unlink(recording->output);
    return result;
}

static const uint64_t ids = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

static void put_ibs(struct recording *recording, uint64_t time, uint64_t data2, uint64_t data3)
{
    struct bytes record = begin(PERF_RECORD_SAMPLE);
    put64(&record, EVENT_ID), put64(&record, 0x401000);
    put32(&record, PID), put32(&record, TID);
    put64(&record, time);
    put64(&record, 0); /* address: this kernel does not report it */
    put32(&record, 3), put32(&record, 0);
    put32(&record, 4 + 7 * 8);
    put32(&record, 0); /* capabilities */
    put64(&record, 0), put64(&record, 0x401000), put64(&record, 0);
    put64(&record, data2), put64(&record, data3);
    put64(&record, 0x7f0000001000), put64(&record, 0);
    put64(&record, 0); /* data_src: nothing */
    end(recording, &record);
}

static void ibs_of_an_old_kernel(void **state)
{
    (void)state;
    struct recording recording = start(ids | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_RAW | PERF_SAMPLE_DATA_SRC,
                                       "ibs_op/cnt_ctl=1/", "AuthenticAMD-23-49-0", -1);
    const uint64_t load = 1 | 1 << 7 | 1 << 17 | 1 << 20 | (uint64_t)400 << 32;
    put_ibs(&recording, 100, 3 | 1 << 4, load); /* another node's memory */
    put_ibs(&recording, 101, 3, load);
    put_ibs(&recording, 102, 0, 2 | 1 << 17); /* a store */
    put_ibs(&recording, 103, 0, 0);           /* no access */
    struct trace_reader *reader;
    struct perf_import result = import(&recording, &reader);
    assert_string_equal(result.source, "ibs");
    assert_int_equal(result.samples, 3);
    assert_int_equal(result.loads, 2);
    assert_int_equal(result.stores, 1);
    assert_int_equal(result.other, 1);
    static const uint8_t levels[] = {LEVEL_REMOTE_RAM, LEVEL_RAM, LEVEL_L1};
    struct event event;
    struct error err = {0};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(trace_reader_next(reader, &event, &err), 1);
        assert_int_equal(event.sample.level, levels[i]);
        assert_int_equal(event.sample.addr, 0x7f0000001000);
        assert_int_equal(event.sample.cpu, 3);
        assert_int_equal(event.tid, TID);
    }
    trace_reader_close(reader);
}

static void put_packets(struct bytes *packets, uint32_t context, uint8_t source, uint64_t addr, uint64_t ticks)
{
    put8(packets, 0xb0), put64(packets, 0x401000);
    if (context)
        put8(packets, 0x64), put32(packets, context);
    put8(packets, 0x49), put8(packets, 0);
    put8(packets, 0x98), put16(packets, 90);
    put8(packets, 0x43), put8(packets, source);
    put8(packets, 0xb2), put64(packets, addr);
    put8(packets, 0x71), put64(packets, ticks);
}

static void put_aux(struct recording *recording, uint32_t cpu, uint32_t tid, uint64_t offset, uint64_t size,
                    uint64_t flags)
{
    struct bytes record = begin(PERF_RECORD_AUX);
    put64(&record, offset), put64(&record, size), put64(&record, flags);
    put_id(&record, tid, 5000, cpu);
    end(recording, &record);
}

static void put_auxtrace(struct recording *recording, uint32_t cpu, uint64_t offset, const uint8_t *bytes, size_t size)
{
    struct bytes record = begin(AUXTRACE);
    put64(&record, size), put64(&record, offset), put64(&record, 0);
    put32(&record, cpu), put32(&record, UINT32_MAX), put32(&record, cpu), put32(&record, 0);
    end(recording, &record);
    fwrite(bytes, 1, size, recording->file);
}

static void put_info(struct recording *recording)
{
    struct bytes record = begin(AUXTRACE_INFO);
    put32(&record, 4), put32(&record, 0);                                       /* Arm SPE */
    put64(&record, 2), put64(&record, 4), put64(&record, 9), put64(&record, 2); /* version 2, two CPUs */
    put64(&record, 0x1010101010101010), put64(&record, 0), put64(&record, 3);
    put64(&record, 0x411fd401), put64(&record, 9), put64(&record, 256); /* Neoverse V1 */
    put64(&record, 0x1010101010101010), put64(&record, 1), put64(&record, 3);
    put64(&record, 0x410fd050), put64(&record, 9), put64(&record, 256); /* a core whose sources mean something else */
    end(recording, &record);
    record = begin(TIME_CONV);
    put64(&record, 0), put64(&record, 2), put64(&record, 1000); /* two ns a tick, from 1000 */
    end(recording, &record);
}

static void spe_of_two_cores(void **state)
{
    (void)state;
    struct recording recording = start(ids, "arm_spe_0//", "0x00000000410fd0c0", -1);
    put_info(&recording);
    put_comm(&recording, TID);
    put_comm(&recording, OTHER_TID);
    struct bytes first = {0}, second = {0};
    put_packets(&first, 0, 0xe, 0x7f0000001000, 10);
    put_packets(&first, OTHER_TID, 0xd, 0x7f0000002000, 20); /* its context knows better than the record */
    size_t one = first.size, cut = one - 15;
    put_packets(&first, 0, 0x8, 0x7f0000003000, 30);
    put_packets(&second, 0, 0xd, 0x7f0000004000, 25);
    /* The first buffer comes before it is known who filled it, and ends in the middle of a record. */
    put_auxtrace(&recording, 0, 4096, first.data, cut);
    put_auxtrace(&recording, 0, 4096 + cut, first.data + cut, first.size - cut);
    put_auxtrace(&recording, 1, 0, second.data, second.size);
    put_aux(&recording, 0, TID, 4096, one, 0);
    put_aux(&recording, 0, OTHER_TID, 4096 + one, first.size - one, PERF_AUX_FLAG_TRUNCATED);
    put_aux(&recording, 1, TID, 0, second.size, 8);
    struct trace_reader *reader;
    struct perf_import result = import(&recording, &reader);
    assert_string_equal(result.source, "spe");
    assert_int_equal(result.samples, 4);
    assert_int_equal(result.threads, 2);
    static const struct {
        uint64_t time, addr;
        uint32_t tid;
        uint16_t cpu;
        uint8_t level;
    } expected[] = {
        {1020, 0x7f0000001000, TID, 0, LEVEL_RAM},
        {1040, 0x7f0000002000, OTHER_TID, 0, LEVEL_REMOTE_CACHE},
        {1050, 0x7f0000004000, TID, 1, LEVEL_UNKNOWN}, /* no Neoverse, and no events */
        {1060, 0x7f0000003000, OTHER_TID, 0, LEVEL_L2},
    };
    struct event event;
    struct error err = {0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(trace_reader_next(reader, &event, &err), 1);
        assert_int_equal(event.time, expected[i].time);
        assert_int_equal(event.sample.addr, expected[i].addr);
        assert_int_equal(event.tid, expected[i].tid);
        assert_int_equal(event.pid, PID);
        assert_int_equal(event.sample.cpu, expected[i].cpu);
        assert_int_equal(event.sample.level, expected[i].level);
        assert_int_equal(event.sample.latency, 90);
        assert_int_equal(event.sample.source, SOURCE_SPE);
    }
    trace_reader_only(reader, 1ULL << EVENT_LOSS);
    uint64_t losses[LOSS_CAUSES] = {0};
    while (trace_reader_next(reader, &event, &err) == 1)
        losses[event.loss.cause] += event.loss.count;
    assert_int_equal(losses[LOSS_AUX_FULL], 1);
    assert_int_equal(losses[LOSS_COLLISION], 1);
    trace_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ibs_of_an_old_kernel), cmocka_unit_test(spe_of_two_cores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
