/* linear.c - twice as much input takes twice as much work and memory, whatever its shape. Work is counted, not timed: every comparison
 * in the code that is fuzzed calls a function (-fsanitize=fuzzer-no-link), and here those functions count. A sort may take a little
 * more than twice; what compares everything with everything takes four times. Memory: the most that is allocated
 * at a time. TAP. */
#include "exchange/moca_import.h"
#include "exchange/perf_import.h"
#include "flow/flow.h"
#include "linear_files.h"
#include "symbols/binary.h"
#include "symbols/symbols.h"
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { FEW = 3000, PID = 10 };
#define MOST_TIMES 2.8

static uint64_t work, allocated, most;
static bool own_binaries = true;

/* NOLINTBEGIN: names and types are the compiler's */
#define COUNTING(name, type)                                                                                           \
    void name(type, type);                                                                                             \
    void name(type a, type b)                                                                                          \
    {                                                                                                                  \
        (void)a;                                                                                                       \
        (void)b;                                                                                                       \
        work++;                                                                                                        \
    }
/* Of the sanitizer's allocator; its header comes with one compiler and not with others. */
size_t __sanitizer_get_allocated_size(const volatile void *memory);
int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *memory, size_t size),
                                              void (*freed)(const volatile void *memory));

COUNTING(__sanitizer_cov_trace_cmp1, uint8_t)
COUNTING(__sanitizer_cov_trace_cmp2, uint16_t)
COUNTING(__sanitizer_cov_trace_cmp4, uint32_t)
COUNTING(__sanitizer_cov_trace_cmp8, uint64_t)
COUNTING(__sanitizer_cov_trace_const_cmp1, uint8_t)
COUNTING(__sanitizer_cov_trace_const_cmp2, uint16_t)
COUNTING(__sanitizer_cov_trace_const_cmp4, uint32_t)
COUNTING(__sanitizer_cov_trace_const_cmp8, uint64_t)
/* NOLINTEND */

static void count_allocated(const volatile void *memory, size_t size)
{
    (void)memory;
    allocated += size;
    most = allocated > most ? allocated : most;
}

static void count_freed(const volatile void *memory)
{
    allocated -= __sanitizer_get_allocated_size(memory);
}

struct binary *__wrap_binary_open(const char *path, char **why), *__real_binary_open(const char *path, char **why);

/* No binary of this machine is looked at. */
struct binary *__wrap_binary_open(const char *path, char **why)
{
    if (own_binaries)
        return __real_binary_open(path, why);
    if (why)
        *why = strdup("is not here");
    return NULL;
}

static struct trace_writer *writer;

static struct event *at(struct event *event, uint64_t time, uint32_t tid, enum event_kind kind)
{
    *event = (struct event){.time = time, .pid = PID, .tid = tid, .kind = (uint8_t)kind};
    return event;
}

static void put(const struct event *event)
{
    struct error err = {0};
    if (trace_writer_append(writer, event, &err) < 0)
        abort();
}

static void sample(uint64_t time, uint32_t tid, uint64_t addr, uint32_t stack)
{
    struct event event;
    at(&event, time, tid, EVENT_SAMPLE)->sample =
        (struct event_sample){.addr = addr, .size = 8, .flags = SAMPLE_READ, .stack = stack};
    put(&event);
}

static void alloc(uint64_t time, uint64_t addr, uint64_t size, uint32_t stack)
{
    struct event event;
    at(&event, time, PID, EVENT_ALLOC)->alloc = (struct event_alloc){.addr = addr, .size = size, .stack = stack};
    put(&event);
}

static void map(uint64_t time, enum event_kind kind, uint64_t addr, uint64_t size)
{
    struct event event;
    at(&event, time, PID, kind)->map = (struct event_map){.addr = addr, .size = size, .path = ""};
    put(&event);
}

static void blocks_in_one_another(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        alloc(i, 0x100000 + i, 2ull * (n - i), 1);
    for (unsigned i = 0; i < n; i++)
        sample(n + i, PID, 0x100000 + n - 1, 1);
}

static void maps_over_one_another(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        map(2 * i, EVENT_MAP, 0x100000 + 4096ull * i, 4096ull * n);
        map(2 * i + 1, EVENT_UNMAP, 0x100000 + 8192ull * i, 4096);
        sample(2 * i + 1, PID, 0x100000 + 12288ull * i, 0);
    }
}

