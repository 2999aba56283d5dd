/* perf/spe.c - packets as the Arm Architecture Reference Manual lays them out (chapter "Statistical Profiling Extension
 * Sample Record Specification"), data sources as the cores' technical reference manuals do. */
#include "perf/spe.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD_MOST = 4096 }; /* the architecture allows records of up to 2 KiB */

enum packet_kind {
    PACKET_NONE, /* no packet that is known */
    PACKET_PAD,
    PACKET_END,
    PACKET_TIME,
    PACKET_EVENTS,
    PACKET_SOURCE,
    PACKET_CONTEXT,
    PACKET_OPERATION,
    PACKET_ADDRESS,
    PACKET_COUNTER,
};

struct packet {
    enum packet_kind kind;
    unsigned index; /* which address, counter, class of operation */
    uint64_t payload;
    size_t size;
};

enum { ADDRESS_INSTRUCTION = 0, ADDRESS_DATA = 2, ADDRESS_PHYSICAL = 3 };
enum { COUNTER_TOTAL = 0 };
enum { /* class 1 of the operation packet, and the bits of its payload */
       OPERATION_MEMORY = 1,
       OPERATION_STORE = 0x01,
       OPERATION_EXTENDED_MASK = 0xe2,
       OPERATION_EXTENDED = 0x02, /* atomic, exclusive, acquire or release */
       OPERATION_ATOMIC = 0x04,
};

enum { /* bits of the events packet */
       EVENT_L1_ACCESS = 1 << 2,
       EVENT_L1_REFILL = 1 << 3,
       EVENT_TLB_WALK = 1 << 5,
       EVENT_LLC_ACCESS = 1 << 8,
       EVENT_LLC_MISS = 1 << 9,
       EVENT_REMOTE = 1 << 10,
       EVENT_L2_ACCESS = 1 << 19, /* these since SPE 1.4; zero before */
       EVENT_L2_MISS = 1 << 20,
       EVENT_MODIFIED = 1 << 21,
       EVENT_SNOOPED = 1 << 23,
};

static enum packet_kind kind_of(uint8_t header)
{
    if (header == 0x00)
        return PACKET_PAD;
    if (header == 0x01)
        return PACKET_END;
    if (header == 0x71)
        return PACKET_TIME;
    if ((header & 0xcf) == 0x42)
        return PACKET_EVENTS;
    if ((header & 0xcf) == 0x43)
        return PACKET_SOURCE;
    if ((header & 0xfc) == 0x64)
        return PACKET_CONTEXT;
    if ((header & 0xfc) == 0x48)
        return PACKET_OPERATION;
    if ((header & 0xf8) == 0xb0)
        return PACKET_ADDRESS;
    if ((header & 0xf8) == 0x98)
        return PACKET_COUNTER;
    return PACKET_NONE;
}

static unsigned index_of(enum packet_kind kind, uint8_t header)
{
    return kind == PACKET_ADDRESS || kind == PACKET_COUNTER ? header & 7 : header & 3;
}

/* False when the packet goes on beyond `end`. */
static bool take(const uint8_t *at, const uint8_t *end, struct packet *packet)
{
    size_t remaining = (size_t)(end - at), head = 1;
    *packet = (struct packet){.size = 1};
    unsigned index_high = 0;
    uint8_t header = at[0];
    if ((header & 0xfc) == 0x20) { /* an extended header: two bytes */
        if (remaining < 2)
            return false;
        index_high = (header & 3u) << 3;
        header = at[1];
        head = 2;
        if (header == 0x00) { /* padding up to a multiple of 2 << n bytes; a buffer may begin anywhere: byte by byte */
            *packet = (struct packet){.kind = PACKET_PAD, .size = 2};
            return true;
        }
    }
    enum packet_kind kind = kind_of(header);
    if (kind == PACKET_NONE || kind == PACKET_PAD || kind == PACKET_END) {
        packet->kind = head == 2 ? PACKET_NONE : kind;
        return true;
    }
    size_t payload = (size_t)1 << (header >> 4 & 3);
    if (remaining < head + payload)
        return false;
    *packet = (struct packet){.kind = kind, .index = index_of(kind, header) | index_high, .size = head + payload};
    for (size_t i = 0; i < payload; i++)
        packet->payload |= (uint64_t)at[head + i] << 8 * i;
    return true;
}

struct record {
    struct memory_access access;
    uint64_t events, ticks;
    unsigned source;
    bool memory, has_source, has_ticks;
};

/* Bits 55 to 0 of an address; a data address carries a tag above, an instruction's its exception level. */
static uint64_t address_of(uint64_t payload)
{
    uint64_t addr = payload & ((1ULL << 56) - 1);
    return addr >> 55 & 1 ? addr | 0xffULL << 56 : addr;
}

