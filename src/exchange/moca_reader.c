#include "exchange/moca_reader.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char SEPARATORS[] = " \t\r\n";

struct moca_reader {
    FILE *in;
    const char *name;
    char *line;
    size_t capacity;
    uint64_t number; /* of the line */
    bool in_task;
    uint32_t task;
    uint64_t remaining; /* accesses that the chunk still has to come */
    uint64_t start, end;
};

struct field { /* of a line: the rest of it, and where an error is reported */
    char *at;
    const struct moca_reader *reader;
    struct error *err;
};

struct moca_reader *moca_reader_new(FILE *in, const char *name)
{
    struct moca_reader *reader = mem_zalloc(sizeof *reader);
    reader->in = in;
    reader->name = name;
    return reader;
}

void moca_reader_free(struct moca_reader *reader)
{
    if (!reader)
        return;
    free(reader->line);
    free(reader);
}

static int wrong(const struct moca_reader *reader, struct error *err, const char *what, const char *text)
{
    return error_set(err, -EINVAL, "%s:%" PRIu64 ": %s%s%.60s%s", reader->name, reader->number, what, text ? " '" : "",
                     text ? text : "", text ? "'" : "");
}

static char *next_field(struct field *field)
{
    char *start = field->at + strspn(field->at, SEPARATORS);
    if (*start == 0)
        return NULL;
    field->at = start + strcspn(start, SEPARATORS);
    if (*field->at)
        *field->at++ = 0;
    return start;
}

static int get_number(struct field *field, const char *what, uint64_t most, uint64_t *number)
{
    char *text = next_field(field), *end;
    if (!text)
        return wrong(field->reader, field->err, "no", what);
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > most)
        return error_set(field->err, -EINVAL, "%s:%" PRIu64 ": %s '%.60s' is no number up to %" PRIu64,
                         field->reader->name, field->reader->number, what, text, most);
    *number = value;
    return 0;
}

