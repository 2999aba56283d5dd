/* isa/x86_64/vector.c - the program's vector registers in a burst. Runs in bursts.
 *
 * The signal frame holds them as XSAVE writes them. They are loaded before the first block that uses them (most bursts
 * never do) and written back once, when the burst is over or something else needs the registers. */
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"

enum {
    FRAME_MAGIC = 0x46505853, /* FP_XSTATE_MAGIC1: the frame has a whole XSAVE image */
    SOFTWARE_BYTES = 464,     /* struct _fpx_sw_bytes: magic, extended size, features */
    XSAVE_HEADER = 512,
    COMPONENTS = 0xe7, /* x87, SSE, AVX, masks, both parts of ZMM; neither keys nor tiles */
    COMPONENT_KEYS = 9,
};

static uint64_t word_at(const uint8_t *image, unsigned offset)
{
    return *(const uint64_t *)(const void *)(image + offset);
}

/* Accesses of the program are to happen under its protection keys, where a handler gets the kernel's. Our own memory
 * has key 0: a program that has taken that from itself gets no burst. */
static bool take_keys(const uint8_t *image, uint64_t features)
{
    uint32_t offset = frame_keys_offset();
    if (!offset || !(features >> COMPONENT_KEYS & 1))
        return true;
    uint32_t theirs =
        word_at(image, XSAVE_HEADER) >> COMPONENT_KEYS & 1 ? *(const uint32_t *)(const void *)(image + offset) : 0;
    uint32_t now, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(now), "=d"(high) : "c"(0)); /* rdpkru */
    if (now == theirs)
        return true;
    if (theirs & 3)
        return false;
    __asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(theirs), "c"(0), "d"(0) : "memory"); /* wrpkru */
    return true;
}

bool vectors_fit(struct engine *engine, const ucontext_t *context)
{
    uint8_t *image = (uint8_t *)context->uc_mcontext.fpregs;
    if (!image || (uint32_t)word_at(image, SOFTWARE_BYTES) != FRAME_MAGIC)
        return false;
    uint64_t features = word_at(image, SOFTWARE_BYTES + 8);
    engine->image = image;
    engine->image_mask = features & COMPONENTS;
    engine->vectors_live = false;
    return take_keys(image, features);
}

void vectors_load(struct engine *engine)
{
    if (engine->vectors_live)
        return;
    uint32_t low = (uint32_t)engine->image_mask, high = (uint32_t)(engine->image_mask >> 32);
    __asm__ volatile("xrstor64 (%0)" : : "r"(engine->image), "a"(low), "d"(high) : "memory");
    engine->vectors_live = true;
}

static void save(struct engine *engine)
{
    uint32_t low = (uint32_t)engine->image_mask, high = (uint32_t)(engine->image_mask >> 32);
    __asm__ volatile("xsave64 (%0)" : : "r"(engine->image), "a"(low), "d"(high) : "memory");
    /* The last x87 instruction ran in a slot; to the program it did so at its own place. */
    uint64_t *last = (uint64_t *)(void *)(engine->image + FRAME_X87_LAST);
    uint64_t offset = *last - (uint64_t)engine->code;
    if (offset < ENGINE_CODE) {
        const struct block *block = block_holding(engine, (uint32_t)offset);
        *last = block ? block->pc + block->map[block_instruction(block, (uint32_t)offset)].source : 0;
    }
}

void vectors_keep(struct engine *engine)
{
    if (!engine->vectors_live)
        return;
    save(engine);
    engine->vectors_live = false;
}

void vectors_show(struct engine *engine)
{
    vectors_load(engine);
    save(engine);
    frame_vectors(engine->image, &engine->vectors);
    engine->registers.vectors = &engine->vectors;
}
