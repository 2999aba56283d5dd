/* perf/input.c - a buffered reader that can look ahead as far as a record reaches. */
#include "perf/input.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_CHUNK = 1 << 16 };

int perf_input_open(struct perf_input *input, const char *path, struct error *err)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    *input = (struct perf_input){.fd = fd, .owned = fd >= 0 && !standard};
    if (fd < 0)
        return error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    return 0;
}

void perf_input_close(struct perf_input *input)
{
    if (input->owned)
        close(input->fd);
    free(input->buffer);
    *input = (struct perf_input){.fd = -1};
}

static void make_room(struct perf_input *input)
{
    if (input->start > 0) {
        memmove(input->buffer, input->buffer + input->start, input->end - input->start);
        input->end -= input->start;
        input->start = 0;
    }
    if (input->end == input->capacity) {
        input->capacity = input->capacity ? input->capacity * 2 : INPUT_CHUNK;
        input->buffer = mem_resize(input->buffer, input->capacity);
    }
}

const uint8_t *perf_input_peek(struct perf_input *input, size_t size, size_t *got)
{
    errno = 0;
    while (input->end - input->start < size) {
        make_room(input);
        ssize_t count = read(input->fd, input->buffer + input->end, input->capacity - input->end);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        input->end += (size_t)count;
    }
    size_t there = input->end - input->start;
    if (got)
        *got = there < size ? there : size;
    return there < size ? NULL : input->buffer + input->start;
}

void perf_input_skip(struct perf_input *input, size_t size)
{
    input->start += size;
    input->offset += size;
}

int perf_input_seek(struct perf_input *input, uint64_t offset)
{
    if (offset > INT64_MAX)
        return -EINVAL;
    if (lseek(input->fd, (off_t)offset, SEEK_SET) < 0)
        return -errno;
    input->start = input->end = 0;
    input->offset = offset;
    return 0;
}
