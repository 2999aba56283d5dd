#include "trace/index.h"

#include "base/mem.h"
#include "trace/pack.h"
#include "trace/run.h"
#include "trace/session_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { SCAN_BYTES = 1 << 16, MOST_IN_VAIN = 2 * TRACE_MAX_RAW };

struct scan {
    struct trace_index *index;
    int fd;
    uint64_t size;
    uint8_t *payload;
    size_t capacity;
    uint64_t damaged, damaged_bytes; /* stretches that are no whole block, with something whole behind them */
    uint64_t unfinished;             /* bytes at the end that are no whole block */
    uint64_t in_vain;                /* bytes read for payloads whose sums differ */
};

bool trace_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    char *to = bytes;
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* Whether a whole block begins at `at`; its payload is then in scan->payload. */
static bool read_block(struct scan *scan, uint64_t at, struct trace_block_header *header)
{
    if (scan->size - at < sizeof *header || !trace_read_at(scan->fd, at, header, sizeof *header) ||
        !block_header_good(header) || header->packed_bytes > scan->size - at - sizeof *header)
        return false;
    if (scan->capacity < header->packed_bytes) {
        free(scan->payload);
        scan->capacity = header->packed_bytes;
        scan->payload = mem_alloc(scan->capacity);
    }
    if (trace_read_at(scan->fd, at + sizeof *header, scan->payload, header->packed_bytes) &&
        XXH3_64bits(scan->payload, header->packed_bytes) == header->payload_sum)
        return true;
    scan->in_vain += header->packed_bytes;
    return false;
}

/* Where a block is looked for after `at`, where none begins: a damaged one may have lost bytes, so the next can begin in what it says
 * is its own. Not without end: in a file of nothing but such headers each would be read to the end of the file. */
static uint64_t look_from(const struct scan *scan, uint64_t at, const struct trace_block_header *header)
{
    bool skip = scan->in_vain > MOST_IN_VAIN && scan->in_vain > scan->size && block_header_good(header) &&
                header->packed_bytes <= scan->size - at - sizeof *header;
    return skip ? at + sizeof *header + header->packed_bytes : at + 1;
}

/* The next place at or after `at` where a block's magic stands, or the file's end. */
static uint64_t find_magic(const struct scan *scan, uint64_t at)
{
    uint8_t buffer[SCAN_BYTES];
    const uint32_t magic = TRACE_BLOCK_MAGIC;
    while (at + sizeof magic <= scan->size) {
        size_t length = scan->size - at < sizeof buffer ? (size_t)(scan->size - at) : sizeof buffer;
        if (!trace_read_at(scan->fd, at, buffer, length))
            break;
        const uint8_t *found = memmem(buffer, length, &magic, sizeof magic);
        if (found)
            return at + (uint64_t)(found - buffer);
        at += length - (sizeof magic - 1);
    }
    return scan->size;
}

static struct trace_session *read_session(const struct scan *scan, const struct trace_block_header *header)
{
    if (header->raw_bytes > TRACE_MAX_SESSION || header->count > TRACE_MAX_KEYS)
        return NULL;
    uint8_t *raw = mem_alloc(header->raw_bytes + 1);
    struct trace_session *session = NULL;
    if (block_unpack(header, scan->payload, raw))
        session = trace_session_from_text((const char *)raw, header->raw_bytes);
    free(raw);
    return session;
}

static void add_block(struct scan *scan, uint64_t at, const struct trace_block_header *header)
{
    struct trace_index *index = scan->index;
    if (header->kind == TRACE_BLOCK_SESSION || header->kind == TRACE_BLOCK_ENDING) {
        struct trace_session **place = header->kind == TRACE_BLOCK_SESSION ? &index->session : &index->ending;
        struct trace_session *session = read_session(scan, header);
        if (session && !*place)
            *place = session;
        else
            trace_session_free(session);
        return;
    }
    if (header->kind == TRACE_BLOCK_CARRIED) {
        index->has_carried = true;
        index->carried = index->blocks.count;
    }
    if (run_columns(header->kind) == 0 || header->count == 0)
        return; /* a kind that a later version of the format added: nothing this one could miss */
    if (header->first_time < index->first_time)
        index->first_time = header->first_time;
    if (header->last_time > index->last_time)
        index->last_time = header->last_time;
    uint64_t *count = &index->counts[header->kind];
    array_push(&index->blocks, (struct index_block){at + sizeof *header, *count, *header});
    *count += header->count;
}

