/* isa/unwind/unwind_cfi.c - see isa/unwind/unwind_cfi.h. Runs in handlers. */
#include "isa/unwind/unwind_cfi.h"
#include "isa/unwind/unwind_arch.h"
#include "isa/unwind/unwind_cursor.h"
#include "base/bisect.h"

#include <string.h>

enum { DEPTH = 8, OPERANDS = 16 };

/* A pointer in one of the DW_EH_PE_ encodings. */
static uint64_t take_pointer(struct cursor *from, uint8_t encoding)
{
    uint64_t here = (uint64_t)from->at, value = 0;
    switch (encoding & 0x0f) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        value = take(from, 8);
        break;
    case 0x01:
        value = take_uleb(from);
        break;
    case 0x02:
        value = take(from, 2);
        break;
    case 0x03:
        value = take(from, 4);
        break;
    case 0x09:
        value = (uint64_t)take_sleb(from);
        break;
    case 0x0a:
        value = (uint64_t)(int16_t)take(from, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int32_t)take(from, 4);
        break;
    default:
        from->bad = true;
    }
    switch (encoding & 0xf0) {
    case 0x00:
        return value;
    case 0x10: /* pcrel */
        return value + here;
    default: /* text-, data- and function-relative or indirect: nobody uses them for code in .eh_frame */
        from->bad = true;
        return 0;
    }
}

/* The body of the CIE or FDE at `at`, behind its length. */
static struct cursor entry_body(const struct unwind_module *module, const uint8_t *at)
{
    struct cursor body = {.at = at, .end = (const uint8_t *)module->high};
    if ((uint64_t)at < module->low || (uint64_t)at >= module->high) {
        body.bad = true;
        body.at = body.end;
        return body;
    }
    uint64_t length = take(&body, 4);
    if (length == 0xffffffff)
        length = take(&body, 8);
    if (length == 0 || length > (uint64_t)(body.end - body.at))
        body.bad = true;
    else
        body.end = body.at + length;
    return body;
}

struct frame_info { /* what a CIE says for all its FDEs */
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t encoding;
    bool has_augmentation, is_signal;
    struct cursor program;
};

static bool read_cie(const struct unwind_module *module, const uint8_t *at, struct frame_info *info)
{
    struct cursor body = entry_body(module, at);
    if (body.bad || take(&body, 4) != 0)
        return false;
    uint8_t version = (uint8_t)take(&body, 1);
    const char *augmentation = (const char *)body.at;
    while (take(&body, 1) != 0)
        ;
    if (body.bad || (version != 1 && version != 3))
        return false;
    *info = (struct frame_info){.code_align = take_uleb(&body), .data_align = take_sleb(&body)};
    info->ra_register = version == 1 ? take(&body, 1) : take_uleb(&body);
    if (*augmentation == 'z') {
        info->has_augmentation = true;
        uint64_t size = take_uleb(&body);
        if (body.bad || size > (uint64_t)(body.end - body.at))
            return false;
        struct cursor data = {.at = body.at, .end = body.at + size};
        body.at += size;
        for (const char *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R') {
                info->encoding = (uint8_t)take(&data, 1);
            } else if (*letter == 'S') {
                info->is_signal = true;
            } else if (*letter == 'L') {
                take(&data, 1);
            } else if (*letter == 'P') {
                uint8_t encoding = (uint8_t)take(&data, 1);
                take_pointer(&data, encoding & 0x0f);
            } else if (*letter != 'B') { /* 'B': return addresses are signed with the other key */
                break;
            }
        }
        if (data.bad)
            return false;
    } else if (*augmentation) {
        return false;
    }
    info->program = body;
    return !body.bad;
}

struct row {
    struct unwind_rule rule;
    bool ra_undefined;
    bool cfa_unknown, ra_unknown, fp_unknown; /* set by rules that cannot be followed */
};

/* Runs an expression as far as it is a register plus a number: enough for the .plt and for realigned stacks. */
struct operand {
    enum { NUMBER, FROM_SP, FROM_FP, AT_FP, FROM_CFA } base;
    int64_t number;
};

