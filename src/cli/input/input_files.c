#include "cli/input/input_files.h"

#include "base/order.h"
#include "cli/usage/command_options.h"
#include "trace/merge.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct paths {
    array_of(char *) items;
};

static const struct argp_option option_table[] = {
    {"input", 'i', "FILE", 0, "The recording, instead of naming it last", 0},
    {0},
};

void input_add(struct input *input, const char *word)
{
    array_push(&input->files, mem_strdup(word));
}

void input_parse(struct input *input, const struct argp_state *state, const char *word)
{
    if (strcmp(word, "-") == 0)
        command_instead(state, "-", NULL, "a recording has an index and is no stream: name a file");
    input_add(input, word);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    if (key != 'i' && key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    input_parse(state->input, state, value);
    return 0;
}

const struct argp input_argp = {.options = option_table, .parser = parse_option};

static void free_paths(struct paths *paths)
{
    array_each (&paths->items, char *, path)
        free(*path);
    array_free(&paths->items);
}

void input_free(struct input *input)
{
    array_each (&input->files, char *, path)
        free(*path);
    array_free(&input->files);
    free(input->name);
    if (*input->merged_path)
        close(input->merged);
    *input = (struct input){0};
}

/* Where the number of NAME.000001.data or NAME.000001 begins and ends, with its point; 0 when it has none. */
static size_t number_in(const char *name, size_t *end)
{
    static const char suffix[] = ".data";
    size_t length = strlen(name), tail = sizeof suffix - 1;
    if (length > tail && strcmp(name + length - tail, suffix) == 0)
        length -= tail;
    *end = length;
    size_t digits = 0;
    while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
        digits++;
    return digits >= 6 && length > digits + 1 && name[length - digits - 1] == '.' ? length - digits - 1 : 0;
}

ORDER_BY(by_path, char *, strcmp(*a, *b))

static bool is_rank(const char *path)
{
    struct trace_reader *reader = trace_reader_open(path, NULL);
    bool is = reader && trace_session_get(trace_reader_session(reader), "rank");
    trace_reader_close(reader);
    return is;
}

bool input_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_same_run(const char *run, const char *path)
{
    char *its = run ? trace_run_of(path) : NULL;
    bool same = its && strcmp(its, run) == 0;
    free(its);
    return same;
}

/* Those of the folder, by their names. */
static struct paths numbered_in(const char *folder)
{
    struct paths paths = {0};
    DIR *stream = opendir(folder);
    size_t end, length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.' && number_in(entry->d_name, &end))
            array_push(&paths.items, mem_format("%.*s/%s", (int)length, folder, entry->d_name));
    if (stream)
        closedir(stream);
    array_sort(&paths.items, by_path);
    return paths;
}

/* Whether a folder without files of --rotate has those of a job's ranks. */
static bool holds_job(const char *folder)
{
    bool holds = false;
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && !holds && (entry = readdir(stream));) {
        const char *dot = strrchr(entry->d_name, '.');
        char *path = mem_format("%s/%s", folder, entry->d_name);
        holds = dot && strcmp(dot, ".data") == 0 && is_rank(path);
        free(path);
    }
    if (stream)
        closedir(stream);
    return holds;
}

/* Puts the files of a folder, which are of a recording with --rotate and not of a job's ranks, behind those that are known. */
static int look_inside(struct paths *paths, const char *folder, struct error *err)
{
    struct paths inside = numbered_in(folder);
    char *run = inside.items.count ? trace_run_of(inside.items.items[0]) : NULL;
    int code = 0;
    if (!run || is_rank(inside.items.items[0])) {
        code = holds_job(folder)
                   ? error_set(err, -EISDIR,
                               "%s has the recordings of a job's ranks: name one of its files; 'numalens report %s' "
                               "reports on all of them",
                               folder, folder)
                   : error_set(err, -EISDIR,
                               "%s: there are no files of a recording with --rotate in this folder (NAME.000001.data): "
                               "name a file",
                               folder);
    } else {
        array_each (&inside.items, char *, path)
            array_push(&paths->items, *path);
        inside.items.count = 0;
    }
    free(run);
    free_paths(&inside);
    return code;
}

/* NAME.*.data when they have such names, else the first one's. */
static char *name_of(const struct input *input)
{
    const char *first = input->files.items[0];
    size_t end, at = number_in(first, &end);
    bool alike = at > 0;
    array_each (&input->files, char *, path) {
        size_t its_end, its = number_in(*path, &its_end);
        alike = alike && its == at && strncmp(*path, first, at) == 0 && strcmp(*path + its_end, first + end) == 0;
    }
    return alike && input->files.count > 1 ? mem_format("%.*s.*%s", (int)at, first, first + end) : mem_strdup(first);
}

int input_find(struct input *input, struct error *err)
{
    struct paths found = {0};
    int code = 0;
    if (input->files.count == 0)
        input_add(input, "numalens.data");
    array_each (&input->files, char *, word) {
        if (code == 0 && input_is_folder(*word))
            code = look_inside(&found, *word, err);
        else
            array_push(&found.items, mem_strdup(*word));
    }
    if (code == 0) {
        array_each (&input->files, char *, word)
            free(*word);
        array_free(&input->files);
        array_each (&found.items, char *, path)
            array_push(&input->files, *path);
        found.items.count = 0;
    }
    free_paths(&found);
    input->path = input->files.items[0];
    input->name = name_of(input);
    return code;
}

int input_split(struct input *words, struct input sides[2], struct error *err)
{
    size_t count = words->files.count;
    char *const *named = words->files.items, *second = NULL;
    char *run = count > 2 ? trace_run_of(named[0]) : NULL;
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || (count > 2 && is_same_run(run, named[i]));
        input_add(&sides[!first], named[i]);
        second = first || second ? second : named[i];
    }
    char *other = second && count > 2 ? trace_run_of(second) : NULL;
    array_each (&sides[1].files, char *, path)
        if (code == 0 && *path != sides[1].files.items[0] && !is_same_run(other, *path))
            code = error_set(err, -EINVAL, "'%s' is of a third recording: two are compared; a program comes after --",
                             *path);
    if (code == 0 && !second)
        code = error_set(err, -EINVAL,
                         "two recordings are wanted: numalens compare before.data after.data; or a program: numalens "
                         "compare -- ./app");
    free(other);
    free(run);
    input_free(words);
    return code;
}

int input_merge(struct input *input, struct error *err)
{
    if (input->files.count < 2 || *input->merged_path)
        return 0;
    const char *folder = getenv("TMPDIR");
    char *place = mem_format("%s/numalens-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(place)) {
        int code =
            error_set(err, -errno, "cannot create a folder for the merged trace: %s: %s", place, strerror(errno));
        free(place);
        return code;
    }
    char *path = mem_format("%s/merged.data", place);
    int code = trace_merge((const char *const *)input->files.items, input->files.count, path, NULL, err);
    if (code == 0 && (input->merged = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        code = error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    if (code == 0) {
        snprintf(input->merged_path, sizeof input->merged_path, "/proc/self/fd/%d", input->merged);
        input->path = input->merged_path;
    }
    unlink(path);
    rmdir(place);
    free(path);
    free(place);
    return code;
}

bool input_has(const struct input *input, const char *path)
{
    struct stat its, file;
    if (stat(path, &its) != 0)
        return false;
    array_each (&input->files, char *, one)
        if (stat(*one, &file) == 0 && file.st_dev == its.st_dev && file.st_ino == its.st_ino)
            return true;
    return false;
}