static void one_map_with_holes(unsigned n)
{
    map(1, EVENT_MAP, 0x100000, 1ull << 40);
    for (unsigned i = 0; i < n; i++) {
        map(2 + i, EVENT_UNMAP, 0x100000 + 16384ull * i, 4096);
        sample(2 + i, PID, 0x104000 + 16384ull * i, 0);
    }
}

static void threads(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, i, PID + i, EVENT_THREAD_START)->thread = (struct event_thread){.name = "thread"};
        put(&event);
        sample(n + i, PID + i, 0x100000 + 64 * i, 0);
    }
}

static void threads_with_one_number(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, 3 * i, PID, EVENT_THREAD_START)->thread = (struct event_thread){.name = "thread"};
        put(&event);
        sample(3 * i + 1, PID, 0x100000, 0);
        at(&event, 3 * i + 2, PID, EVENT_THREAD_EXIT)->thread = (struct event_thread){.name = ""};
        put(&event);
    }
}

static void processes_that_fork(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, 2 * i, PID + i, EVENT_PROCESS_START)->process =
            (struct event_process){.parent = i ? PID + i - 1 : 0, .forked = i > 0, .exe = "x", .command = "x"};
        event.pid = PID + i;
        put(&event);
        sample(2 * i + 1, PID, 0x100000, 0);
    }
}

static void modules(unsigned n)
{
    struct event event;
    char path[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/lib/%u.so", i);
        at(&event, 2 * i, PID, EVENT_MODULE_LOAD)->module =
            (struct event_module){.bias = 4096 * i, .start = 4096 * i, .end = 4096ull * n, .path = path};
        put(&event);
        sample(2 * i + 1, PID, 4096ull * i, 0);
    }
}

static void chains(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        uint64_t frames[] = {0x1000 + i, 0x2000 + i / 2, 0x3000 + i / 16};
        at(&event, 3 * i, PID, EVENT_STACK)->stack = (struct event_stack){.id = i + 1, .depth = 3, .frames = frames};
        put(&event);
        alloc(3 * i + 1, 0x100000 + 64ull * i, 64, i + 1);
        sample(3 * i + 2, PID, 0x100000 + 64ull * i, i + 1);
    }
}

static void pools_in_pools(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, 2 * i, PID, EVENT_POOL)->pool =
            (struct event_pool){.handle = i + 1, .parent = i, .change = POOL_CREATED};
        put(&event);
        at(&event, 2 * i + 1, PID, EVENT_POOL_ALLOC)->alloc =
            (struct event_alloc){.addr = 0x100000 + 64ull * i, .size = 64, .pool = i + 1, .fn = ALLOC_CUSTOM_FIRST};
        put(&event);
    }
    for (unsigned i = 0; i < n; i++) {
        at(&event, 2 * n + i, PID, EVENT_POOL)->pool = (struct event_pool){.handle = n - i, .change = POOL_CLEARED};
        put(&event);
    }
}

static void touches_and_homes(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, 3 * i, PID, EVENT_TOUCH)->touch = (struct event_touch){.addr = 0x100000 + 4096ull * i};
        put(&event);
        at(&event, 3 * i, PID, EVENT_HOME)->home = (struct event_home){.page = 0x100000 + 4096ull * i, .size = 4096};
        put(&event);
        map(3 * i + 1, EVENT_UNMAP, 0, 1ull << 46);
        sample(3 * i + 2, PID, 0x100000 + 4096ull * i, 0);
    }
}

static void losses(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, i, PID + i, EVENT_LOSS)->loss = (struct event_loss){.cause = LOSS_PAUSED, .count = i % 2};
        event.pid = PID + i;
        put(&event);
    }
    sample(n, PID, 0x100000, 0);
}

static void page(uint64_t time, uint64_t until, uint32_t pid, uint32_t tid, uint64_t addr)
{
    struct event event;
    at(&event, time, tid, EVENT_PAGE)->page =
        (struct event_page){.page = addr, .size = 4096, .until = until, .reads = 1, .writes = 1};
    event.pid = pid;
    put(&event);
}

static void intervals_that_end_one_by_one(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        page(i, n + i, PID, PID, 0x100000 + 4096ull * i);
    for (unsigned i = 0; i < n; i++)
        alloc(n + i, 0x100000 + 64ull * i, 64, 1);
}

