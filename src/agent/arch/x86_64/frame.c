/* Runs in signal handlers. */
#include "agent/arch/x86_64/frame.h"

#include <cpuid.h>
#include <string.h>
#include <sys/auxv.h>

enum {
    HWCAP2_HAS_FSGSBASE = 1 << 1,
    FRAME_MAGIC = 0x46505853, /* FP_XSTATE_MAGIC1: an XSAVE image follows the 512 bytes that were always there */
    SOFTWARE_BYTES = 464,     /* struct _fpx_sw_bytes */
    XSAVE_HEADER = 512,
    XMM_OFFSET = 160,
    YMM_OFFSET = 576, /* in the standard format, which the kernel uses in frames */
};

/* Components of the XSAVE image. */
enum { COMPONENT_SSE = 1, COMPONENT_AVX = 2, COMPONENT_MASKS = 5, COMPONENT_ZMM_HIGH = 6, COMPONENT_ZMM_16 = 7 };

/* What the processor says, asked once: in a virtual machine cpuid is slow. Every thread would write the same. */
static struct {
    volatile bool known;
    bool can_read_gs;
    uint32_t masks, zmm_high, zmm_16; /* offsets; 0 when there is no such component */
} processor;

static uint32_t component_offset(unsigned component)
{
    unsigned size, offset, c, d;
    return __get_cpuid_count(0xd, component, &size, &offset, &c, &d) && size ? offset : 0;
}

static void learn_processor(void)
{
    if (processor.known)
        return;
    processor.can_read_gs = getauxval(AT_HWCAP2) & HWCAP2_HAS_FSGSBASE;
    processor.masks = component_offset(COMPONENT_MASKS);
    processor.zmm_high = component_offset(COMPONENT_ZMM_HIGH);
    processor.zmm_16 = component_offset(COMPONENT_ZMM_16);
    processor.known = true;
}

static uint32_t word_at(const uint8_t *frame, unsigned offset)
{
    uint32_t value;
    memcpy(&value, frame + offset, sizeof value);
    return value;
}

/* A component's bytes, or NULL when it is in its initial state (all zeros) or beyond the image. */
static const uint8_t *component(const uint8_t *frame, uint32_t present, uint32_t size, unsigned number, uint32_t offset,
                                uint32_t bytes)
{
    return (present >> number & 1) && offset && offset + bytes <= size ? frame + offset : NULL;
}

static bool frame_vectors(const ucontext_t *context, struct decode_vectors *vectors)
{
    const uint8_t *frame = (const uint8_t *)context->uc_mcontext.fpregs;
    if (!frame || word_at(frame, SOFTWARE_BYTES) != FRAME_MAGIC)
        return false;
    uint32_t size = word_at(frame, SOFTWARE_BYTES + 16); /* xstate_size */
    uint32_t present = word_at(frame, XSAVE_HEADER);
    *vectors = (struct decode_vectors){
        .xmm = component(frame, present, size, COMPONENT_SSE, XMM_OFFSET, 256),
        .ymm_high = component(frame, present, size, COMPONENT_AVX, YMM_OFFSET, 256),
        .masks = component(frame, present, size, COMPONENT_MASKS, processor.masks, 64),
        .zmm_high = component(frame, present, size, COMPONENT_ZMM_HIGH, processor.zmm_high, 512),
        .zmm_16 = component(frame, present, size, COMPONENT_ZMM_16, processor.zmm_16, 1024),
    };
    return true;
}

static uint64_t read_gs_base(void)
{
    uint64_t base;
    __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xc8" : "=a"(base)); /* rdgsbase %rax */
    return base;
}

static uint64_t read_thread_pointer(void)
{
    uint64_t base;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(base)); /* by the ABI it points to itself */
    return base;
}

void frame_registers(const ucontext_t *context, struct decode_registers *registers, struct decode_vectors *vectors)
{
    static const uint8_t order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *general = context->uc_mcontext.gregs;
    learn_processor();
    for (unsigned i = 0; i < 16; i++)
        registers->general[i] = (uint64_t)general[order[i]];
    registers->rip = (uint64_t)general[REG_RIP];
    registers->has_fs = true;
    registers->fs_base = read_thread_pointer();
    registers->has_gs = processor.can_read_gs;
    registers->gs_base = processor.can_read_gs ? read_gs_base() : 0;
    registers->vectors = frame_vectors(context, vectors) ? vectors : NULL;
}
