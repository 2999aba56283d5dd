/* isa/x86_64/emit.c - writes the code of slots. Runs in bursts: general registers only, no calls out. */
#include "isa/x86_64/emit.h"
#include "isa/x86_64/engine.h"

void emit_enter(struct emitter *out, const struct emit_state *state)
{
    static const uint8_t push_kept[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    put_bytes(out, push_kept, sizeof push_kept);
    put_store(out, DECODE_RSP, state->own_sp);
    put_store(out, DECODE_RDI, state->target);
    put(out, 0xff); /* push flags; popfq */
    put(out, 0x35);
    put_distance(out, state->flags, 0);
    put(out, 0x9d);
    for (unsigned reg = 0; reg < 16; reg++)
        if (reg != DECODE_RSP)
            put_load(out, reg, &state->general[reg]);
    put_load(out, DECODE_RSP, &state->general[DECODE_RSP]);
    put_jump_through(out, state->target);
}

uint64_t emit_way_out(struct emitter *out, const struct emit_state *state)
{
    static const uint8_t pop_kept[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};
    for (unsigned reg = 0; reg < 16; reg++)
        put_store(out, reg, &state->general[reg]);
    put_load(out, DECODE_RSP, state->own_sp);
    put(out, 0x9c); /* pushfq; pop flags */
    put(out, 0x8f);
    put(out, 0x05);
    put_distance(out, state->flags, 0);
    put(out, 0xfc); /* cld: C code relies on it */
    uint64_t restored = out->at + out->count;
    put_bytes(out, pop_kept, sizeof pop_kept);
    return restored;
}

void emit_entry(struct engine *engine)
{
    struct emit_state state = {engine->registers.general, &engine->flags, &engine->own_sp, &engine->target};
    struct emitter out = {.to = engine->writable, .at = (uint64_t)engine->code};
    engine->enter = out.at + out.count;
    emit_enter(&out, &state);
    out.count = (out.count + 63) & ~63u;
    engine->leave = out.at + out.count;
    engine->leave_restored = emit_way_out(&out, &state);
    engine->code_used = ENGINE_CODE;
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

void emit_copy(struct emitter *out, const struct decoded *decoded, const struct outline *outline, const uint8_t *bytes,
               uint64_t *scratch)
{
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
        put_store(out, outline->scratch, scratch);
        put_constant(out, outline->scratch, outline->target);
        put_based(out, decoded, outline->scratch, bytes);
        put_load(out, outline->scratch, scratch);
        break;
    }
}