static void pages_of_processes_that_end(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, i, PID + i, EVENT_PROCESS_START)->process =
            (struct event_process){.parent = PID, .exe = "x", .command = "x"};
        event.pid = PID + i;
        put(&event);
        page(i, 4 * n, PID + i, PID + i, 0x100000);
    }
    for (unsigned i = 0; i < n; i++) {
        at(&event, n + i, PID + i, EVENT_PROCESS_EXIT)->process = (struct event_process){.exe = "", .command = ""};
        event.pid = PID + i;
        put(&event);
    }
}

static void pages_of_one_number(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++) {
        at(&event, i, PID, EVENT_PROCESS_START)->process = (struct event_process){.exe = "x", .command = "x"};
        put(&event);
    }
    for (unsigned i = 0; i < n; i++)
        page(n + i, i, PID, 0, 0x100000);
}

static void pages_under_blocks(unsigned n)
{
    struct event event;
    for (unsigned i = 0; i < n; i++)
        page(i, 4 * n, PID, PID, 0x100000 + 4096ull * i);
    for (unsigned i = 0; i < n; i++) {
        alloc(n + 2 * i, 0x100000, 4096ull * n, 1);
        at(&event, n + 2 * i + 1, PID, EVENT_FREE)->free = (struct event_free){.addr = 0x100000};
        put(&event);
    }
}

typedef void shape(unsigned n);

static void record(const char *path, shape *make, unsigned n)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    writer = trace_writer_open(path, session, &err);
    if (!writer)
        abort();
    make(n);
    trace_writer_close(writer, session, &err);
    trace_session_free(session);
}

/* Headers with right sums; the payloads' are wrong. */
static void write_headers(const char *path, unsigned n)
{
    FILE *out = fopen(path, "w");
    struct trace_file_header first = {.version = TRACE_VERSION,
                                      .block_header_bytes = sizeof(struct trace_block_header)};
    memcpy(first.magic, TRACE_FILE_MAGIC, sizeof first.magic);
    fwrite(&first, sizeof first, 1, out);
    for (unsigned i = 0; i < n; i++) {
        uint32_t rest = (n - i - 1) * (uint32_t)sizeof(struct trace_block_header);
        struct trace_block_header header = {.magic = TRACE_BLOCK_MAGIC, .kind = EVENT_SAMPLE, .count = 1, .runs = 1};
        header.raw_bytes = header.packed_bytes = rest < TRACE_MAX_RAW ? rest : TRACE_MAX_RAW;
        header.header_sum = XXH3_64bits(&header, offsetof(struct trace_block_header, header_sum));
        fwrite(&header, sizeof header, 1, out);
    }
    fclose(out);
}

/* A session of many keys. */
static void write_session(const char *path, unsigned n)
{
    FILE *out = fopen(path, "w");
    struct trace_file_header first = {.version = TRACE_VERSION,
                                      .block_header_bytes = sizeof(struct trace_block_header)};
    memcpy(first.magic, TRACE_FILE_MAGIC, sizeof first.magic);
    char *keys = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&keys, &size);
    for (unsigned i = 0; i < n; i++)
        fprintf(text, "%u%c%c", i, 0, 0);
    fclose(text);
    struct trace_block_header header = {.magic = TRACE_BLOCK_MAGIC, .kind = TRACE_BLOCK_SESSION, .count = 1};
    header.raw_bytes = header.packed_bytes = (uint32_t)size;
    header.payload_sum = XXH3_64bits(keys, size);
    header.header_sum = XXH3_64bits(&header, offsetof(struct trace_block_header, header_sum));
    fwrite(&first, sizeof first, 1, out);
    fwrite(&header, sizeof header, 1, out);
    fwrite(keys, 1, size, out);
    fclose(out);
    free(keys);
}

static void report(const char *path)
{
    struct error err = {0};
    FILE *null = fopen("/dev/null", "w");
    own_binaries = false;
    struct trace_reader *reader = trace_reader_open(path, &err);
    struct symbols *symbols = symbols_new();
    struct flow *flow = reader ? flow_build(reader, symbols, NULL, &err) : NULL;
    struct view_options view = {.path = path, .filter = {.kind = -1}, .verbose = true};
    if (flow)
        view_report(flow, &view, null, &err);
    if (flow)
        view_rows(flow, VIEW_OBJECTS, &view, null, &err);
    if (flow)
        view_pages(flow, &view, null, &err);
    flow_free(flow);
    symbols_free(symbols);
    trace_reader_close(reader);
    fclose(null);
    own_binaries = true;
}