static void note_address(struct record *record, const struct packet *packet)
{
    if (packet->index == ADDRESS_INSTRUCTION)
        record->access.ip = address_of(packet->payload);
    else if (packet->index == ADDRESS_DATA)
        record->access.addr = address_of(packet->payload);
    else if (packet->index == ADDRESS_PHYSICAL)
        record->access.physical = packet->payload & ((1ULL << 56) - 1);
}

static void note_operation(struct record *record, const struct packet *packet)
{
    record->memory = packet->index == OPERATION_MEMORY;
    if (!record->memory)
        return;
    bool extended = (packet->payload & OPERATION_EXTENDED_MASK) == OPERATION_EXTENDED;
    if (extended && packet->payload & OPERATION_ATOMIC)
        record->access.flags |= SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED;
    else
        record->access.flags |= packet->payload & OPERATION_STORE ? SAMPLE_WRITE : SAMPLE_READ;
}

static void note(struct record *record, const struct packet *packet)
{
    switch (packet->kind) {
    case PACKET_EVENTS:
        record->events = packet->payload;
        break;
    case PACKET_SOURCE:
        record->source = (unsigned)packet->payload;
        record->has_source = true;
        break;
    case PACKET_CONTEXT:
        record->access.tid = (uint32_t)packet->payload;
        break;
    case PACKET_OPERATION:
        note_operation(record, packet);
        break;
    case PACKET_ADDRESS:
        note_address(record, packet);
        break;
    case PACKET_COUNTER:
        if (packet->index == COUNTER_TOTAL && packet->payload) {
            record->access.latency = (uint32_t)packet->payload;
            record->access.flags |= SAMPLE_HAS_LATENCY;
        }
        break;
    case PACKET_TIME:
        record->ticks = packet->payload;
        record->has_ticks = true;
        break;
    default:
        break;
    }
}

/* Who made a data source, as Arm's own cores number them since Neoverse N1. */
enum source {
    SOURCE_L1 = 0x0,
    SOURCE_L2 = 0x8,
    SOURCE_PEER_CORE = 0x9,
    SOURCE_CLUSTER = 0xa,
    SOURCE_SYSTEM_CACHE = 0xb,
    SOURCE_PEER_CLUSTER = 0xc,
    SOURCE_OTHER_SOCKET = 0xd,
    SOURCE_DRAM = 0xe,
    SOURCE_UNKNOWN = 0x100,
};