static bool plain_pair(const struct operand *a, const struct operand *b)
{
    return a->base == NUMBER && b->base == NUMBER;
}

static bool run_expression(struct cursor code, uint64_t pc, bool from_cfa, struct operand *result)
{
    struct operand stack[OPERANDS];
    unsigned count = 0;
    if (from_cfa)
        stack[count++] = (struct operand){FROM_CFA, 0};
    while (code.at < code.end) {
        uint8_t op = (uint8_t)take(&code, 1);
        if (count + 1 >= OPERANDS)
            return false;
        struct operand *top = count > 0 ? &stack[count - 1] : NULL, *under = count > 1 ? &stack[count - 2] : NULL;
        if (op >= 0x30 && op <= 0x4f) { /* lit0-lit31 */
            stack[count++] = (struct operand){NUMBER, op - 0x30};
        } else if (op >= 0x70 && op <= 0x8f) { /* breg0-breg31 */
            unsigned reg = op - 0x70;
            int64_t offset = take_sleb(&code);
            if (reg == UNWIND_REG_SP)
                stack[count++] = (struct operand){FROM_SP, offset};
            else if (reg == UNWIND_REG_FP)
                stack[count++] = (struct operand){FROM_FP, offset};
            else if (reg == UNWIND_REG_RA && UNWIND_REG_RA_IS_PC)
                stack[count++] = (struct operand){NUMBER, (int64_t)pc + offset};
            else
                return false;
        } else if (op == 0x08) { /* const1u */
            stack[count++] = (struct operand){NUMBER, (int64_t)take(&code, 1)};
        } else if (op == 0x09) { /* const1s */
            stack[count++] = (struct operand){NUMBER, (int8_t)take(&code, 1)};
        } else if (op == 0x10) { /* constu */
            stack[count++] = (struct operand){NUMBER, (int64_t)take_uleb(&code)};
        } else if (op == 0x11) { /* consts */
            stack[count++] = (struct operand){NUMBER, take_sleb(&code)};
        } else if (op == 0x23 && top) { /* plus_uconst */
            if (top->base == AT_FP)
                return false;
            top->number += (int64_t)take_uleb(&code);
        } else if (op == 0x06 && top && top->base == FROM_FP) { /* deref */
            top->base = AT_FP;
        } else if (op == 0x22 && under) { /* plus */
            if (top->base != NUMBER || under->base == AT_FP)
                return false;
            under->number += top->number;
            count--;
        } else if (op == 0x1a && under && plain_pair(top, under)) { /* and */
            under->number &= top->number;
            count--;
        } else if (op == 0x24 && under && plain_pair(top, under) && top->number >= 0 && top->number < 32) { /* shl */
            under->number = (int64_t)((uint64_t)under->number << top->number);
            count--;
        } else if (op == 0x2a && under && plain_pair(top, under)) { /* ge */
            under->number = under->number >= top->number;
            count--;
        } else {
            return false;
        }
    }
    if (code.bad || count != 1 || stack[0].number != (int32_t)stack[0].number)
        return false;
    *result = stack[0];
    return true;
}

static struct cursor take_block(struct cursor *from)
{
    uint64_t size = take_uleb(from);
    struct cursor block = {.at = from->at, .end = from->at};
    if (size > (uint64_t)(from->end - from->at)) {
        from->bad = block.bad = true;
        return block;
    }
    block.end += size;
    from->at += size;
    return block;
}

static void set_cfa_expression(struct row *row, struct cursor block, uint64_t pc)
{
    struct operand value;
    row->cfa_unknown = true;
    if (!run_expression(block, pc, false, &value) || value.base == NUMBER || value.base == FROM_CFA)
        return;
    row->cfa_unknown = false;
    row->rule.cfa = value.base == FROM_SP ? UNWIND_CFA_SP : value.base == FROM_FP ? UNWIND_CFA_FP : UNWIND_CFA_AT_FP;
    row->rule.cfa_offset = (int32_t)value.number;
}

