/* base/python_frames.h - frames of a Python program, from the memory of the process that runs it: CPython 3.11 and 3.12 by the places that their
 * structures have, 3.13 by those that it publishes itself (_Py_DebugOffsets at the start of _PyRuntime).
 *
 * Whoever reads says how: another process's memory, or one's own in a handler, where what is read may be half written. So
 * every pointer is followed by a read that may fail, every loop is bounded, and what does not fit is given up: a frame is missing, never made up. No calls
 * and no state of its own: handlers may use it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    PYTHON_FRAMES = 32,    /* of one chain */
    PYTHON_THREADS = 4096, /* looked through for one */
    PYTHON_FRAME_BYTES = 80,
    PYTHON_CODE_FROM = 64, /* of a code object: what is read at once */
    PYTHON_CODE_BYTES = 80,
    PYTHON_LINES_MOST = 1 << 20, /* bytes of a line table */
    PYTHON_NAME = 160,
    PYTHON_FILE = 400,
    PYTHON_OWNED_BY_C = 3,
};

struct python_reader {
    bool (*read)(void *context, uint64_t from, void *to, size_t bytes);
    void *context;
};

struct python_layout { /* offsets in bytes */
    uint16_t interpreters, threads;
    uint16_t next, native_id, frame_holder, current_frame; /* frame_holder: 0 when the thread has the frame itself */
    uint16_t code, previous, instruction,
        entry; /* entry: of the byte that marks the outermost of a call from C; or 0 */
    uint16_t owner, file, name, lines, first_line, code_bytes;
    uint16_t ascii, compact; /* sizes of strings' heads */
};

struct python_where { /* addresses in the process */
    struct python_layout layout;
    uint64_t runtime, code_type;
    uint64_t eval_start, eval_end; /* the function that interprets */
};

struct python_frame {
    uint64_t code, instruction;
    uint64_t head[PYTHON_CODE_BYTES / 8]; /* of the code object */
    bool entry;                           /* C called it, and called the frames inside it */
};

/* `version` as Py_Version has it: 0x030b02f0. False when its structures are not known. */
static inline bool python_layout_of(struct python_layout *layout, uint64_t version, const uint64_t published[64])
{
    static const struct python_layout v11 = {.interpreters = 40,
                                             .threads = 16,
                                             .next = 8,
                                             .native_id = 160,
                                             .frame_holder = 56,
                                             .current_frame = 8,
                                             .code = 32,
                                             .previous = 48,
                                             .instruction = 56,
                                             .entry = 68,
                                             .owner = 69,
                                             .file = 112,
                                             .name = 128,
                                             .lines = 136,
                                             .first_line = 72,
                                             .code_bytes = 184,
                                             .ascii = 48,
                                             .compact = 72};
    static const struct python_layout v12 = {.interpreters = 40,
                                             .threads = 72,
                                             .next = 8,
                                             .native_id = 144,
                                             .frame_holder = 56,
                                             .current_frame = 0,
                                             .code = 0,
                                             .previous = 8,
                                             .instruction = 56,
                                             .entry = 0,
                                             .owner = 70,
                                             .file = 112,
                                             .name = 128,
                                             .lines = 136,
                                             .first_line = 68,
                                             .code_bytes = 192,
                                             .ascii = 40,
                                             .compact = 56};
    switch (version >> 16) {
    case 0x030b:
        *layout = v11;
        return true;
    case 0x030c:
        *layout = v12;
        return true;
    case 0x030d:
        break;
    default:
        return false;
    }
    /* cookie, version, free threading; then of each structure its size and what is in it. */
    if (memcmp(published, "xdebugpy", 8) != 0 || published[1] >> 16 != 0x030d || published[2] != 0)
        return false;
    static const uint8_t wanted[] = {5, 9, 21, 25, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43};
    for (unsigned i = 0; i < sizeof wanted; i++)
        if (published[wanted[i]] >= UINT16_MAX)
            return false;
    *layout = v12;
    layout->interpreters = (uint16_t)published[5];
    layout->threads = (uint16_t)published[9];
    layout->next = (uint16_t)published[21];
    layout->current_frame = (uint16_t)published[23];
    layout->native_id = (uint16_t)published[25];
    layout->frame_holder = 0;
    layout->previous = (uint16_t)published[29];
    layout->code = (uint16_t)published[30];
    layout->instruction = (uint16_t)published[31];
    layout->owner = (uint16_t)published[33];
    layout->file = (uint16_t)published[35];
    layout->name = (uint16_t)published[37];
    layout->lines = (uint16_t)published[38];
    layout->first_line = (uint16_t)published[39];
    layout->code_bytes = (uint16_t)published[43];
    return layout->previous + 8u <= PYTHON_FRAME_BYTES && layout->code + 8u <= PYTHON_FRAME_BYTES &&
           layout->instruction + 8u <= PYTHON_FRAME_BYTES && layout->owner < PYTHON_FRAME_BYTES &&
           layout->file >= PYTHON_CODE_FROM && layout->file + 8u <= PYTHON_CODE_FROM + PYTHON_CODE_BYTES &&
           layout->lines >= PYTHON_CODE_FROM && layout->lines + 8u <= PYTHON_CODE_FROM + PYTHON_CODE_BYTES &&
           layout->name >= PYTHON_CODE_FROM && layout->name + 8u <= PYTHON_CODE_FROM + PYTHON_CODE_BYTES &&
           layout->first_line >= PYTHON_CODE_FROM && layout->first_line + 8u <= PYTHON_CODE_FROM + PYTHON_CODE_BYTES;
}

