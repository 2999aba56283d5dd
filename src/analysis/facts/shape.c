/* analysis/facts/shape.c - in which order a subject is walked through, as bursts show it.
 *
 * A burst is a thread's consecutive accesses. Two accesses of one burst to one object by one instruction (one call chain:
 * it begins with the instruction) differ by a stride. Strides that make up a tenth or more of the pairs are regular: within a
 * cache line they say sequential, beyond it strided; the others say random. A loop that was unrolled has large strides, but its
 * other instructions fill the gap: that is sequential too. */
#include "base/units.h"
#include "analysis/facts/facts_work.h"

/* The most frequent strides in bounded memory (Misra and Gries): what is more frequent than one in STRIDES + 1 stays. */
static void note_stride(struct strides *strides, int64_t stride, uint32_t burst)
{
    strides->pairs++;
    strides->bursts += strides->last_burst != burst;
    strides->last_burst = burst;
    unsigned empty = STRIDES;
    for (unsigned i = 0; i < STRIDES; i++) {
        if (strides->counts[i] && strides->strides[i] == stride) {
            strides->counts[i]++;
            return;
        }
        if (strides->counts[i] == 0)
            empty = i;
    }
    if (empty < STRIDES) {
        strides->strides[empty] = stride;
        strides->counts[empty] = 1;
        return;
    }
    for (unsigned i = 0; i < STRIDES; i++)
        strides->counts[i]--;
}

/* How much of the way between two accesses of one instruction was accessed by others in the same burst. */
static bool is_filled(const struct open_burst *burst, uint32_t object, uint64_t from, uint64_t to)
{
    uint64_t low = from < to ? from : to, high = from < to ? to : from, filled = 0;
    for (unsigned i = 0; i < BURST_KEPT && i < burst->count; i++) {
        const struct burst_access *other = &burst->kept[i];
        if (other->object == object && other->addr >= low && other->addr < high)
            filled += other->size;
    }
    return (double)filled >= thresholds.majority * (double)(high - low);
}

bool shape_stride(struct open_burst *burst, uint32_t object, const struct flow_access *access, int64_t *stride)
{
    bool found = false;
    if (access->stack == 0)
        return false;
    for (unsigned back = 1; back <= BURST_KEPT && back <= burst->count && !found; back++) {
        const struct burst_access *before = &burst->kept[(burst->count - back) % BURST_KEPT];
        if (before->object != object || before->stack != access->stack)
            continue;
        *stride = (int64_t)(access->addr - before->addr);
        found = *stride != 0; /* the same place again says nothing */
        if (found && (*stride > CACHE_LINE || *stride < -CACHE_LINE) &&
            is_filled(burst, object, before->addr, access->addr))
            *stride = *stride > 0 ? access->size : -(int64_t)access->size;
        break;
    }
    burst->kept[burst->count++ % BURST_KEPT] =
        (struct burst_access){.addr = access->addr, .object = object, .stack = access->stack, .size = access->size};
    return found;
}

void shape_add(struct detail *detail, int64_t stride, uint32_t burst)
{
    note_stride(&detail->strides, stride, burst);
}

void shape_finish(struct facts_subject *subject, const struct detail *detail)
{
    const struct strides *strides = &detail->strides;
    uint64_t near = 0, far = 0;
    uint32_t most_near = 0, most_far = 0;
    int64_t near_stride = 0, far_stride = 0;
    if (strides->bursts < thresholds.few_bursts)
        return;
    for (unsigned i = 0; i < STRIDES; i++) {
        uint32_t count = strides->counts[i];
        int64_t stride = strides->strides[i];
        if (count < thresholds.part * strides->pairs)
            continue;
        bool is_near = stride <= CACHE_LINE && stride >= -CACHE_LINE;
        *(is_near ? &near : &far) += count;
        if (count > *(is_near ? &most_near : &most_far)) {
            *(is_near ? &most_near : &most_far) = count;
            *(is_near ? &near_stride : &far_stride) = stride;
        }
    }
    uint64_t rest = strides->pairs - near - far, half = strides->pairs / 2;
    subject->shape = near > half   ? SHAPE_SEQUENTIAL
                     : far > half  ? SHAPE_STRIDED
                     : rest > half ? SHAPE_RANDOM
                                   : SHAPE_UNKNOWN;
    subject->stride = subject->shape == SHAPE_SEQUENTIAL ? near_stride
                      : subject->shape == SHAPE_STRIDED  ? far_stride
                                                         : 0;
    uint64_t says = subject->shape == SHAPE_SEQUENTIAL ? near
                    : subject->shape == SHAPE_STRIDED  ? far
                    : subject->shape == SHAPE_RANDOM   ? rest
                                                       : 0;
    subject->shape_share = (double)says / (double)strides->pairs;
}
