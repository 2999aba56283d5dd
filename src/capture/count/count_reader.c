#include "capture/count/count_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool count_reader_parse(const char *text, const char *field, uint64_t *value)
{
    size_t length = field ? strlen(field) : 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *number = line;
        if (field) {
            if (strncmp(line, field, length) != 0 || line[length] != ' ')
                continue;
            number += length;
        }
        char *end;
        errno = 0;
        *value = strtoull(number, &end, 10);
        return end != number && errno == 0 && (*end == '\n' || *end == 0);
    }
    return false;
}

void count_reader_take(struct count_reader *reader, uint64_t value, uint64_t enabled, uint64_t running)
{
    bool falls = reader->counter->scale < 0;
    if (!reader->had) {
        reader->had = true;
        reader->first_enabled = enabled;
        reader->first_running = running;
    } else {
        uint64_t on = running - reader->running, all = enabled - reader->enabled;
        bool perf = !reader->counter->path;
        reader->starved = perf && on == 0 && all > 0;
        if (reader->starved)
            return;
        double change = falls                   ? (double)(int64_t)(value - reader->value)
                        : value < reader->value ? (double)value
                                                : (double)(value - reader->value);
        if (perf && on < all)
            change *= (double)all / (double)on;
        reader->sum += change * reader->counter->scale;
    }
    reader->value = value;
    reader->enabled = enabled;
    reader->running = running;
}

bool count_reader_known(const struct count_reader *reader)
{
    return reader->had && !(reader->starved && reader->running == reader->first_running);
}

static ssize_t read_whole(int fd, void *buffer, size_t size, bool from_start)
{
    ssize_t got;
    do
        got = from_start ? pread(fd, buffer, size, 0) : read(fd, buffer, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool take_perf(struct count_reader *reader)
{
    uint64_t values[3];
    if (read_whole(reader->fd, values, sizeof values, false) != sizeof values)
        return false;
    count_reader_take(reader, values[0], values[1], values[2]);
    return true;
}

static bool take_file(struct count_reader *reader, struct count_file *last)
{
    uint64_t value;
    if (!last->path || strcmp(last->path, reader->counter->path) != 0) {
        last->path = NULL;
        ssize_t got = read_whole(reader->fd, last->text, sizeof last->text - 1, true);
        /* resctrl says ENODEV when the last CPU of a cache was taken away; other errors pass. */
        if (got <= 0)
            return got == 0 || errno != ENODEV;
        last->text[got] = 0;
        last->path = reader->counter->path;
    }
    if (count_reader_parse(last->text, reader->counter->field, &value))
        count_reader_take(reader, value, 0, 0);
    return true;
}

static void open_file(struct count_reader *reader)
{
    do
        reader->fd = open(reader->counter->path, O_RDONLY | O_CLOEXEC);
    while (reader->fd < 0 && errno == EINTR);
}

int count_reader_open(struct count_reader *reader, const struct count_counter *counter)
{
    *reader = (struct count_reader){.counter = counter, .fd = -1};
    if (counter->path) {
        open_file(reader);
    } else {
        struct perf_event_attr attr = counter->attr;
        reader->fd = (int)syscall(SYS_perf_event_open, &attr, -1, counter->cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    if (reader->fd < 0)
        return -errno;
    struct count_file file = {.path = NULL};
    count_reader_update(reader, &file);
    return 0;
}

void count_reader_close(struct count_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
}

void count_reader_update(struct count_reader *reader, struct count_file *last)
{
    if (reader->fd < 0 && reader->counter->path)
        open_file(reader);
    if (reader->fd < 0)
        return;
    if (!(reader->counter->path ? take_file(reader, last) : take_perf(reader)))
        count_reader_close(reader);
}
