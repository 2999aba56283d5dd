#include "decode_text.h"

#include "isa/x86_64/decode.h"
#include "wire/event.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

static void print_operand(FILE *out, const struct decode_operand *operand)
{
    const char *plus = "";
    fprintf(out, " %s%s%s%u", operand->flags & SAMPLE_LOCKED ? "l" : "", operand->flags & SAMPLE_READ ? "r" : "",
            operand->flags & SAMPLE_WRITE ? "w" : "", operand->size);
    if (operand->elements)
        fprintf(out, "*%u", operand->elements);
    fprintf(out, "[%s", operand->segment == DECODE_FS ? "fs:" : operand->segment == DECODE_GS ? "gs:" : "");
    if (operand->base != DECODE_NONE) {
        fputs(names[operand->base], out);
        plus = "+";
    }
    if (operand->elements) {
        fprintf(out, "%sv%u*%u:%u", plus, operand->index, operand->scale, operand->index_bytes);
        plus = "+";
    } else if (operand->index != DECODE_NONE) {
        fprintf(out, "%s%s*%u", plus, names[operand->index], operand->scale);
        plus = "+";
    }
    if (!*plus)
        fprintf(out, "%" PRId64, operand->disp);
    else if (operand->disp != 0)
        fprintf(out, "%+" PRId64, operand->disp);
    fprintf(out, "%s%s]", operand->low_byte ? "+al" : "", operand->address32 ? ":32" : "");
}

void decode_text(const uint8_t *bytes, size_t count, char *text, size_t size)
{
    struct decoded decoded;
    FILE *out = fmemopen(text, size, "w");
    if (!out)
        return;
    if (!decode_instruction(bytes, count, &decoded)) {
        fputs("end", out);
    } else {
        fprintf(out, "%u", decoded.length);
        for (unsigned i = 0; i < decoded.operand_count; i++)
            print_operand(out, &decoded.operands[i]);
        fputs(decoded.repeated ? " rep" : "", out);
    }
    fclose(out);
}

size_t decode_hex(const char *hex, uint8_t *bytes, size_t size)
{
    size_t count = 0;
    unsigned value;
    while (count < size && sscanf(hex + 2 * count, "%2x", &value) == 1 && hex[2 * count] > ' ')
        bytes[count++] = (uint8_t)value;
    return count;
}
