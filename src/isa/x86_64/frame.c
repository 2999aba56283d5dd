/* Runs in bursts, but for frame_learn: general registers only, no calls out. */
#include "isa/x86_64/frame.h"

#include <cpuid.h>
#include <sys/auxv.h>

enum {
    HWCAP2_HAS_FSGSBASE = 1 << 1,
    FRAME_MAGIC = 0x46505853, /* FP_XSTATE_MAGIC1: an XSAVE image follows the 512 bytes that were always there */
    SOFTWARE_BYTES = 464,     /* struct _fpx_sw_bytes */
    KERNEL_CONTEXT = 304,     /* the kernel's struct ucontext, smaller than libc's */
    XSAVE_HEADER = 512,
    FRAME_MOST = 32 << 10,
    XMM_OFFSET = 160,
    YMM_OFFSET = 576, /* in the standard format, which the kernel uses in frames */
};

/* Components of the XSAVE image. */
enum {
    COMPONENT_SSE = 1,
    COMPONENT_AVX = 2,
    COMPONENT_MASKS = 5,
    COMPONENT_ZMM_HIGH = 6,
    COMPONENT_ZMM_16 = 7,
    COMPONENT_KEYS = 9,
};

/* What the processor says, asked once before the first tick: in a virtual machine cpuid is slow. */
static struct {
    bool known, can_read_gs, emulated;
    uint32_t masks, zmm_high, zmm_16, keys; /* offsets; 0 when there is no such component */
} processor;

/* libc's, where it has one (2.35 and later). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

const uint8_t frame_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static uint32_t component_offset(unsigned component)
{
    unsigned size, offset, c, d;
    return __get_cpuid_count(0xd, component, &size, &offset, &c, &d) && size ? offset : 0;
}

static bool has_keys(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 4 & 1; /* OSPKE */
}

/* QEMU's emulator names itself where hypervisors do. */
static bool is_emulated(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
        return false;
    __cpuid(0x40000000, a, b, c, d);
    return b == 0x54474354 && c == 0x43544743 && d == 0x47435447; /* TCGTCGTCGTCG */
}

void frame_learn(void)
{
    if (processor.known) /* by the parent of a fork, too */
        return;
    processor.known = true;
    processor.emulated = is_emulated();
    processor.can_read_gs = getauxval(AT_HWCAP2) & HWCAP2_HAS_FSGSBASE;
    processor.masks = component_offset(COMPONENT_MASKS);
    processor.zmm_high = component_offset(COMPONENT_ZMM_HIGH);
    processor.zmm_16 = component_offset(COMPONENT_ZMM_16);
    processor.keys = has_keys() ? component_offset(COMPONENT_KEYS) : 0;
}

bool frame_is_emulated(void)
{
    return processor.emulated;
}

uint32_t frame_keys_offset(void)
{
    return processor.keys;
}

bool frame_rseq_area(uint64_t fs_base, uint64_t *area)
{
    if (!&__rseq_size || !__rseq_size)
        return false;
    *area = fs_base + (uint64_t)__rseq_offset;
    return true;
}

static uint32_t word_at(const uint8_t *frame, unsigned offset)
{
    return *(const uint32_t *)(const void *)(frame + offset);
}

/* A component's bytes, or NULL when it is in its initial state (all zeros) or beyond the image. */
static const uint8_t *component(const uint8_t *frame, uint32_t present, uint32_t size, unsigned number, uint32_t offset,
                                uint32_t bytes)
{
    return (present >> number & 1) && offset && offset + bytes <= size ? frame + offset : NULL;
}

bool frame_vectors(const uint8_t *frame, struct decode_vectors *vectors)
{
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
    const greg_t *general = context->uc_mcontext.gregs;
    for (unsigned i = 0; i < 16; i++)
        registers->general[i] = (uint64_t)general[frame_order[i]];
    registers->rip = (uint64_t)general[REG_RIP];
    registers->has_fs = true;
    registers->fs_base = read_thread_pointer();
    registers->has_gs = processor.can_read_gs;
    registers->gs_base = processor.can_read_gs ? read_gs_base() : 0;
    registers->vectors = frame_vectors((const uint8_t *)context->uc_mcontext.fpregs, vectors) ? vectors : NULL;
}

static void copy_words(void *to, const void *from, uint32_t bytes)
{
    uint64_t words = bytes / 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

ucontext_t *frame_copy(const ucontext_t *context, uint8_t *top)
{
    const uint8_t *image = (const uint8_t *)context->uc_mcontext.fpregs;
    if (!image || word_at(image, SOFTWARE_BYTES) != FRAME_MAGIC)
        return NULL;
    uint32_t bytes = (word_at(image, SOFTWARE_BYTES + 4) + 7) & ~7u; /* extended_size, the mark at its end included */
    if (bytes < XSAVE_HEADER || bytes > FRAME_MOST)
        return NULL;
    uint8_t *image_copy = (uint8_t *)(((uint64_t)top - bytes) & ~63ull);
    ucontext_t *copy = (ucontext_t *)(((uint64_t)image_copy - KERNEL_CONTEXT) & ~63ull);
    copy_words(copy, context, KERNEL_CONTEXT);
    copy_words(image_copy, image, bytes);
    copy->uc_mcontext.fpregs = (void *)image_copy;
    return copy;
}