static inline uint64_t python_word(const struct python_reader *reader, uint64_t at)
{
    uint64_t word = 0;
    return at && at % 8 == 0 && reader->read(reader->context, at, &word, sizeof word) ? word : 0;
}

struct python_symbols { /* what a module exports, as addresses in its file; 0: not seen */
    uint64_t runtime, code_type, version, eval, eval_size;
};

static inline bool python_may_be(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    return strncmp(base, "python", 6) == 0 || strncmp(base, "libpython3", 10) == 0;
}

static inline void python_symbol(struct python_symbols *found, const char *name, uint64_t addr, uint64_t size)
{
    if (strcmp(name, "_PyRuntime") == 0)
        found->runtime = addr;
    else if (strcmp(name, "PyCode_Type") == 0)
        found->code_type = addr;
    else if (strcmp(name, "Py_Version") == 0)
        found->version = addr;
    else if (strcmp(name, "_PyEval_EvalFrameDefault") == 0) {
        found->eval = addr;
        found->eval_size = size;
    }
}

/* Of a module that is loaded at `bias`. False: it is no interpreter, or its structures are not known. */
static inline bool python_where_of(struct python_where *where, const struct python_symbols *found, uint64_t bias,
                                   const struct python_reader *reader)
{
    uint64_t published[64] = {0};
    if (!found->runtime || !found->code_type || !found->version || !found->eval_size)
        return false;
    where->runtime = bias + found->runtime;
    where->code_type = bias + found->code_type;
    where->eval_start = bias + found->eval;
    where->eval_end = where->eval_start + found->eval_size;
    return reader->read(reader->context, where->runtime, published, sizeof published) &&
           python_layout_of(&where->layout, python_word(reader, bias + found->version), published);
}

/* The state of the thread that the kernel knows as `tid`; 0 when Python does not know it. */
static inline uint64_t python_thread(const struct python_where *where, const struct python_reader *reader, uint64_t tid)
{
    const struct python_layout *layout = &where->layout;
    uint64_t interpreter = python_word(reader, where->runtime + layout->interpreters);
    uint64_t thread = interpreter ? python_word(reader, interpreter + layout->threads) : 0;
    for (unsigned i = 0; thread && i < PYTHON_THREADS; i++) {
        if (python_word(reader, thread + layout->native_id) == tid)
            return thread;
        thread = python_word(reader, thread + layout->next);
    }
    return 0;
}

static inline uint64_t python_head(const struct python_frame *frame, unsigned offset)
{
    uint64_t word;
    memcpy(&word, (const char *)frame->head + (offset - PYTHON_CODE_FROM), sizeof word);
    return word;
}

