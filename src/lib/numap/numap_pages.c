#include "lib/numap/numap_pages.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIELDS_MOST = 8, MISC_USER = 2 /* PERF_RECORD_MISC_USER, which libpfm4 does not have */ };

struct perf_event_mmap_page *pages_make(size_t count)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), pages = 1;
    while (pages < count)
        pages *= 2;
    struct perf_event_mmap_page *page =
        mmap(NULL, page_bytes * (pages + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    page->data_offset = page_bytes;
    page->data_size = page_bytes * pages;
    return page;
}

void pages_free(struct perf_event_mmap_page *page)
{
    if (page)
        munmap(page, page->data_offset + page->data_size);
}

/* As the kernel computes it: clients may leave data_tail behind as a place in the buffer instead of a count. */
static uint64_t room_of(const struct perf_event_mmap_page *page)
{
    uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
    return (tail - (page->data_head + 1)) & (page->data_size - 1);
}

static void copy_in(struct perf_event_mmap_page *page, uint64_t *head, const void *bytes, size_t size)
{
    uint8_t *data = (uint8_t *)page + page->data_offset;
    size_t at = *head & (page->data_size - 1), first = page->data_size - at < size ? page->data_size - at : size;
    memcpy(data + at, bytes, first);
    memcpy(data, (const uint8_t *)bytes + first, size - first);
    *head += size;
}

static size_t make_body(const nlens_sample *sample, uint64_t type, uint64_t period, uint64_t *body)
{
    size_t count = 0;
    if (type & PERF_SAMPLE_IP)
        body[count++] = sample->ip;
    if (type & PERF_SAMPLE_TID)
        body[count++] = (uint64_t)sample->tid << 32 | (uint32_t)getpid();
    if (type & PERF_SAMPLE_TIME)
        body[count++] = sample->time;
    if (type & PERF_SAMPLE_ADDR)
        body[count++] = sample->addr;
    if (type & PERF_SAMPLE_CPU)
        body[count++] = (uint32_t)sample->cpu;
    if (type & PERF_SAMPLE_PERIOD)
        body[count++] = period;
    if (type & PERF_SAMPLE_WEIGHT)
        body[count++] = sample->latency;
    if (type & PERF_SAMPLE_DATA_SRC)
        body[count++] = sample->data_src;
    return count;
}

bool pages_put(struct perf_event_mmap_page *page, const nlens_sample *sample, uint64_t sample_type, uint64_t period,
               uint64_t *lost)
{
    uint64_t body[FIELDS_MOST], head = page->data_head;
    size_t body_bytes = make_body(sample, sample_type, period, body) * sizeof *body;
    struct perf_event_header header = {PERF_RECORD_SAMPLE, MISC_USER, (uint16_t)(sizeof header + body_bytes)};
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } loss = {{PERF_RECORD_LOST, 0, sizeof loss}, 0, *lost};
    if (room_of(page) < header.size + (*lost ? sizeof loss : 0)) {
        ++*lost;
        return false;
    }
    if (*lost)
        copy_in(page, &head, &loss, sizeof loss);
    *lost = 0;
    copy_in(page, &head, &header, sizeof header);
    copy_in(page, &head, body, body_bytes);
    __atomic_store_n(&page->data_head, head, __ATOMIC_RELEASE);
    return true;
}

static void copy_out(const struct perf_event_mmap_page *page, uint64_t from, void *bytes, size_t size)
{
    const uint8_t *data = (const uint8_t *)page + page->data_offset;
    size_t at = from & (page->data_size - 1), first = page->data_size - at < size ? page->data_size - at : size;
    memcpy(bytes, data + at, first);
    memcpy((uint8_t *)bytes + first, data, size - first);
}

void pages_each(const struct perf_event_mmap_page *page, void (*see)(void *context, const struct sample *sample),
                void *context)
{
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t filled = (head - page->data_tail) & (page->data_size - 1);
    for (uint64_t at = head - filled; at < head;) {
        struct perf_event_header header;
        struct sample sample;
        copy_out(page, at, &header, sizeof header);
        if (header.type == PERF_RECORD_SAMPLE && header.size == sizeof header + sizeof sample) {
            copy_out(page, at + sizeof header, &sample, sizeof sample);
            see(context, &sample);
        }
        at += header.size;
    }
}
