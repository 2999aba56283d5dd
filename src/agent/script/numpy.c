/* agent/script/numpy.c - the array of numpy that a block is for: its dtype and shape.
 *
 * numpy fills in an array's head before it allocates the data (PyArray_NewFromDescr of 1.x and 2.x), so a pointer to the head is on the
 * stack then. Words there that may be one are looked at by reads that may fail; a head is believed when its type is called numpy.ndarray and its
 * shape and item size make just the bytes that are asked for. Nothing is called and nothing is written. */
#include "agent/script/python.h"

#include "agent/agent.h"
#include "agent/unwind/stack.h"

#include <string.h>

enum {
    WORDS = 160, /* of the stack */
    DIMENSIONS = 8,
    TEXT = 256,
};

struct head { /* PyArrayObject_fields */
    uint64_t references, type, data;
    int32_t dimensions, padding;
    uint64_t shape, strides, base, descr;
};

struct item { /* PyArray_Descr */
    uint64_t references, type, class;
    char kind, letter, order, flags;
    int32_t number;
    union {
        int32_t size_1; /* of numpy 1 */
        uint64_t flags_2;
    };
    uint64_t size_2; /* of numpy 2 */
};

static bool is_array(struct script_thread *thread, uint64_t type)
{
    static const char wanted[] = "numpy.ndarray";
    enum { NAME_AT = 24 };
    char name[sizeof wanted];
    uint64_t at;
    return python_read_own(thread, type + NAME_AT, &at, sizeof at) && python_read_own(thread, at, name, sizeof name) &&
           memcmp(name, wanted, sizeof wanted) == 0;
}

/* The bytes of an item, when so many with this shape make the block; else 0. */
static uint64_t item_size(const struct item *item, const uint64_t *shape, int32_t dimensions, uint64_t bytes)
{
    uint64_t count = 1;
    for (int32_t i = 0; i < dimensions; i++)
        if (shape[i] == 0 || __builtin_mul_overflow(count, shape[i], &count) || count > bytes)
            return 0;
    uint64_t size = bytes / count;
    return bytes % count == 0 && ((uint64_t)item->size_1 == size || item->size_2 == size) ? size : 0;
}

static char *put_text(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* "float32 (3000, 3000)" */
static size_t describe(const struct item *item, uint64_t size, const uint64_t *shape, int32_t dimensions, char *text)
{
    static const struct {
        char kind;
        bool sized;
        const char *name;
    } kinds[] = {{'f', true, "float"},   {'i', true, "int"},   {'u', true, "uint"},
                 {'c', true, "complex"}, {'b', false, "bool"}, {'O', false, "object"}};
    char *at = put_text(text, "numpy.ndarray ");
    unsigned i = 0;
    while (i < sizeof kinds / sizeof *kinds && kinds[i].kind != item->kind)
        i++;
    if (i < sizeof kinds / sizeof *kinds) {
        at = put_text(at, kinds[i].name);
        at = kinds[i].sized ? put_number(at, 8 * size) : at;
    } else {
        at = put_text(put_number(put_text(at, "items of "), size), " B");
    }
    at = put_text(at, " (");
    for (int32_t d = 0; d < dimensions; d++)
        at = put_number(d ? put_text(at, ", ") : at, shape[d]);
    at = put_text(at, dimensions == 1 ? ",)" : ")");
    *at++ = '\0';
    *at++ = '\0'; /* no file */
    return (size_t)(at - text);
}

uint64_t numpy_array(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                     uint64_t high, bool may_wait)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < WORDS && high - sp > (i + 1) * 8u && high > sp; i++) {
        uint64_t word = ((const uint64_t *)sp)[i], shape[DIMENSIONS];
        struct head head;
        struct item item;
        if (word & 15 || word >> 47 || word < 1 << 16 || word == seen || word - sp < high - sp)
            continue;
        seen = word;
        if (!python_read_own(thread, word, &head, sizeof head) || head.data || head.base || head.dimensions < 1 ||
            head.dimensions > DIMENSIONS || head.strides != head.shape + (uint64_t)head.dimensions * 8 ||
            !is_array(thread, head.type) || !python_read_own(thread, head.shape, shape, (size_t)head.dimensions * 8) ||
            !python_read_own(thread, head.descr, &item, sizeof item))
            continue;
        uint64_t size = item_size(&item, shape, head.dimensions, bytes);
        if (size == 0)
            continue;
        char text[TEXT];
        uint32_t id =
            python_array_id(self, thread, text, describe(&item, size, shape, head.dimensions, text), may_wait);
        return id ? RUNTIME_CODE_SCRIPT + id * 16ul + 8 : 0;
    }
    return 0;
}