static void set_cfa_register(struct row *row, uint64_t reg)
{
    row->cfa_unknown = reg != UNWIND_REG_SP && reg != UNWIND_REG_FP;
    row->rule.cfa = reg == UNWIND_REG_FP ? UNWIND_CFA_FP : UNWIND_CFA_SP;
}

static void set_cfa_offset(struct row *row, int64_t offset)
{
    row->rule.cfa_offset = (int32_t)offset;
    if (offset != (int32_t)offset)
        row->cfa_unknown = true;
}

/* Register `reg` is stored at CFA + offset. */
static void set_saved(struct row *row, const struct frame_info *info, uint64_t reg, int64_t offset)
{
    bool unknown = offset != (int32_t)offset;
    if (reg == info->ra_register) {
        row->rule.ra = UNWIND_AT_CFA;
        row->rule.ra_offset = (int32_t)offset;
        row->ra_undefined = false;
        row->ra_unknown = unknown;
    } else if (reg == UNWIND_REG_FP) {
        row->rule.fp = UNWIND_AT_CFA;
        row->rule.fp_offset = (int32_t)offset;
        row->fp_unknown = unknown;
    }
}

static void set_same(struct row *row, const struct frame_info *info, uint64_t reg)
{
    if (reg == info->ra_register) {
        row->rule.ra = UNWIND_SAME;
        row->ra_undefined = row->ra_unknown = false;
    } else if (reg == UNWIND_REG_FP) {
        row->rule.fp = UNWIND_SAME;
        row->fp_unknown = false;
    }
}

static void set_unknown(struct row *row, const struct frame_info *info, uint64_t reg)
{
    if (reg == info->ra_register)
        row->ra_unknown = true;
    else if (reg == UNWIND_REG_FP)
        row->fp_unknown = true;
}

static void set_undefined(struct row *row, const struct frame_info *info, uint64_t reg)
{
    if (reg == info->ra_register)
        row->ra_undefined = true;
    else if (reg == UNWIND_REG_FP)
        row->fp_unknown = true;
}

static void set_expression(struct row *row, const struct frame_info *info, uint64_t reg, struct cursor block,
                           uint64_t pc)
{
    struct operand value;
    if (!run_expression(block, pc, true, &value)) {
        set_unknown(row, info, reg);
    } else if (value.base == FROM_CFA) {
        set_saved(row, info, reg, value.number);
    } else if (value.base == FROM_FP && reg == UNWIND_REG_FP) {
        row->rule.fp = UNWIND_AT_FP;
        row->rule.fp_offset = (int32_t)value.number;
        row->fp_unknown = false;
    } else {
        set_unknown(row, info, reg);
    }
}

static void restore(struct row *row, const struct row *initial, const struct frame_info *info, uint64_t reg)
{
    if (reg == info->ra_register) {
        row->rule.ra = initial->rule.ra;
        row->rule.ra_offset = initial->rule.ra_offset;
        row->ra_undefined = initial->ra_undefined;
        row->ra_unknown = initial->ra_unknown;
    } else if (reg == UNWIND_REG_FP) {
        row->rule.fp = initial->rule.fp;
        row->rule.fp_offset = initial->rule.fp_offset;
        row->fp_unknown = initial->fp_unknown;
    }
}

/* A program on its way: its code, what it has set so far, what it remembered. */
struct cfi_run {
    struct cursor code;
    const struct frame_info *info;
    const struct row *initial;
    struct row *row, saved[DEPTH];
    unsigned depth;
    uint64_t location, pc;
};

static int64_t take_scaled(struct cfi_run *run)
{
    return (int64_t)take_uleb(&run->code) * run->info->data_align;
}

/* What moves on to another location. False when `op` is another one. */
static bool run_advance(struct cfi_run *run, uint8_t op)
{
    uint64_t advance = op & 0x3f; /* advance_loc */
    if (op == 0x01) {             /* set_loc */
        run->location = take_pointer(&run->code, run->info->encoding);
        return true;
    }
    if (op >= 0x02 && op <= 0x04) /* advance_loc1, 2, 4 */
        advance = take(&run->code, 1u << (op - 0x02));
    else if ((op & 0xc0) != 0x40)
        return false;
    run->location += advance * run->info->code_align;
    return true;
}

