/* isa/x86_64/relocate.c - five bytes give way to a jump: as many whole instructions as they take are moved.
 *
 * ENDBR64 stays where it is if the rest has room. The thunk changes no register: callers in the same file may know
 * which ones a static function leaves alone. */
#include "isa/x86_64/decode.h"
#include "isa/relocate.h"

#include <string.h>

enum { JUMP = 5, INDIRECT = 6 };

struct branch {
    uint8_t opcode; /* E8, E9, EB, 70-7F (also for 0F 80-8F), E0-E3; 0: no relative branch */
    uint64_t target;
};

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e ||
           byte == 0x26 || byte == 0x36 || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
}

static size_t opcode_at(const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    while (at + 1 < length && is_prefix(bytes[at]))
        at++;
    return at;
}

/* The relative branch that `bytes` are, if they are one; `length` bytes, at `at`. */
static struct branch branch_of(const uint8_t *bytes, size_t length, uint64_t at)
{
    size_t opcode = opcode_at(bytes, length);
    uint8_t byte = bytes[opcode];
    struct branch branch = {0};
    if ((byte & 0xf0) == 0x70 || byte == 0xeb || (byte >= 0xe0 && byte <= 0xe3)) {
        if (length - opcode == 2)
            branch = (struct branch){byte, at + length + (uint64_t)(int64_t)(int8_t)bytes[opcode + 1]};
        return branch;
    }
    int32_t distance;
    if ((byte == 0xe8 || byte == 0xe9) && length - opcode == 5) {
        memcpy(&distance, bytes + opcode + 1, 4);
        branch = (struct branch){byte, at + length + (uint64_t)(int64_t)distance};
    } else if (byte == 0x0f && length - opcode == 6 && (bytes[opcode + 1] & 0xf0) == 0x80) {
        memcpy(&distance, bytes + opcode + 2, 4);
        branch = (struct branch){(uint8_t)(bytes[opcode + 1] - 0x10), at + length + (uint64_t)(int64_t)distance};
    }
    return branch;
}

/* Whether a branch that may begin at any of these bytes may lead into (low, high): for code that is not understood. */
static bool might_branch(const struct relocate_job *job, size_t from, uint64_t low, uint64_t high)
{
    static const uint8_t lengths[] = {2, 5, 6};
    for (; from < job->size; from++) {
        for (unsigned i = 0; i < sizeof lengths; i++) {
            if (job->size - from < lengths[i] || is_prefix(job->code[from]))
                continue;
            struct branch branch = branch_of(job->code + from, lengths[i], job->at + from);
            if (branch.opcode && branch.target > low && branch.target < high)
                return true;
        }
    }
    return false;
}

static bool branches_into(const struct relocate_job *job, uint64_t low, uint64_t high)
{
    struct decoded decoded;
    for (size_t from = 0; from < job->size; from += decoded.length) {
        if (!decode_instruction(job->code + from, job->size - from, &decoded))
            return might_branch(job, from, low, high);
        struct branch branch = branch_of(job->code + from, decoded.length, job->at + from);
        if (branch.opcode && branch.target > low && branch.target < high)
            return true;
    }
    return false;
}

struct building {
    struct relocate_result *result;
    uint64_t thunk;
    uint32_t used;
    uint64_t literals[4];
    uint32_t literal_user[4], literal_count; /* where its displacement is */
};

static void put_bytes(struct building *building, const void *bytes, size_t size)
{
    memcpy(building->result->thunk + building->used, bytes, size);
    building->used += (uint32_t)size;
}

/* PUSH [rip + x] (FF /6) or JMP [rip + x] (FF /4); x is filled in at the end. */
static void put_indirect(struct building *building, uint8_t modrm, uint64_t value)
{
    uint8_t bytes[INDIRECT] = {0xff, modrm};
    put_bytes(building, bytes, sizeof bytes);
    building->literals[building->literal_count] = value;
    building->literal_user[building->literal_count++] = building->used - 4;
}

static bool distance32(uint64_t from, uint64_t to, int32_t *distance)
{
    int64_t wide = (int64_t)(to - from);
    *distance = (int32_t)wide;
    return *distance == wide;
}

/* `opcode` with a 32-bit distance to `target`. */
static bool put_relative(struct building *building, const uint8_t *opcode, size_t size, uint64_t target)
{
    int32_t distance;
    if (!distance32(building->thunk + building->used + size + 4, target, &distance))
        return false;
    put_bytes(building, opcode, size);
    put_bytes(building, &distance, 4);
    return true;
}

static bool put_jump(struct building *building, uint64_t target)
{
    return put_relative(building, (const uint8_t[]){0xe9}, 1, target);
}

