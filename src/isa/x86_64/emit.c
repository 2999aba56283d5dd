/* isa/x86_64/emit.c - writes the code of slots. Runs in bursts: general registers only, no calls out.
 *
 * The slots are within 2 GiB of struct engine, so the program's registers are saved and loaded by addresses relative to
 * rip: no register is needed for that. */
#include "isa/x86_64/engine.h"

static void put(struct emitter *out, unsigned byte)
{
    out->to[out->count++] = (uint8_t)byte;
}

static void put_bytes(struct emitter *out, const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put(out, bytes[i]);
}

static void put_number(struct emitter *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        put(out, value >> (8 * i) & 0xff);
}

static void put_distance(struct emitter *out, const void *to)
{
    put_number(out, (uint64_t)to - (out->at + out->count + 4), 4);
}

static void put_move(struct emitter *out, unsigned opcode, unsigned reg, const void *memory)
{
    put(out, 0x48 | (reg >> 3) << 2);
    put(out, opcode);
    put(out, 5 | (reg & 7) << 3);
    put_distance(out, memory);
}

static void put_store(struct emitter *out, unsigned reg, const void *to)
{
    put_move(out, 0x89, reg, to);
}

static void put_load(struct emitter *out, unsigned reg, const void *from)
{
    put_move(out, 0x8b, reg, from);
}

static void put_constant(struct emitter *out, unsigned reg, uint64_t value)
{
    put(out, 0x48 | reg >> 3); /* movabs */
    put(out, 0xb8 | (reg & 7));
    put_number(out, value, 8);
}

/* enter(code): the engine's registers to its stack, the program's to the processor, then to `code`. */
static void emit_enter(struct emitter *out)
{
    static const uint8_t push_kept[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    struct engine *engine = out->engine;
    put_bytes(out, push_kept, sizeof push_kept);
    put_store(out, DECODE_RSP, &engine->own_sp);
    put_store(out, DECODE_RDI, &engine->target);
    put(out, 0xff); /* push flags; popfq */
    put(out, 0x35);
    put_distance(out, &engine->flags);
    put(out, 0x9d);
    for (unsigned reg = 0; reg < 16; reg++)
        if (reg != DECODE_RSP)
            put_load(out, reg, &engine->registers.general[reg]);
    put_load(out, DECODE_RSP, &engine->registers.general[DECODE_RSP]);
    put(out, 0xff); /* jmp *target */
    put(out, 0x25);
    put_distance(out, &engine->target);
}

/* Back, and out of enter() by its return. */
static void emit_way_out(struct emitter *out)
{
    static const uint8_t pop_kept[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};
    struct engine *engine = out->engine;
    for (unsigned reg = 0; reg < 16; reg++)
        put_store(out, reg, &engine->registers.general[reg]);
    put_load(out, DECODE_RSP, &engine->own_sp);
    put(out, 0x9c); /* pushfq; pop flags */
    put(out, 0x8f);
    put(out, 0x05);
    put_distance(out, &engine->flags);
    put(out, 0xfc); /* cld: C code relies on it */
    engine->leave_restored = out->at + out->count;
    put_bytes(out, pop_kept, sizeof pop_kept);
}

void emit_entry(struct engine *engine)
{
    struct emitter out = {.engine = engine, .to = engine->writable, .at = (uint64_t)engine->code};
    engine->enter = out.at + out.count;
    emit_enter(&out);
    out.count = (out.count + 63) & ~63u;
    engine->leave = out.at + out.count;
    emit_way_out(&out);
    engine->code_used = ENGINE_CODE;
}

void emit_leave(struct emitter *out)
{
    put(out, 0xe9);
    put_distance(out, (const void *)out->engine->leave);
}

/* The instruction with `scratch` as its base in the place of rip. */
static void put_based(struct emitter *out, const struct decoded *decoded, uint8_t scratch, const uint8_t *bytes)
{
    for (unsigned i = 0; i < decoded->length; i++) {
        uint8_t byte = bytes[i];
        if (i >= decoded->rip_at && i < decoded->rip_at + 4u)
            continue;
        if (i == decoded->modrm_at)
            byte = (uint8_t)((byte & 0x38) | scratch); /* mod 0 */
        else if (decoded->prefix_at != DECODE_NONE && i == decoded->prefix_at && decoded->encoding == DECODE_LEGACY)
            byte &= 0xfe; /* REX.B; of rip it says nothing, of a register it does */
        else if (i == decoded->prefix_at + 1u &&
                 (decoded->encoding == DECODE_EVEX ||
                  (decoded->encoding == DECODE_VEX && bytes[decoded->prefix_at] == 0xc4)))
            byte |= 0x20; /* the same, inverted */
        put(out, byte);
    }
}

void emit_instruction(struct emitter *out, const struct decoded *decoded, const struct outline *outline,
                      const uint8_t *bytes)
{
    struct engine *engine = out->engine;
    switch (outline->kind) {
    case OUTLINE_REPEAT: /* without its prefix: once */
        for (unsigned i = 0; i < decoded->length; i++)
            if (i >= decoded->opcode_at || (bytes[i] != 0xf2 && bytes[i] != 0xf3))
                put(out, bytes[i]);
        break;
    case OUTLINE_LEA:
        put_constant(out, outline->scratch, outline->target);
        break;
    default:
        if (!decoded->rip_at) {
            put_bytes(out, bytes, decoded->length);
            break;
        }
        put_store(out, outline->scratch, &engine->scratch);
        put_constant(out, outline->scratch, outline->target);
        put_based(out, decoded, outline->scratch, bytes);
        put_load(out, outline->scratch, &engine->scratch);
        break;
    }
}