static int get_number32(struct field *field, const char *what, uint32_t *number)
{
    uint64_t value = 0;
    int failed = get_number(field, what, UINT32_MAX, &value);
    *number = (uint32_t)value;
    return failed;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool has_prefix(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static int get_address(struct field *field, const char *what, uint64_t *address)
{
    const char *text = next_field(field);
    if (!text)
        return wrong(field->reader, field->err, "no", what);
    const char *digits = text + (has_prefix(text) ? 2 : 0), *at = digits;
    for (*address = 0; hex_digit(*at) >= 0 && *address >> 60 == 0; at++)
        *address = *address << 4 | (unsigned)hex_digit(*at);
    if (at == digits || *at)
        return wrong(field->reader, field->err, "this is no hexadecimal address of up to 64 bits:", text);
    return 0;
}

static void set_bits(struct moca_mask *mask, uint32_t bit, unsigned value)
{
    if (value == 0)
        return;
    uint16_t word = (uint16_t)(bit / 64);
    for (; mask->words <= word; mask->words++)
        mask->bits[mask->words] = 0;
    mask->bits[word] |= (uint64_t)value << bit % 64; /* a digit's bits never cross words */
}

static int get_mask(struct field *field, struct moca_mask *mask)
{
    const char *text = next_field(field);
    if (!text)
        return wrong(field->reader, field->err, "no CPU mask", NULL);
    mask->words = 0;
    bool hexadecimal = has_prefix(text);
    const char *digits = text + (hexadecimal ? 2 : 0);
    size_t length = strlen(digits);
    unsigned bits = hexadecimal ? 4 : 1;
    if (length == 0 || length > MOCA_MASK_WORDS * 64 / bits)
        return wrong(field->reader, field->err, "no CPU mask of up to 65536 CPUs", NULL);
    for (size_t i = 0; i < length; i++) {
        int digit = hex_digit(digits[length - 1 - i]);
        if (digit < 0 || digit >= 1 << bits)
            return wrong(field->reader, field->err,
                         "a CPU mask is binary, or hexadecimal with 0x before it; this is neither:", text);
        set_bits(mask, (uint32_t)i * bits, (unsigned)digit);
    }
    return 0;
}

static int at_end(struct field *field)
{
    char *more = next_field(field);
    return more ? wrong(field->reader, field->err, "the line goes on with", more) : 0;
}

static int read_task(struct moca_reader *reader, struct field *field, struct moca_item *item)
{
    item->kind = MOCA_TASK;
    if (reader->remaining)
        return wrong(reader, field->err, "accesses of the chunk before are missing", NULL);
    if (get_number32(field, "the task's id", &item->task) < 0 || get_number32(field, "the process id", &item->pid) < 0)
        return -EINVAL;
    field->at += strspn(field->at, SEPARATORS);
    if (*field->at && get_number(field, "the page size", UINT64_C(1) << 40, &item->page_size) < 0)
        return -EINVAL;
    if (item->page_size & (item->page_size - 1))
        return wrong(reader, field->err, "the page size is no power of two", NULL);
    reader->in_task = true;
    reader->task = item->task;
    return at_end(field);
}

static int read_chunk(struct moca_reader *reader, struct field *field, struct moca_item *item)
{
    item->kind = MOCA_CHUNK;
    item->task = reader->task;
    if (!reader->in_task)
        return wrong(reader, field->err, "a chunk before the first task", NULL);
    if (reader->remaining)
        return wrong(reader, field->err, "accesses of the chunk before are missing", NULL);
    if (get_number(field, "the chunk's id", UINT64_MAX, &item->chunk) < 0 ||
        get_number(field, "the number of accesses", UINT32_MAX, &item->count) < 0 ||
        get_number(field, "the start", UINT64_MAX, &item->start) < 0 ||
        get_number(field, "the end", UINT64_MAX, &item->end) < 0 || get_mask(field, &item->mask) < 0 ||
        at_end(field) < 0)
        return -EINVAL;
    reader->remaining = item->count;
    reader->start = item->start;
    reader->end = item->end;
    return item->end < item->start ? wrong(reader, field->err, "it ends before it starts", NULL) : 0;
}

static int read_access(struct moca_reader *reader, struct field *field, struct moca_item *item)
{
    item->kind = MOCA_ACCESS;
    item->task = reader->task;
    if (reader->remaining == 0)
        return wrong(reader, field->err, "an access that no chunk announced", NULL);
    reader->remaining--;
    item->start = reader->start;
    item->end = reader->end;
    if (get_address(field, "virtual address", &item->virtual) < 0 ||
        get_address(field, "physical address", &item->physical) < 0 ||
        get_number32(field, "the number of reads", &item->reads) < 0 ||
        get_number32(field, "the number of writes", &item->writes) < 0 || get_mask(field, &item->mask) < 0)
        return -EINVAL;
    return at_end(field);
}

/* 1 with a line that is not empty, 0 at the end. */
static int next_line(struct moca_reader *reader, struct error *err)
{
    ssize_t length;
    while ((length = getline(&reader->line, &reader->capacity, reader->in)) >= 0) {
        reader->number++;
        if (memchr(reader->line, 0, (size_t)length))
            return wrong(reader, err, "this is no text", NULL);
        if (reader->line[strspn(reader->line, " \t\r\n")])
            return 1;
    }
    if (ferror(reader->in))
        return error_set(err, -EIO, "%s cannot be read: %s", reader->name, strerror(errno));
    return 0;
}

int moca_reader_next(struct moca_reader *reader, struct moca_item *item, struct error *err)
{
    int got = next_line(reader, err);
    if (got == 0 && reader->remaining)
        return error_set(err, -EINVAL,
                         "%s:%" PRIu64 ": it ends in the middle of a chunk: %" PRIu64 " accesses are missing",
                         reader->name, reader->number, reader->remaining);
    if (got <= 0)
        return got;
    struct field field = {reader->line, reader, err};
    memset(item, 0, offsetof(struct moca_item, mask));
    item->line = reader->number;
    const char *kind = next_field(&field);
    int failed = strcmp(kind, "T") == 0   ? read_task(reader, &field, item)
                 : strcmp(kind, "C") == 0 ? read_chunk(reader, &field, item)
                 : strcmp(kind, "A") == 0 ? read_access(reader, &field, item)
                                          : wrong(reader, err, "this is no line of MOCA's (T, C, A):", kind);
    return failed < 0 ? failed : 1;
}