static char imported[64];

static void import_perf(const char *path)
{
    struct error err = {0};
    struct perf_import result;
    if (perf_import(path, "/nowhere", imported, &result, &err) < 0)
        fprintf(stderr, "%s\n", err.text), abort();
    report(imported);
}

static void import_moca(const char *path)
{
    struct error err = {0};
    struct moca_import result;
    if (moca_import(&path, 1, imported, &result, &err) < 0)
        fprintf(stderr, "%s\n", err.text), abort();
    report(imported);
}

/* As many questions as it has symbols. */
static void read_symbols(const char *path)
{
    struct symbols *symbols = symbols_new();
    struct symbols_module *module = symbols_module(symbols, path, NULL, 0);
    const char *trouble = symbols_module_trouble(module);
    if (trouble)
        fprintf(stderr, "%s\n", trouble), abort();
    FILE *in = fopen(path, "r");
    fseek(in, 0, SEEK_END);
    size_t found = 0, questions = (size_t)ftell(in) / 64;
    fclose(in);
    for (uint64_t i = 0; i < questions; i++) {
        struct symbol_frame frames[4];
        struct symbol_object object;
        struct symbol_section section;
        found += symbols_frames(module, 0x1000 + 8 * i, frames, 4);
        found += symbols_object(module, 0x1000 + 8 * i, &object);
        found += symbols_section(module, 0x1000 + 8 * i, &section);
    }
    if (!found)
        abort();
    symbols_free(symbols);
}

#define SHAPE(name)                                                                                                    \
    {                                                                                                                  \
#name, name                                                                                                    \
    }

int main(void)
{
    static const struct {
        const char *name;
        shape *make;
    } shapes[] = {
        SHAPE(blocks_in_one_another),
        SHAPE(maps_over_one_another),
        SHAPE(one_map_with_holes),
        SHAPE(threads),
        SHAPE(threads_with_one_number),
        SHAPE(processes_that_fork),
        SHAPE(modules),
        SHAPE(chains),
        SHAPE(pools_in_pools),
        SHAPE(touches_and_homes),
        SHAPE(losses),
        SHAPE(intervals_that_end_one_by_one),
        SHAPE(pages_of_processes_that_end),
        SHAPE(pages_of_one_number),
        SHAPE(pages_under_blocks),
    };
    static const struct {
        const char *name;
        void (*write)(const char *path, unsigned n);
        void (*read)(const char *path);
    } files[] = {{"headers without their payloads", write_headers, report},
                 {"a session of many keys", write_session, report},
                 {"perf.data: processes, threads, mappings", write_perf_tasks, import_perf},
                 {"perf.data: events", write_perf_events, import_perf},
                 {"MOCA's file", write_moca, import_moca},
                 {"ELF: sections and symbols", write_elf, read_symbols}};
    enum { SHAPES = sizeof shapes / sizeof *shapes, FILES = sizeof files / sizeof *files };
    char path[] = "/tmp/numalens-linear-XXXXXX";
    int fd = mkstemp(path), failed = 0;
    printf("1..%d\n", SHAPES + FILES);
    snprintf(imported, sizeof imported, "%s.data", path);
    __sanitizer_install_malloc_and_free_hooks(count_allocated, count_freed);
    for (unsigned i = 0; i < SHAPES + FILES; i++) {
        uint64_t took[2], bytes[2];
        for (unsigned twice = 0; twice < 2; twice++) {
            if (i < SHAPES)
                record(path, shapes[i].make, FEW << twice);
            else
                files[i - SHAPES].write(path, FEW << twice);
            work = most = 0;
            uint64_t before = allocated;
            (i < SHAPES ? report : files[i - SHAPES].read)(path);
            took[twice] = work;
            bytes[twice] = most - before;
        }
        double times = (double)took[1] / (double)took[0], memory = (double)bytes[1] / (double)bytes[0];
        bool bad = times > MOST_TIMES || memory > MOST_TIMES;
        failed |= bad;
        printf("%sok %u - %s: %llu comparisons, %.1f MB; %.2f and %.2f times as much for twice as much\n",
               bad ? "not " : "", i + 1, i < SHAPES ? shapes[i].name : files[i - SHAPES].name,
               (unsigned long long)took[0], (double)bytes[0] / 1e6, times, memory);
        fflush(stdout);
    }
    unlink(path);
    unlink(imported);
    close(fd);
    return failed;
}