/* What sets where the CFA is. False when `op` is another one. */
static bool run_cfa(struct cfi_run *run, uint8_t op)
{
    switch (op) {
    case 0x0c: /* def_cfa */
        set_cfa_register(run->row, take_uleb(&run->code));
        set_cfa_offset(run->row, (int64_t)take_uleb(&run->code));
        return true;
    case 0x0d: /* def_cfa_register */
        set_cfa_register(run->row, take_uleb(&run->code));
        return true;
    case 0x0e: /* def_cfa_offset */
        set_cfa_offset(run->row, (int64_t)take_uleb(&run->code));
        return true;
    case 0x0f: /* def_cfa_expression */
        set_cfa_expression(run->row, take_block(&run->code), run->pc);
        return true;
    case 0x12: /* def_cfa_sf */
        set_cfa_register(run->row, take_uleb(&run->code));
        set_cfa_offset(run->row, take_sleb(&run->code) * run->info->data_align);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        set_cfa_offset(run->row, take_sleb(&run->code) * run->info->data_align);
        return true;
    }
    return false;
}

/* What says where a register's value is, in operations of a byte and a number of the register. False when `op` is another. */
static bool run_register(struct cfi_run *run, uint8_t op)
{
    if (op < 0x05 || (op > 0x09 && op < 0x10) || (op > 0x16 && op != 0x2f) || op == 0x12 || op == 0x13)
        return false;
    uint64_t reg = take_uleb(&run->code);
    switch (op) {
    case 0x05: /* offset_extended */
        set_saved(run->row, run->info, reg, take_scaled(run));
        return true;
    case 0x06: /* restore_extended */
        restore(run->row, run->initial, run->info, reg);
        return true;
    case 0x07: /* undefined */
        set_undefined(run->row, run->info, reg);
        return true;
    case 0x08: /* same_value */
        set_same(run->row, run->info, reg);
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        set_unknown(run->row, run->info, reg);
        take_uleb(&run->code); /* as long as a signed one */
        return true;
    case 0x10: /* expression */
        set_expression(run->row, run->info, reg, take_block(&run->code), run->pc);
        return true;
    case 0x11: /* offset_extended_sf */
        set_saved(run->row, run->info, reg, take_sleb(&run->code) * run->info->data_align);
        return true;
    case 0x16: /* val_expression */
        set_unknown(run->row, run->info, reg);
        take_block(&run->code);
        return true;
    case 0x2f: /* GNU_negative_offset_extended */
        set_saved(run->row, run->info, reg, -take_scaled(run));
        return true;
    }
    return false;
}

/* The rest. False for what is unknown or does not fit. */
static bool run_other(struct cfi_run *run, uint8_t op)
{
    switch (op & 0xc0) {
    case 0x80: /* offset */
        set_saved(run->row, run->info, op & 0x3f, take_scaled(run));
        return true;
    case 0xc0: /* restore */
        restore(run->row, run->initial, run->info, op & 0x3f);
        return true;
    }
    switch (op) {
    case 0x00: /* nop */
        return true;
    case 0x0a: /* remember_state */
        if (run->depth == DEPTH)
            return false;
        run->saved[run->depth++] = *run->row;
        return true;
    case 0x0b: /* restore_state */
        if (run->depth == 0)
            return false;
        *run->row = run->saved[--run->depth];
        return true;
    case 0x2d: /* AARCH64_negate_ra_state; on other processors GNU_window_save, which none of ours has */
        run->row->rule.is_signed = !run->row->rule.is_signed;
        return true;
    case 0x2e: /* GNU_args_size */
        take_uleb(&run->code);
        return true;
    }
    return false;
}

