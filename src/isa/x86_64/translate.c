/* isa/x86_64/translate.c - blocks: found by their address, compared with the program, made again. Runs in bursts. */
#include "isa/x86_64/emit.h"
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"
#include "isa/x86_64/guard.h"

/* Open addressing; nothing is taken out but all at once, when the blocks are used up. A table with one place for each
 * address would have blocks of one loop drive each other out. */
static uint16_t *place_of(struct engine *engine, uint64_t pc)
{
    unsigned i = (unsigned)(pc * 0x9e3779b97f4a7c15u >> 40) & (ENGINE_TABLE - 1);
    while (engine->table[i] && engine->blocks[engine->table[i] - 1].pc != pc)
        i = (i + 1) & (ENGINE_TABLE - 1);
    return &engine->table[i];
}

static void forget_blocks(struct engine *engine)
{
    for (unsigned i = 0; i < ENGINE_TABLE; i++)
        *(volatile uint16_t *)&engine->table[i] = 0;
    engine->block_count = 0;
    engine->code_used = ENGINE_CODE;
}

static bool has_room(const struct block *block, unsigned source, unsigned code)
{
    return block->instructions < BLOCK_INSTRUCTIONS && source <= BLOCK_SOURCE - DECODE_MAX_BYTES &&
           code <= BLOCK_CODE - 5 - BLOCK_LONGEST;
}

/* Copies the next instruction to the block. False: the block ends before it. */
static bool add_instruction(struct engine *engine, struct block *block, struct emitter *out,
                            const struct decoded *decoded, const struct outline *outline, const uint8_t *bytes,
                            unsigned source)
{
    bool first = block->instructions == 0;
    if (!first && (outline->kind == OUTLINE_STOP || outline->kind == OUTLINE_REPEAT || decoded->operand_count > 0))
        return false;
    if (first) {
        block->first = *decoded;
        for (unsigned i = 0; i < decoded->operand_count; i++)
            block->writes |= (decoded->operands[i].flags & SAMPLE_WRITE) != 0;
    }
    if (outline->kind == OUTLINE_STOP || outline->kind == OUTLINE_REPEAT || outline->kind == OUTLINE_BRANCH)
        block->last = *outline;
    if (outline->kind != OUTLINE_STOP && outline->kind != OUTLINE_BRANCH) {
        bool saved = outline->kind == OUTLINE_COPY && decoded->rip_at;
        block->map[block->copied].source = (uint8_t)source;
        block->map[block->copied].slot = (uint8_t)out->count;
        block->map[block->copied].scratch = saved ? outline->scratch : DECODE_NONE;
        block->copied++;
        block->vector |= decoded->vector;
        emit_copy(out, decoded, outline, bytes + source, &engine->scratch);
    }
    block->instructions++;
    return true;
}

static void fill_block(struct engine *engine, struct block *block, struct emitter *out, const uint8_t *bytes,
                       size_t readable)
{
    unsigned source = 0;
    while (has_room(block, source, out->count)) {
        struct decoded decoded;
        struct outline outline = {.kind = OUTLINE_STOP};
        if (decode_instruction(bytes + source, readable - source, &decoded))
            outline_of(&decoded, block->pc + source, &outline);
        else
            decoded = (struct decoded){.length = 1};
        if (outline.kind == OUTLINE_STOP)
            outline.target = outline_name(bytes + source, readable - source);
        if (!add_instruction(engine, block, out, &decoded, &outline, bytes, source))
            break;
        source += decoded.length;
        if (block->last.kind != OUTLINE_COPY)
            break;
    }
    block->next = block->pc + source;
    block->source_bytes = (uint8_t)source;
    for (unsigned i = 0; i < source; i++)
        ((volatile uint8_t *)block->source)[i] = bytes[i];
}

/* A place where the burst must end is a block as well, so that it is decoded once. */
static struct block *translate(struct engine *engine, uint64_t pc)
{
    uint8_t bytes[BLOCK_SOURCE + DECODE_MAX_BYTES];
    if (engine->block_count == ENGINE_BLOCKS)
        forget_blocks(engine);
    size_t readable = guard_copy(bytes, (const void *)pc, sizeof bytes);
    if (readable == 0)
        return NULL;
    /* From the end to the beginning: the processor fetches instructions ahead, and writing to a line that it has
     * fetched costs hundreds of cycles. Ahead of a block are older blocks. */
    uint32_t place = engine->code_used - BLOCK_CODE;
    uint16_t *known = place_of(engine, pc); /* perhaps of one that the program has overwritten */
    struct block *block = &engine->blocks[engine->block_count];
    block->pc = pc;
    block->place = place;
    block->last = (struct outline){.kind = OUTLINE_COPY};
    block->code = 0;
    block->instructions = block->copied = 0;
    block->vector = block->writes = false;
    struct emitter out = {.to = engine->writable + place, .at = (uint64_t)engine->code + place};
    fill_block(engine, block, &out, bytes, readable);
    if (out.count) {
        put_jump(&out, engine->leave);
        block->code = place;
        engine->code_used = place;
        if (!frame_is_emulated()) /* an emulator sees the write; iretq would end its kernel (QEMU 7.2, with SMAP) */
            guard_serialize();
    }
    *known = (uint16_t)++engine->block_count;
    return block;
}

struct block *block_at(struct engine *engine, uint64_t pc)
{
    uint16_t number = *place_of(engine, pc);
    if (number) {
        struct block *block = &engine->blocks[number - 1];
        if (guard_equal((const void *)pc, block->source, block->source_bytes))
            return block;
    }
    return translate(engine, pc);
}

unsigned block_instruction(const struct block *block, uint32_t offset)
{
    unsigned which = block->copied > 0 ? block->copied - 1u : 0;
    while (which > 0 && block->map[which].slot > offset - block->code)
        which--;
    return which;
}

const struct block *block_holding(const struct engine *engine, uint32_t offset)
{
    for (uint32_t i = engine->block_count; i > 0; i--) {
        const struct block *block = &engine->blocks[i - 1];
        if (block->code && offset - block->code < BLOCK_CODE)
            return block;
    }
    return NULL;
}