static void scan_blocks(struct scan *scan)
{
    uint64_t at = sizeof(struct trace_file_header);
    uint64_t bad_since = 0;
    while (at < scan->size) {
        struct trace_block_header header = {0};
        if (read_block(scan, at, &header)) {
            if (bad_since) {
                scan->damaged++;
                scan->damaged_bytes += at - bad_since;
                bad_since = 0;
            }
            add_block(scan, at, &header);
            at += sizeof header + header.packed_bytes;
        } else {
            if (!bad_since)
                bad_since = at;
            at = find_magic(scan, look_from(scan, at, &header));
        }
    }
    if (bad_since)
        scan->unfinished = scan->size - bad_since;
}

static void describe_damage(struct scan *scan)
{
    struct trace_index *index = scan->index;
    index->torn = scan->damaged || (scan->unfinished && index->ending);
    char *text = NULL;
    size_t size = 0;
    FILE *out = mem_stream(&text, &size);
    if (!index->ending) {
        fputs("the recording has no end: the recorder was killed, the disk was full, or it still runs; ", out);
        if (index->blocks.count)
            fprintf(out, "what came after %.3f s of it is missing",
                    (double)(index->last_time - index->first_time) / 1e9);
        else
            fputs("no event was kept", out);
        if (scan->unfinished)
            fprintf(out, " (%" PRIu64 " bytes of an unfinished block at the end)", scan->unfinished);
    } else if (scan->unfinished) {
        fprintf(out, "%" PRIu64 " bytes at the end of the file are no block", scan->unfinished);
    }
    uint64_t unwritten = trace_session_number(index->ending, "unwritten", 0);
    if (unwritten) {
        const char *why = trace_session_get(index->ending, "write_error");
        fflush(out);
        fprintf(out, "%s%" PRIu64 " events could not be written (%s)", size ? "; " : "", unwritten,
                why ? why : "write error");
    }
    if (scan->damaged) {
        fflush(out);
        fprintf(out, "%s%" PRIu64 " damaged stretch%s of %" PRIu64 " bytes in all %s skipped", size ? "; " : "",
                scan->damaged, scan->damaged == 1 ? "" : "es", scan->damaged_bytes,
                scan->damaged == 1 ? "was" : "were");
    }
    mem_stream_end(out, &text);
    if (size)
        index->damage = text;
    else
        free(text);
}

static bool is_perf_data(int fd)
{
    char magic[8];
    return trace_read_at(fd, 0, magic, sizeof magic) &&
           (memcmp(magic, "PERFILE2", 8) == 0 || memcmp(magic, "2ELIFREP", 8) == 0); /* of either byte order */
}

int trace_index_build(struct trace_index *index, int fd, const char *name, struct error *err)
{
    *index = (struct trace_index){.first_time = UINT64_MAX};
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set(err, -errno, "%s: %s", name, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(err, -EINVAL, "%s is not a regular file", name);
    struct scan scan = {.index = index, .fd = fd, .size = (uint64_t)status.st_size};
    struct trace_file_header header;
    if (scan.size == 0)
        return error_set(err, -EINVAL, "%s is empty: nothing was recorded", name);
    if (is_perf_data(fd))
        return error_set(err, -EINVAL, "%s is a recording of perf; 'numalens import %s' turns it into one of numalens",
                         name, name);
    if (!trace_read_at(fd, 0, &header, sizeof header) ||
        memcmp(header.magic, TRACE_FILE_MAGIC, sizeof header.magic) != 0)
        return error_set(err, -EINVAL, "%s is not a numalens recording", name);
    if (header.version != TRACE_VERSION || header.block_header_bytes != sizeof(struct trace_block_header))
        return error_set(err, -EINVAL,
                         "%s has format %" PRIu32 ", this numalens reads format %d: read it with the "
                         "version that wrote it",
                         name, header.version, TRACE_VERSION);
    scan_blocks(&scan);
    free(scan.payload);
    if (!index->session) {
        trace_index_free(index);
        return error_set(err, -EINVAL, "%s ends or is damaged in its first block: nothing can be read from it", name);
    }
    if (index->blocks.count == 0)
        index->first_time = 0;
    describe_damage(&scan);
    return 0;
}

void trace_index_free(struct trace_index *index)
{
    array_free(&index->blocks);
    trace_session_free(index->session);
    trace_session_free(index->ending);
    free(index->damage);
    *index = (struct trace_index){0};
}
