/* numap.h as its clients use it: they walk the pages themselves. */
#include "numap.h"
#include "work.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What NumaMMA asks for, and the shape in which it reads it. */
#define FIELDS (PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)
struct __attribute__((packed)) mem_sample {
    uint64_t timestamp, addr, weight;
    union perf_mem_data_src data_src;
};

static void walk(struct perf_event_mmap_page *page, const uint64_t *array, int *total, int *inside)
{
    uint64_t head = page->data_head;
    rmb();
    uint8_t *data = (uint8_t *)page + page->data_offset;
    for (uint64_t at = page->data_tail; at < head;) {
        struct perf_event_header *event = (struct perf_event_header *)(data + at % page->data_size);
        assert_true(event->size > 0);
        if (event->type == PERF_RECORD_SAMPLE && at % page->data_size + event->size <= page->data_size) {
            struct mem_sample *sample = (struct mem_sample *)(event + 1);
            ++*total;
            *inside += lies_in(array, sample->addr);
            assert_true(sample->timestamp > 0);
            assert_true(sample->data_src.mem_op & (PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE));
        }
        at += event->size;
    }
    page->data_tail = head;
}

static void clients_walk_pages(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    struct numap_sampling_measure reads, writes;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    assert_int_equal(numap_init(), 0);
    assert_int_equal(numap_sampling_init_measure(&reads, 1, 1000, 64), 0);
    assert_int_equal(numap_sampling_init_measure(&writes, 1, 1000, 64), 0);
    reads.tids[0] = writes.tids[0] = tid;
    assert_int_equal(numap_sampling_read_start_generic(&reads, FIELDS), 0);
    assert_true(numap_sampling_write_supported());
    assert_int_equal(numap_sampling_write_start_generic(&writes, FIELDS), 0);
    assert_int_equal(numap_sampling_read_start_generic(&reads, FIELDS), ERROR_NUMAP_ALREADY_STARTED);
    int read_total = 0, read_inside = 0, write_total = 0, write_inside = 0;
    while (read_inside < 500 || write_inside < 500) {
        for (int i = 0; i < 100; i++) {
            read_all(array);
            write_all(array);
        }
        assert_int_equal(numap_sampling_read_stop(&reads), 0);
        assert_int_equal(numap_sampling_write_stop(&writes), 0);
        walk(reads.metadata_pages_per_tid[0], array, &read_total, &read_inside);
        walk(writes.metadata_pages_per_tid[0], array, &write_total, &write_inside);
        assert_int_equal(numap_sampling_resume(&reads), 0);
        assert_int_equal(numap_sampling_resume(&writes), 0);
    }
    assert_true(read_inside * 10 > read_total * 8);
    assert_int_equal(numap_sampling_read_stop(&reads), 0);
    assert_int_equal(numap_sampling_read_stop(&reads), ERROR_NUMAP_STOP_BEFORE_START);
    assert_int_equal(numap_sampling_end(&reads), 0);
    assert_int_equal(numap_sampling_end(&writes), 0);
    free(array);
}

static _Atomic int calls;
static _Atomic bool elsewhere;
static pid_t called_on;

static void on_refresh(struct numap_sampling_measure *measure, int fd)
{
    (void)fd;
    calls++;
    if (syscall(SYS_gettid) != called_on)
        elsewhere = true;
    numap_sampling_read_stop(measure);
    measure->metadata_pages_per_tid[0]->data_tail = measure->metadata_pages_per_tid[0]->data_head;
    numap_sampling_resume(measure);
}

static void handler_runs_on_its_thread(void **state)
{
    (void)state;
    uint64_t *array = new_array();
    struct numap_sampling_measure measure;
    called_on = (pid_t)syscall(SYS_gettid);
    assert_int_equal(numap_sampling_init_measure(&measure, 1, 1000, 16), 0);
    measure.tids[0] = called_on;
    assert_int_equal(numap_sampling_set_measure_handler(&measure, on_refresh, 100), 0);
    assert_int_equal(numap_sampling_read_start(&measure), 0);
    while (calls < 5)
        read_all(array);
    numap_sampling_read_stop(&measure);
    assert_false(elsewhere);
    assert_true(measure.total_samples >= 500);
    numap_sampling_end(&measure);
    free(array);
}

static void mistakes_are_reported(void **state)
{
    (void)state;
    struct numap_sampling_measure measure;
    assert_true(numap_sampling_init_measure(&measure, MAX_NB_THREADS + 1, 1000, 16) < 0);
    assert_int_equal(numap_sampling_init_measure(&measure, 1, 1000, 16), 0);
    measure.tids[0] = 1 << 30;
    int code = numap_sampling_read_start(&measure);
    assert_int_equal(code, ERROR_PERF_EVENT_OPEN);
    assert_non_null(strstr(numap_error_message(code), "no thread 1073741824"));
    measure.tids[0] = (pid_t)syscall(SYS_gettid);
    assert_true(numap_sampling_read_start_generic(&measure, PERF_SAMPLE_RAW) < 0);
    assert_int_equal(numap_sampling_read_stop(&measure), ERROR_NUMAP_STOP_BEFORE_START);
    struct numap_counting_measure counting;
    code = numap_counting_init_measure(&counting);
    assert_true(code == 0 || strstr(numap_error_message(code), "counted"));
    assert_true(code < 0 || (numap_counting_start(&counting) == 0 && numap_counting_stop(&counting) == 0));
}

static void levels_have_names(void **state)
{
    (void)state;
    union perf_mem_data_src source = {0};
    source.mem_lvl = PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT;
    source.mem_op = PERF_MEM_OP_LOAD;
    char *level = get_data_src_level(source), *operation = get_data_src_opcode(source);
    assert_string_equal(level, "L3_Hit");
    assert_string_equal(operation, "Load");
    free(level);
    free(operation);
    assert_true(is_served_by_local_cache3(source) && is_served_by_local_cache(source));
    assert_false(is_served_by_remote_memory(source));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_walk_pages),
        cmocka_unit_test(handler_runs_on_its_thread),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests_name("numap", tests, NULL, NULL);
}