/* Where the innermost frame of a thread is, or 0. */
static inline uint64_t python_innermost(const struct python_layout *layout, const struct python_reader *reader,
                                        uint64_t thread)
{
    if (layout->frame_holder)
        thread = python_word(reader, thread + layout->frame_holder);
    return thread ? python_word(reader, thread + layout->current_frame) : 0;
}

/* The frames from `at` on, innermost first, without their codes' heads; how many. Stops at what cannot be one. */
static inline unsigned python_chain_of(const struct python_layout *layout, const struct python_reader *reader,
                                       uint64_t at, struct python_frame frames[static PYTHON_FRAMES])
{
    unsigned count = 0;
    for (unsigned i = 0; at && at % 8 == 0 && count < PYTHON_FRAMES && i < 2 * PYTHON_FRAMES; i++) {
        uint64_t bytes[PYTHON_FRAME_BYTES / 8] = {0};
        const char *frame = (const char *)bytes;
        if (!reader->read(reader->context, at, bytes, sizeof bytes))
            break;
        memcpy(&at, frame + layout->previous, sizeof at);
        if (!layout->entry && frame[layout->owner] == PYTHON_OWNED_BY_C) {
            if (count)
                frames[count - 1].entry = true;
            continue;
        }
        struct python_frame *to = &frames[count];
        memcpy(&to->code, frame + layout->code, sizeof to->code);
        memcpy(&to->instruction, frame + layout->instruction, sizeof to->instruction);
        to->entry = layout->entry && frame[layout->entry];
        if (to->code % 8 || to->code < 4096)
            break;
        count++;
    }
    return count;
}

static inline bool python_read_head(const struct python_reader *reader, struct python_frame *frame)
{
    return reader->read(reader->context, frame->code + PYTHON_CODE_FROM, frame->head, sizeof frame->head);
}

/* The frames of a thread with their codes' heads, innermost first; how many. */
static inline unsigned python_walk(const struct python_where *where, const struct python_reader *reader,
                                   uint64_t thread, struct python_frame frames[static PYTHON_FRAMES])
{
    uint64_t at = python_innermost(&where->layout, reader, thread);
    unsigned found = python_chain_of(&where->layout, reader, at, frames), count = 0;
    while (count < found && python_read_head(reader, &frames[count]))
        count++;
    return count;
}

struct python_bytes { /* of a bytes object, a piece at a time */
    const struct python_reader *reader;
    uint64_t at, end, piece;
    uint8_t bytes[128];
};

static inline int python_byte(struct python_bytes *from)
{
    if (from->at >= from->end)
        return -1;
    if (from->piece == 0 || from->at - from->piece >= sizeof from->bytes) {
        size_t left = from->end - from->at;
        from->piece = from->at;
        if (!from->reader->read(from->reader->context, from->at, from->bytes, left < 128 ? left : 128))
            return -1;
    }
    return from->bytes[from->at++ - from->piece];
}