static bool move_branch(struct building *building, struct branch branch, uint64_t next)
{
    if (branch.opcode == 0xe9 || branch.opcode == 0xeb)
        return put_jump(building, branch.target);
    if (branch.opcode == 0xe8) { /* returns behind the original, which unwinders know */
        put_indirect(building, 0x35, next);
        return put_jump(building, branch.target);
    }
    if ((branch.opcode & 0xf0) == 0x70)
        return put_relative(building, (const uint8_t[]){0x0f, (uint8_t)(branch.opcode + 0x10)}, 2, branch.target);
    return false;
}

static bool move(struct building *building, const uint8_t *bytes, const struct decoded *decoded, uint64_t from)
{
    uint64_t next = from + decoded->length;
    struct branch branch = branch_of(bytes, decoded->length, from);
    if (branch.opcode)
        return move_branch(building, branch, next);
    uint32_t begin = building->used;
    put_bytes(building, bytes, decoded->length);
    if (decoded->rip_at) {
        int32_t old, distance;
        memcpy(&old, bytes + decoded->rip_at, 4);
        if (!distance32(building->thunk + building->used, next + (uint64_t)(int64_t)old, &distance))
            return false;
        memcpy(building->result->thunk + begin + decoded->rip_at, &distance, 4);
    }
    return true;
}

/* FF with this in ModRM's reg: 2 is an indirect call, 4 an indirect jump. */
static bool is_indirect(const uint8_t *bytes, size_t length, unsigned reg)
{
    size_t at = opcode_at(bytes, length);
    return bytes[at] == 0xff && at + 1 < length && (bytes[at + 1] >> 3 & 7) == reg;
}

/* Whether control never gets behind the instruction. */
static bool is_end(const uint8_t *bytes, size_t length)
{
    uint8_t opcode = bytes[opcode_at(bytes, length)];
    return opcode == 0xe9 || opcode == 0xeb || opcode == 0xc2 || opcode == 0xc3 || is_indirect(bytes, length, 4);
}

static void put_literals(struct building *building)
{
    building->used = (building->used + 7) & ~7u;
    for (uint32_t i = 0; i < building->literal_count; i++) {
        int32_t distance = (int32_t)(building->used - (building->literal_user[i] + 4));
        memcpy(building->result->thunk + building->literal_user[i], &distance, 4);
        put_bytes(building, &building->literals[i], 8);
    }
}

static bool build(const struct relocate_job *job, uint32_t offset, struct relocate_result *result,
                  enum wire_custom_refusal *why)
{
    struct building building = {.result = result, .thunk = job->thunk};
    *result = (struct relocate_result){.patch_offset = offset, .patch_size = JUMP};
    *why = CUSTOM_NO_ROOM;
    int32_t distance;
    if (!distance32(job->at + offset + JUMP, job->thunk, &distance))
        return false;
    put_indirect(&building, 0x35, job->hook);
    put_indirect(&building, 0x25, job->entered);
    result->resume = building.used;
    struct decoded decoded;
    uint32_t from = offset;
    for (; from < offset + JUMP; from += decoded.length) {
        const uint8_t *bytes = job->code + from;
        *why = CUSTOM_TOO_SHORT;
        if (from >= job->size)
            return false;
        *why = CUSTOM_NOT_MOVABLE;
        if (!decode_instruction(bytes, job->size - from, &decoded) ||
            is_indirect(bytes, decoded.length, 2) || /* the return address would be the thunk's */
            !move(&building, bytes, &decoded, job->at + from))
            return false;
        *why = CUSTOM_TOO_SHORT;
        if (is_end(bytes, decoded.length) && from + decoded.length < offset + JUMP)
            return false; /* what follows may be somebody else's */
        if (from == offset)
            result->one_step = decoded.length >= JUMP && ((job->at + offset) & 7) <= 8 - JUMP;
    }
    *why = CUSTOM_BRANCH_INSIDE;
    if (branches_into(job, job->at + offset, job->at + from))
        return false;
    *why = CUSTOM_NOT_MOVABLE;
    if (!put_jump(&building, job->at + from))
        return false;
    put_literals(&building);
    result->thunk_size = building.used;
    result->patch[0] = 0xe9;
    memcpy(result->patch + 1, &distance, 4);
    return true;
}

bool relocate_x86_64(const struct relocate_job *job, struct relocate_result *result, enum wire_custom_refusal *why)
{
    bool marked = job->size >= sizeof endbr64 && memcmp(job->code, endbr64, sizeof endbr64) == 0;
    return (marked && build(job, sizeof endbr64, result, why)) || build(job, 0, result, why);
}
