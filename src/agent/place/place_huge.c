/* agent/place/place_huge.c - whether entries that ask for huge pages were given any.
 *
 * The kernel gives them when it likes, long after it was asked. So it is looked while memory is still there: when the program ends or
 * becomes another one, and before the first memory of an entry goes that has been seen with none. */
#include "agent/place/place_work.h"

#include "agent/process/own_maps.h"

enum {
    RANGES = 256,   /* of memory that are known; what is beyond is not looked at */
    LOOKS_MOST = 16 /* before the end: each takes as long as the process has pages */
};

static struct {
    _Atomic uint64_t start, end;
    _Atomic(struct place_entry *) entry; /* NULL: not written yet */
} ranges[RANGES];
static _Atomic uint32_t range_count, looks;

static uint32_t known_ranges(void)
{
    uint32_t count = atomic_load(&range_count);
    return count < RANGES ? count : RANGES;
}

void place_huge_asked(struct place_entry *entry, uint64_t start, uint64_t end)
{
    uint32_t count = known_ranges();
    if (count > 0 && atomic_load(&ranges[count - 1].entry) == entry && atomic_load(&ranges[count - 1].end) == start) {
        atomic_store(&ranges[count - 1].end, end); /* two threads at once: one range is lost */
        return;
    }
    uint32_t index = count < RANGES ? atomic_fetch_add(&range_count, 1) : RANGES;
    if (index >= RANGES)
        return;
    atomic_store(&ranges[index].start, start);
    atomic_store(&ranges[index].end, end);
    atomic_store(&ranges[index].entry, entry);
}

static uint64_t shared_by(uint32_t index, uint64_t start, uint64_t end)
{
    uint64_t low = atomic_load(&ranges[index].start), high = atomic_load(&ranges[index].end);
    low = low > start ? low : start;
    high = high < end ? high : end;
    return high > low ? high - low : 0;
}

/* A mapping may be of several entries: each has of it what it shares with it, at most. */
static bool visit(const struct maps_line *line, void *data)
{
    uint64_t *seen = data;
    for (uint32_t i = 0; line->huge && i < known_ranges(); i++) {
        struct place_entry *entry = atomic_load(&ranges[i].entry);
        uint64_t shared = entry ? shared_by(i, line->start, line->end) : 0;
        if (shared)
            seen[entry - place_entries(place_table)] += shared < line->huge ? shared : line->huge;
    }
    return false;
}

void place_huge_look(void)
{
    uint64_t seen[PLACE_ENTRIES] = {0};
    maps_find_huge(visit, seen);
    for (uint32_t i = 0; i < place_table->entry_count && i < PLACE_ENTRIES; i++) {
        _Atomic uint64_t *most = &place_entries(place_table)[i].huge_bytes;
        uint64_t known = atomic_load(most);
        while (seen[i] > known && !atomic_compare_exchange_weak(most, &known, seen[i]))
            ;
    }
}

void place_huge_going(const void *addr, size_t size)
{
    for (uint32_t i = 0; i < known_ranges(); i++) {
        const struct place_entry *entry = atomic_load(&ranges[i].entry);
        if (!entry || atomic_load(&entry->huge_bytes) || !shared_by(i, (uint64_t)addr, (uint64_t)addr + size))
            continue;
        if (atomic_fetch_add(&looks, 1) < LOOKS_MOST)
            place_huge_look();
        return;
    }
}