static inline int64_t python_varint(struct python_bytes *from, bool is_signed)
{
    uint64_t value = 0;
    int byte = 64;
    for (unsigned shift = 0; (byte & 64) && shift < 42; shift += 6) {
        if ((byte = python_byte(from)) < 0)
            return 0;
        value |= (uint64_t)(byte & 63) << shift;
    }
    return !is_signed ? (int64_t)value : value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* The line of a frame by its code's table (Objects/locations.md in CPython); 0 when it has none. */
static inline uint32_t python_line(const struct python_where *where, const struct python_reader *reader,
                                   const struct python_frame *frame)
{
    enum { BYTES_SIZE = 16, BYTES_DATA = 32, NO_LINE = 15, LONG = 14, NO_COLUMNS = 13, FIRST_SAME = 10 };
    const struct python_layout *layout = &where->layout;
    uint64_t table = python_head(frame, layout->lines), start = frame->code + layout->code_bytes;
    uint64_t size = python_word(reader, table + BYTES_SIZE), unit = (frame->instruction - start) / 2;
    int64_t line = (int64_t)(uint32_t)python_head(frame, layout->first_line), reached = 0;
    if (!table || size > PYTHON_LINES_MOST || (frame->instruction < start && frame->instruction + 2 != start))
        return 0;
    if (frame->instruction < start)
        unit = 0; /* not begun */
    struct python_bytes from = {.reader = reader, .at = table + BYTES_DATA, .end = table + BYTES_DATA + size};
    for (;;) {
        int byte = python_byte(&from);
        if (byte < 0)
            return 0;
        unsigned kind = (unsigned)byte >> 3 & 15;
        reached += (byte & 7) + 1;
        if (kind == LONG || kind == NO_COLUMNS)
            line += python_varint(&from, true);
        else if (kind >= FIRST_SAME && kind < NO_COLUMNS)
            line += kind - FIRST_SAME;
        if ((int64_t)unit < reached)
            return kind == NO_LINE || line <= 0 || line > INT32_MAX ? 0 : (uint32_t)line;
        while ((byte = python_byte(&from)) >= 0 && byte < 128)
            ; /* columns: each entry begins with a byte of its own kind */
        if (byte < 0)
            return 0;
        from.at--;
    }
}

/* A str, as UTF-8: its end, when it is too long and `tail`; else its beginning. How many bytes it has with its
 * NUL; 0 when it cannot be read as one. */
static inline size_t python_text(const struct python_where *where, const struct python_reader *reader, uint64_t string,
                                 char *to, size_t room, bool tail)
{
    enum { STATE = 32, LENGTH = 16, COMPACT = 1 << 5, ASCII = 1 << 6 };
    uint64_t length = python_word(reader, string + LENGTH), state = python_word(reader, string + STATE);
    unsigned width = state >> 2 & 7;
    to[0] = '\0';
    if (!string || !(state & COMPACT) || length > 1 << 20 || (width != 1 && width != 2 && width != 4))
        return 0;
    uint64_t at = string + (state & ASCII ? where->layout.ascii : where->layout.compact), end = at + length * width;
    if (tail && length * 3 >= room && length > room / 3) {
        uint64_t kept = state & ASCII ? room - 4 : room / 3 - 2;
        at = length > kept ? end - kept * width : at;
    }
    struct python_bytes from = {.reader = reader, .at = at, .end = end};
    size_t used = 0;
    while (from.at < from.end && used + 4 < room) {
        uint32_t point = 0;
        for (unsigned i = 0; i < width; i++) {
            int byte = python_byte(&from);
            if (byte < 0)
                return 0;
            point |= (uint32_t)byte << 8 * i;
        }
        if (point < 32 || point == 127 || point > 0xffff)
            point = '?';
        if (point < 0x80) {
            to[used++] = (char)point;
        } else if (point < 0x800) {
            to[used++] = (char)(0xc0 | point >> 6);
            to[used++] = (char)(0x80 | (point & 63));
        } else {
            to[used++] = (char)(0xe0 | (point >> 12 & 15));
            to[used++] = (char)(0x80 | (point >> 6 & 63));
            to[used++] = (char)(0x80 | (point & 63));
        }
    }
    to[used] = '\0';
    return used + 1;
}

struct script_frame { /* a frame with its name's address in chains */
    uint64_t addr;
    bool entry; /* the outermost of one call of the function that interprets */
};

/* A native chain with the interpreter's frames in the place of each call of [eval_start, eval_end); how deep it is. Where the native
 * chain was not followed to the end, what is left of them stands behind it. */
static inline unsigned python_merge(uint64_t eval_start, uint64_t eval_end, const uint64_t *native, unsigned depth,
                                    bool cut, bool pc_is_return, const struct script_frame *script, unsigned count,
                                    uint64_t *merged, unsigned most)
{
    unsigned used = 0, next = 0;
    for (unsigned i = 0; i < depth && used < most; i++) {
        uint64_t pc = native[i] - (i > 0 || pc_is_return);
        if (next == count || pc - eval_start >= eval_end - eval_start) {
            merged[used++] = native[i];
            continue;
        }
        for (bool entry = false; next < count && !entry && used < most; next++) {
            merged[used++] = script[next].addr;
            entry = script[next].entry;
        }
    }
    while (cut && next < count && used < most)
        merged[used++] = script[next++].addr;
    return used;
}
