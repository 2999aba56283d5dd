/* See pages.h. A page is read when a job first needs it. Its place stays mapped for later jobs, which read it again. */
#include "executor/pages.h"

#include "base/sys.h"
#include "isa/copy.h"

enum {
    BYTES_MOST = 8 << 20, /* kept from job to job */
    TABLE = 8192,         /* a power of two */
    ENTRY_PRESENT = 63,   /* bit of a word of /proc/PID/pagemap */
};

struct place {
    uint64_t page; /* 0: empty */
    uint32_t job;  /* the last one that asked for it */
    bool mapped, good;
};

static struct place table[TABLE];
static uint32_t used, current;
static struct executor_job *job;
static const struct executor_setup *setup;

static struct place *place_of(uint64_t page)
{
    unsigned i = (unsigned)(page / setup->page_bytes * 0x9e3779b97f4a7c15u >> 40) & (TABLE - 1);
    while (table[i].page && table[i].page != page)
        i = (i + 1) & (TABLE - 1);
    return &table[i];
}

static void forget_all(void)
{
    for (unsigned i = 0; i < TABLE; i++) {
        if (table[i].mapped)
            sys_call(SYS_munmap, table[i].page, setup->page_bytes);
        table[i] = (struct place){0};
    }
    used = 0;
}

void pages_begin(struct executor_job *given, const struct executor_setup *with)
{
    job = given;
    setup = with;
    if (used > BYTES_MOST / setup->page_bytes || current == UINT32_MAX) {
        forget_all();
        current = 0;
    }
    current++;
}

/* The kernel says of registers of a device too that they are in memory, and reads them. */
static bool is_device(uint64_t page)
{
    for (unsigned i = 0; i < EXECUTOR_DEVICES; i++)
        if (page >= job->devices[i].low && page < job->devices[i].high)
            return true;
    return false;
}

/* Asked first: reading a page that is not there would have the kernel make it. */
static bool is_present(uint64_t page)
{
    uint64_t entry = 0;
    return sys_call(SYS_pread64, EXECUTOR_PAGEMAP, &entry, sizeof entry, page / setup->page_bytes * sizeof entry) ==
               (long)sizeof entry &&
           entry >> ENTRY_PRESENT;
}

static bool read_page(uint64_t page)
{
    uint64_t bytes = setup->page_bytes, copied = 0;
    for (unsigned i = 0; i < EXECUTOR_COPIES; i++)
        copied += job->copy_of[i] - page < bytes ? PAGE_UNIT : 0;
    if (page >= setup->its_time.low && page < setup->its_time.high)
        return copy_guarded((void *)page, (const void *)(setup->own_time.low + page - setup->its_time.low), bytes);
    if (copied < bytes) {
        job->pages++;
        if (is_device(page) || !is_present(page) ||
            sys_call(SYS_pread64, EXECUTOR_MEM, page, bytes, page) != (long)bytes)
            return false;
    }
    for (unsigned i = 0; i < EXECUTOR_COPIES; i++)
        if (job->copy_of[i] - page < bytes && !copy_guarded((void *)job->copy_of[i], job->copies[i], PAGE_UNIT))
            return false;
    return true;
}

static bool have(uint64_t page)
{
    struct place *place = place_of(page);
    if (place->page && place->job == current)
        return place->good;
    if (!place->page) {
        if (used >= TABLE / 2 || page == 0 || page - EXECUTOR_WINDOW < EXECUTOR_WINDOW_BYTES)
            return false;
        *place = (struct place){.page = page};
        used++;
    }
    place->job = current;
    if (!place->mapped)
        place->mapped = !sys_failed(sys_call(SYS_mmap, page, setup->page_bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0L));
    place->good = place->mapped && read_page(page);
    if (place->mapped && !place->good) { /* so that an instruction that gets there nevertheless faults */
        sys_call(SYS_munmap, page, setup->page_bytes);
        place->mapped = false;
    }
    return place->good;
}

bool pages_have(uint64_t addr, uint64_t size)
{
    uint64_t bytes = setup->page_bytes, last = (addr + size - 1) & ~(bytes - 1);
    for (uint64_t page = addr & ~(bytes - 1);; page += bytes) {
        if (!have(page))
            return false;
        if (page == last)
            return true;
    }
}
