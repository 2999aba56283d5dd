/* See reuse_times.h. */
#include "agent/sampling/reuse_times.h"

void reuse_begin(struct reuse_times *times, uint64_t seed, uint64_t accesses)
{
    times->now = times->lost = 0;
    times->seed = seed;
    times->bits = REUSE_BITS_FIRST;
    while (times->bits < REUSE_BITS_MOST && accesses >> times->bits > REUSE_FOLLOWED)
        times->bits++;
    times->line_count = times->row_count = 0;
    times->row_limit = REUSE_ROWS / 2;
    for (unsigned i = 0; i < REUSE_LINE_TABLE; i++) {
        times->lines[i].line = 0;
        KEEP_LOOP();
    }
    for (unsigned i = 0; i < REUSE_ROW_TABLE; i++) {
        times->row_table[i] = 0;
        KEEP_LOOP();
    }
}

static struct reuse_line *line_at(struct reuse_times *times, uint64_t hash, uint64_t line)
{
    unsigned at = (unsigned)(hash >> 20) & (REUSE_LINE_TABLE - 1);
    while (times->lines[at].line && times->lines[at].line != line + 1)
        at = (at + 1) & (REUSE_LINE_TABLE - 1);
    return &times->lines[at];
}

static uint64_t hash_of(const struct reuse_times *times, uint64_t line)
{
    return (line ^ times->seed) * 0x9e3779b97f4a7c15u;
}

/* Drops every other line; where rows run out, three of four: with half of the room each part then lasts twice as long. */
static void follow_fewer(struct reuse_times *times)
{
    uint32_t kept = 0;
    times->bits++;
    if (times->row_count >= times->row_limit) {
        times->bits++;
        times->row_limit += (REUSE_ROWS - times->row_limit) / 2;
    }
    for (unsigned i = 0; i < REUSE_LINE_TABLE; i++) {
        struct reuse_line *line = &times->lines[i];
        if (line->line && hash_of(times, line->line - 1) >> (64 - times->bits) == 0)
            times->kept[kept++] = *line;
        line->line = 0;
    }
    for (uint32_t i = 0; i < kept; i++) {
        uint64_t line = times->kept[i].line - 1;
        *line_at(times, hash_of(times, line), line) = times->kept[i];
    }
    times->line_count = kept;
}

static void count(struct reuse_times *times, uint64_t pc, uint64_t addr, uint64_t time, uint8_t flags)
{
    uint64_t page = addr / PAGE_UNIT, weight = 1ull << times->bits;
    uint16_t bin = (uint16_t)reuse_bin(time);
    uint64_t key = (pc * 0xff51afd7ed558ccdu ^ page) * 0xc4ceb9fe1a85ec53u + (uint64_t)bin * 8 + flags;
    unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15u >> 40) & (REUSE_ROW_TABLE - 1);
    for (; times->row_table[at]; at = (at + 1) & (REUSE_ROW_TABLE - 1)) {
        struct reuse_row *row = &times->rows[times->row_table[at] - 1];
        if (row->pc == pc && row->addr / PAGE_UNIT == page && row->bin == bin && row->flags == flags) {
            row->count += weight;
            return;
        }
    }
    if (times->row_count == REUSE_ROWS) {
        times->lost += weight;
        return;
    }
    struct reuse_row *row = &times->rows[times->row_count++];
    times->row_table[at] = (uint16_t)times->row_count;
    row->pc = pc;
    row->addr = addr;
    row->count = weight;
    row->bin = bin;
    row->flags = flags;
}

static void store(struct reuse_times *times, struct reuse_line *line, uint64_t pc, uint64_t addr)
{
    uint64_t gap = line->gap;
    if (!line->stored && gap < line->first) /* from before the burst to its first use in it */
        gap = line->first;
    count(times, pc, addr, gap, line->stored ? REUSE_DIRTY | REUSE_WRITE : REUSE_DIRTY | REUSE_WRITE | REUSE_AT_LEAST);
    line->stored = true;
    line->gap = 0;
}

void reuse_follow(struct reuse_times *times, uint64_t hash, uint64_t pc, uint64_t addr, bool write)
{
    uint64_t number = addr / CACHE_LINE;
    struct reuse_line *line = line_at(times, hash, number);
    uint8_t direction = write ? REUSE_WRITE : 0;
    if (line->line) {
        uint64_t gap = times->now - line->last;
        count(times, pc, addr, gap, direction);
        if (line->gap < gap)
            line->gap = gap;
    } else {
        if (times->line_count == REUSE_LINES || times->row_count >= times->row_limit) {
            if (times->row_count >=
                times->row_limit) /* with half as many lines, half of the room lasts as long again */
                times->row_limit += (REUSE_ROWS - times->row_limit) / 2;
            follow_fewer(times);
            if (hash >> (64 - times->bits))
                return;
            line = line_at(times, hash, number);
        }
        times->line_count++;
        count(times, pc, addr, times->now, direction | REUSE_AT_LEAST);
        *line = (struct reuse_line){.line = number + 1, .first = times->now};
    }
    line->last = times->now;
    line->word = addr / sizeof(uint64_t) % (CACHE_LINE / sizeof(uint64_t));
    if (write)
        store(times, line, pc, addr);
}

void reuse_time_loads(struct reuse_times *times, uint64_t random, bool (*load)(uint64_t addr, uint32_t *ns))
{
    unsigned at = (unsigned)random & (REUSE_LINE_TABLE - 1);
    uint32_t ns;
    for (unsigned i = 0, timed = 0; i < REUSE_LINE_TABLE && timed < REUSE_LOADS && times->row_count < REUSE_ROWS; i++) {
        const struct reuse_line *line = &times->lines[at];
        at = (at + REUSE_LINE_TABLE / 4 + 1) &
             (REUSE_LINE_TABLE - 1); /* neighbours were followed in each other's place */
        if (!line->line || !load((line->line - 1) * CACHE_LINE, &ns))
            continue;
        times->rows[times->row_count++] = (struct reuse_row){.addr = (line->line - 1) * CACHE_LINE,
                                                             .count = ns,
                                                             .bin = (uint16_t)reuse_bin(times->now - line->last),
                                                             .flags = REUSE_TIMED};
        timed++;
    }
}
