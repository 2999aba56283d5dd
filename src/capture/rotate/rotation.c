#include "capture/rotate/rotation.h"

#include "trace/file.h"
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static char *part_name(const char *output, uint32_t part)
{
    static const char suffix[] = ".data";
    size_t length = strlen(output), tail = sizeof suffix - 1;
    bool has = length > tail && strcmp(output + length - tail, suffix) == 0 && output[length - tail - 1] != '/';
    return mem_format("%.*s.%06" PRIu32 "%s", (int)(has ? length - tail : length), output, part, has ? suffix : "");
}

static uint64_t events_seen(const struct sink *sink)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        sum += sink->counts[kind];
    return sum;
}

static void failed(struct rotation *rotation, const struct error *err)
{
    if (!rotation->failure.code)
        rotation->failure = *err;
}

/* What names the run, so that its files are found to be of one. */
static void name_run(struct trace_session *session, uint64_t now)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint64_t)getpid() << 40 ^ now;
    trace_session_setf(session, "run", "%016" PRIx64, random);
}

static int open_part(struct rotation *rotation, uint64_t now, struct error *err)
{
    rotation->started = now;
    free(rotation->path);
    free(rotation->part_path);
    rotation->path = part_name(rotation->output, ++rotation->part);
    rotation->part_path = mem_format("%s.part", rotation->path);
    trace_session_setf(rotation->session, "part", "%" PRIu32, rotation->part);
    trace_session_setf(rotation->session, "part_start_ns", "%" PRIu64, now);
    rotation->sink->failure = (struct error){0};
    rotation->sink->writer = trace_writer_open(rotation->part_path, rotation->session, err);
    return rotation->sink->writer ? 0 : err->code;
}

int rotation_start(struct rotation *rotation, const struct capture_options *options, struct trace_session *session,
                   struct sink *sink, uint64_t now, struct error *err)
{
    *rotation = (struct rotation){.every_ns = options->rotate_ns,
                                  .keep = options->keep,
                                  .output = mem_strdup(options->output),
                                  .session = session,
                                  .sink = sink};
    name_run(session, now);
    return open_part(rotation, now, err);
}

static void remove_oldest(struct rotation *rotation)
{
    struct rotation_file *oldest = &rotation->files.items[0];
    struct stat found;
    if (stat(oldest->path, &found) == 0 && found.st_dev == oldest->device && found.st_ino == oldest->inode)
        unlink(oldest->path);
    free(oldest->path);
    memmove(oldest, oldest + 1, --rotation->files.count * sizeof *oldest);
    rotation->removed++;
}

/* After a write error: whether the last block found room, which says what is missing. */
static bool has_ending(const char *path)
{
    struct trace_reader *reader = trace_reader_open(path, NULL);
    bool has = reader && trace_reader_ending(reader);
    trace_reader_close(reader);
    return has;
}

/* Closes the file and gives it its name. One that has no end keeps the name that says so, and counts among those kept. */
static void close_part(struct rotation *rotation, struct trace_session *ending, uint64_t now)
{
    struct sink *sink = rotation->sink;
    struct error err = {0};
    if (!sink->writer)
        return;
    trace_session_setf(ending, "part_end_ns", "%" PRIu64, now);
    rotation->unwritten += trace_writer_unwritten(sink->writer);
    int code = trace_writer_close(sink->writer, ending, sink->failure.code ? NULL : &sink->failure);
    sink->writer = NULL;
    if (sink->failure.code)
        failed(rotation, &sink->failure);
    struct stat found;
    if (stat(rotation->part_path, &found) < 0) {
        error_set(&err, -errno, "%s is gone: %s", rotation->part_path, strerror(errno));
        failed(rotation, &err);
        return;
    }
    bool whole = code == 0 || has_ending(rotation->part_path);
    if (whole && rename(rotation->part_path, rotation->path) < 0) {
        error_set(&err, -errno, "cannot rename %s: %s", rotation->part_path, strerror(errno));
        failed(rotation, &err);
        whole = false;
    }
    char **name = whole ? &rotation->path : &rotation->part_path;
    array_push(&rotation->files, (struct rotation_file){*name, found.st_dev, found.st_ino});
    *name = NULL;
    rotation->written += (uint64_t)found.st_size;
    while (rotation->keep && rotation->files.count > rotation->keep)
        remove_oldest(rotation);
}

static void put(void *context, const struct event *event)
{
    struct rotation *rotation = context;
    struct sink *sink = rotation->sink;
    trace_writer_append(sink->writer, event, sink->failure.code ? NULL : &sink->failure);
}

void rotation_next(struct rotation *rotation, struct trace_session *ending, uint64_t now)
{
    struct sink *sink = rotation->sink;
    struct error err = {0};
    if (sink->writer)
        close_part(rotation, ending, now);
    else
        rotation->unwritten += events_seen(sink) - rotation->seen;
    rotation->seen = events_seen(sink);
    if (open_part(rotation, now, &err) < 0) {
        failed(rotation, &err);
        return;
    }
    carried_replay(sink->carried, put, rotation);
    trace_writer_carried(sink->writer, sink->failure.code ? NULL : &sink->failure);
}

void rotation_finish(struct rotation *rotation, struct trace_session *ending, uint64_t now)
{
    struct sink *sink = rotation->sink;
    if (!sink)
        return;
    if (sink->writer && ending) {
        close_part(rotation, ending, now);
    } else if (sink->writer) {
        trace_writer_close(sink->writer, NULL, NULL);
        sink->writer = NULL;
        trace_file_remove(rotation->part_path);
    } else {
        rotation->unwritten += events_seen(sink) - rotation->seen;
    }
}

void rotation_free(struct rotation *rotation)
{
    array_each (&rotation->files, struct rotation_file, file)
        free(file->path);
    array_free(&rotation->files);
    trace_session_free(rotation->session);
    free(rotation->output);
    free(rotation->part_path);
    free(rotation->path);
    *rotation = (struct rotation){0};
}