static bool is_arm_core(unsigned part)
{
    static const uint16_t parts[] = {
        0xd0c /* Neoverse N1 */, 0xd40 /* V1 */,   0xd49 /* N2 */,   0xd4f /* V2 */,
        0xd8e /* N3 */,          0xd84 /* V3 */,   0xd83 /* V3AE */, 0xd44 /* Cortex X1 */,
        0xd4c /* X1C */,         0xd4e /* X3 */,   0xd82 /* X4 */,   0xd85 /* X925 */,
        0xd4b /* A78C */,        0xd4d /* A715 */, 0xd81 /* A720 */, 0xd87 /* A725 */,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (part == parts[i])
            return true;
    return false;
}

/* AmpereOne numbers them in its own way. */
static enum source ampere_source(unsigned source)
{
    switch (source) {
    case 0x0:
        return SOURCE_PEER_CORE;
    case 0x3:
        return SOURCE_SYSTEM_CACHE;
    case 0x5:
        return SOURCE_OTHER_SOCKET;
    case 0x7:
        return SOURCE_DRAM;
    case 0x8:
        return SOURCE_L1;
    case 0x9:
        return SOURCE_L2;
    default:
        return SOURCE_UNKNOWN;
    }
}

static enum source source_of(uint64_t midr, unsigned source)
{
    enum { ARM = 0x41, AMPERE = 0xc0, AMPERE_1A = 0xac4 };
    unsigned maker = midr >> 24 & 0xff, part = midr >> 4 & 0xfff;
    if (maker == ARM && is_arm_core(part))
        return (enum source)source;
    if (maker == AMPERE && part == AMPERE_1A)
        return ampere_source(source);
    return SOURCE_UNKNOWN;
}

static void level_by_source(struct memory_access *access, enum source source)
{
    switch (source) {
    case SOURCE_L1:
        access->level = LEVEL_L1;
        break;
    case SOURCE_L2:
    case SOURCE_PEER_CORE:
        access->level = LEVEL_L2;
        break;
    case SOURCE_CLUSTER:
    case SOURCE_PEER_CLUSTER:
    case SOURCE_SYSTEM_CACHE:
        access->level = LEVEL_L3;
        break;
    case SOURCE_OTHER_SOCKET: /* its caches or its memory: not reported */
        access->level = LEVEL_REMOTE_CACHE;
        break;
    case SOURCE_DRAM:
        access->level = LEVEL_RAM;
        break;
    default:
        break;
    }
}

static void level_by_events(struct memory_access *access, uint64_t events)
{
    if (events & EVENT_REMOTE)
        access->level = LEVEL_REMOTE_CACHE;
    else if (events & EVENT_LLC_MISS)
        access->level = LEVEL_RAM;
    else if (events & EVENT_LLC_ACCESS || events & EVENT_L2_MISS)
        access->level = LEVEL_L3;
    else if (events & EVENT_L1_REFILL || events & EVENT_L2_ACCESS)
        access->level = LEVEL_L2;
    else if (events & EVENT_L1_ACCESS)
        access->level = LEVEL_L1;
}

uint64_t spe_time(const struct spe_clock *clock, uint64_t ticks)
{
    if (clock->mult == 0 || clock->shift >= 64)
        return ticks;
    if (clock->mask) /* a counter of fewer bits than 64 */
        ticks = clock->cycles + ((ticks - clock->cycles) & clock->mask);
    uint64_t high = ticks >> clock->shift, low = ticks & ((1ULL << clock->shift) - 1);
    return clock->zero + high * clock->mult + (low * clock->mult >> clock->shift);
}

static void finish(const struct spe_decoder *decoder, struct record *record, struct memory_access *access)
{
    struct memory_access *made = &record->access;
    if (record->has_source && made->flags & SAMPLE_READ) /* of a store it reports nothing */
        level_by_source(made, source_of(decoder->midr, record->source));
    if (made->level == LEVEL_UNKNOWN)
        level_by_events(made, record->events);
    if (record->events & EVENT_TLB_WALK)
        made->flags |= SAMPLE_TLB_MISS;
    if (record->events & EVENT_SNOOPED && record->events & EVENT_MODIFIED)
        made->flags |= SAMPLE_HITM;
    if (record->has_ticks)
        made->time = spe_time(&decoder->clock, record->ticks);
    *access = *made;
}

bool spe_next(struct spe_decoder *decoder, const uint8_t **at, const uint8_t *end, struct memory_access *access)
{
    struct record record = {0};
    const uint8_t *now = *at;
    uint64_t skipped = 0;
    struct packet packet;
    bool begun = false;
    while (now < end && take(now, end, &packet)) {
        now += packet.size;
        skipped += packet.kind == PACKET_NONE;
        if (packet.kind == PACKET_NONE || packet.kind == PACKET_PAD) {
            if (!begun)
                *at = now; /* nothing to come back for */
            continue;
        }
        begun = true;
        note(&record, &packet);
        if (packet.kind != PACKET_END && packet.kind != PACKET_TIME)
            continue;
        *at = now;
        decoder->skipped += skipped;
        skipped = 0;
        if (record.memory && record.access.addr) {
            decoder->records++;
            finish(decoder, &record, access);
            return true;
        }
        decoder->other++;
        record = (struct record){0};
        begun = false;
    }
    if (!begun)
        decoder->skipped += skipped;
    return false;
}

void spe_stream_free(struct spe_stream *stream)
{
    free(stream->bytes);
    stream->bytes = NULL;
    stream->start = stream->end = stream->capacity = 0;
}

void spe_stream_add(struct spe_stream *stream, const uint8_t *bytes, size_t size)
{
    size_t kept = stream->end - stream->start;
    if (kept > RECORD_MOST) { /* no record is that long: it has no end */
        stream->decoder.skipped += kept;
        kept = 0;
    }
    if (kept)
        memmove(stream->bytes, stream->bytes + stream->end - kept, kept);
    if (kept + size > stream->capacity) {
        stream->capacity = kept + size;
        stream->bytes = mem_resize(stream->bytes, stream->capacity);
    }
    if (size)
        memcpy(stream->bytes + kept, bytes, size);
    stream->start = 0;
    stream->end = kept + size;
}

void spe_stream_cut(struct spe_stream *stream)
{
    stream->decoder.skipped += stream->end - stream->start;
    stream->start = stream->end = 0;
}

bool spe_stream_next(struct spe_stream *stream, struct memory_access *access)
{
    if (stream->start == stream->end)
        return false;
    const uint8_t *at = stream->bytes + stream->start;
    bool found = spe_next(&stream->decoder, &at, stream->bytes + stream->end, access);
    stream->start = (size_t)(at - stream->bytes);
    return found;
}