/* Runs a program from `location` up to the row that holds `pc`. False when it is malformed. */
static bool run_program(struct cursor code, const struct frame_info *info, uint64_t location, uint64_t pc,
                        const struct row *initial, struct row *row)
{
    struct cfi_run run; /* not all of it is cleared: what is remembered is written before it is read */
    run.code = code;
    run.info = info;
    run.initial = initial;
    run.row = row;
    run.depth = 0;
    run.location = location;
    run.pc = pc;
    while (run.code.at < run.code.end && !run.code.bad) {
        uint8_t op = (uint8_t)take(&run.code, 1);
        if (run_advance(&run, op)) {
            if (run.location > pc)
                return !run.code.bad;
        } else if (!run_cfa(&run, op) && !run_register(&run, op) && !run_other(&run, op)) {
            return false;
        }
    }
    return !run.code.bad;
}

/* Every linker in use makes one form of it: a 32-bit pc-relative pointer to .eh_frame, a 32-bit count, then pairs of 32-bit distances
 * from the section's start. */
bool unwind_cfi_index(struct unwind_module *module, const uint8_t *hdr, uint64_t room, uint64_t *eh_frame)
{
    struct {
        uint8_t version, pointer, count, table;
        int32_t eh_frame;
        uint32_t rows;
    } head;
    if (room < sizeof head)
        return false;
    memcpy(&head, hdr, sizeof head);
    if (head.version != 1 || head.pointer != 0x1b || head.count != 0x03 || head.table != 0x3b ||
        head.rows > (room - sizeof head) / 8)
        return false;
    *eh_frame = (uint64_t)hdr + 4 + (uint64_t)(int64_t)head.eh_frame;
    module->index = hdr;
    module->index_rows = hdr + sizeof head;
    module->index_count = head.rows;
    return true;
}

/* A row of the sorted table. */
struct index_row {
    int32_t code, fde;
};

static struct index_row index_row(const struct unwind_module *module, size_t number)
{
    struct index_row row;
    memcpy(&row, module->index_rows + number * sizeof row, sizeof row);
    return row;
}

/* The FDE that begins last at or before `address`. */
static const uint8_t *find_fde(const struct unwind_module *module, uint64_t address)
{
    int64_t wanted = (int64_t)(address - (uint64_t)module->index);
    size_t behind = bisect(module->index_count, i, index_row(module, i).code <= wanted);
    return behind > 0 ? module->index + index_row(module, behind - 1).fde : NULL;
}

struct unwind_rule unwind_cfi_rule(const struct unwind_module *module, uint64_t address)
{
    const struct unwind_rule none = {.kind = UNWIND_NONE}, cut = {.kind = UNWIND_CUT}, end = {.kind = UNWIND_END};
    const uint8_t *fde = module->index ? find_fde(module, address) : NULL;
    if (!fde)
        return none;
    struct cursor body = entry_body(module, fde);
    const uint8_t *id_at = body.at;
    uint64_t id = take(&body, 4);
    struct frame_info info;
    if (body.bad || id == 0 || !read_cie(module, id_at - id, &info))
        return none;
    uint64_t begin = take_pointer(&body, info.encoding), range = take_pointer(&body, info.encoding & 0x0f);
    if (body.bad || address < begin || address - begin >= range)
        return none;
    if (info.has_augmentation)
        take_block(&body);
    if (info.is_signal)
        return (struct unwind_rule){.kind = UNWIND_SIGNAL};

    struct row row = {.rule = {.kind = UNWIND_FRAME}};
    if (!run_program(info.program, &info, 0, UINT64_MAX, &row, &row))
        return cut;
    struct row initial = row;
    if (!run_program(body, &info, begin, address, &initial, &row))
        return cut;
    if (row.ra_undefined)
        return end;
    if (row.cfa_unknown || row.ra_unknown || row.fp_unknown)
        return cut;
    if (row.rule.ra == UNWIND_SAME)
        row.rule.ra_offset = 0;
    if (row.rule.fp == UNWIND_SAME)
        row.rule.fp_offset = 0;
    return row.rule;
}
