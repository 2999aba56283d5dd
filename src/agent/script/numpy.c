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
    TEXT = 512,
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

/* "{x, y, mass} of 24 B": the fields of a structured type, as far as there is room. False when it has none. */
static bool put_fields(struct script_thread *thread, uint64_t descr, const struct item *item, uint64_t size, char **to,
                       const char *end)
{
    enum { NAMES_1 = 56, NAMES_2 = 104, COUNT_AT = 16, FIRST_AT = 24, REST = 40, NAME = 64 };
    uint64_t names, count, string;
    uint64_t names_at = descr + ((uint64_t)item->size_1 == size ? NAMES_1 : NAMES_2);
    if (!python_read_own(thread, names_at, &names, sizeof names) ||
        !python_read_own(thread, names + COUNT_AT, &count, sizeof count) || count == 0)
        return false;
    char *at = put_text(*to, "{");
    for (uint64_t i = 0; i < count; i++) {
        char name[NAME];
        if (end - at < REST + NAME) {
            at = put_text(at, ", ...");
            break;
        }
        if (!python_read_own(thread, names + FIRST_AT + 8 * i, &string, sizeof string) ||
            !python_own_text(thread, string, name, sizeof name))
            return false;
        at = put_text(i ? put_text(at, ", ") : at, name);
    }
    *to = put_text(put_number(put_text(at, "} of "), size), " B");
    return true;
}

/* "float32 (3000, 3000)" */
static size_t describe(struct script_thread *thread, uint64_t descr, const struct item *item, uint64_t size,
                       const uint64_t *shape, int32_t dimensions, char *text)
{
    enum { SHAPE = DIMENSIONS * 22 };
    static const struct {
        char kind;
        uint8_t eighths; /* of a byte, that the number behind the name counts; 0: there is none */
        const char *name;
    } kinds[] = {{'f', 1, "float"}, {'i', 1, "int"},    {'u', 1, "uint"},       {'c', 1, "complex"},
                 {'b', 0, "bool"},  {'O', 0, "object"}, {'M', 0, "datetime64"}, {'m', 0, "timedelta64"},
                 {'S', 8, "S"},     {'U', 32, "U"},     {'V', 8, "V"}};
    char *at = put_text(text, "numpy.ndarray ");
    unsigned i = 0;
    while (i < sizeof kinds / sizeof *kinds && kinds[i].kind != item->kind)
        i++;
    if (item->kind == 'V' && put_fields(thread, descr, item, size, &at, text + TEXT - SHAPE)) {
        /* written */
    } else if (i < sizeof kinds / sizeof *kinds) {
        at = put_text(at, kinds[i].name);
        at = kinds[i].eighths ? put_number(at, 8 * size / kinds[i].eighths) : at;
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
        size_t length = describe(thread, head.descr, &item, size, shape, head.dimensions, text);
        uint32_t id = python_array_id(self, thread, text, length, may_wait);
        return id ? RUNTIME_CODE_SCRIPT + id * 16ul + 8 : 0;
    }
    return 0;
}
