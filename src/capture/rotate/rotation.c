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

enum { BREATH = 1 << 14 }; /* one or two milliseconds */

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

/* The next file, beside the one that is being written. */
static int open_next(struct rotation *rotation, uint64_t now, struct error *err)
{
    rotation->started = now;
    rotation->next_path = part_name(rotation->output, ++rotation->part);
    rotation->next_part_path = mem_format("%s.part", rotation->next_path);
    trace_session_setf(rotation->session, "part", "%" PRIu32, rotation->part);
    trace_session_setf(rotation->session, "part_start_ns", "%" PRIu64, now);
    rotation->next_failure = (struct error){0};
    rotation->next = trace_writer_open(rotation->next_part_path, rotation->session, err);
    return rotation->next ? 0 : err->code;
}

static void take_next(struct rotation *rotation)
{
    free(rotation->path);
    free(rotation->part_path);
    rotation->path = rotation->next_path;
    rotation->part_path = rotation->next_part_path;
    rotation->next_path = rotation->next_part_path = NULL;
    rotation->sink->writer = rotation->next;
    rotation->sink->failure = rotation->next_failure;
    rotation->next = NULL;
}

int rotation_start(struct rotation *rotation, const struct capture_options *options, struct trace_session *session,
                   struct sink *sink, uint64_t now, struct error *err)
{
    *rotation = (struct rotation){.every_ns = options->rotate_ns,
                                  .keep = options->keep,
                                  .output = mem_strdup(options->output),
                                  .session = session,
                                  .breath = BREATH,
                                  .sink = sink};
    name_run(session, now);
    int code = open_next(rotation, now, err);
    take_next(rotation);
    if (options->rotate_first_ns && options->rotate_first_ns < options->rotate_ns)
        rotation->started -= options->rotate_ns - options->rotate_first_ns;
    return code;
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
        error_set(&err, -errno, "%s was removed: %s", rotation->part_path, strerror(errno));
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
    trace_writer_append(rotation->next, event, rotation->next_failure.code ? NULL : &rotation->next_failure);
}

static void breathe(void *context)
{
    const struct rotation *rotation = context;
    rotation->breathe(rotation->breathe_context);
}

void rotation_prepare(struct rotation *rotation, uint64_t now, void (*breathe_out)(void *context), void *context)
{
    struct error err = {0};
    rotation->breathe = breathe_out;
    rotation->breathe_context = context;
    if (open_next(rotation, now, &err) < 0) {
        failed(rotation, &err);
        return;
    }
    carried_replay(rotation->sink->carried, &(struct carried_taker){rotation, put, rotation->breath, breathe});
    trace_writer_carried(rotation->next, rotation->next_failure.code ? NULL : &rotation->next_failure);
}

void rotation_switch(struct rotation *rotation, struct trace_session *ending, uint64_t now)
{
    struct sink *sink = rotation->sink;
    if (sink->writer)
        close_part(rotation, ending, now);
    else
        rotation->unwritten += events_seen(sink) - rotation->seen;
    rotation->seen = events_seen(sink);
    take_next(rotation);
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
    free(rotation->next_path);
    free(rotation->next_part_path);
    *rotation = (struct rotation){0};
}
