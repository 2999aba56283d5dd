#include "cli/rotated/rotated_files.h"

#include "trace/merge.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void rotated_add(struct rotated_files *files, const char *path)
{
    array_push(&files->paths, mem_strdup(path));
}

void rotated_free(struct rotated_files *files)
{
    array_each (&files->paths, char *, path)
        free(*path);
    array_free(&files->paths);
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

static int by_path(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool is_rank(const char *path)
{
    struct trace_reader *reader = trace_reader_open(path, NULL);
    bool is = reader && trace_session_get(trace_reader_session(reader), "rank");
    trace_reader_close(reader);
    return is;
}

/* Those of the folder, by their names. */
static struct rotated_files numbered_in(const char *folder)
{
    struct rotated_files files = {0};
    DIR *stream = opendir(folder);
    size_t end, length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.' && number_in(entry->d_name, &end))
            array_push(&files.paths, mem_format("%.*s/%s", (int)length, folder, entry->d_name));
    if (stream)
        closedir(stream);
    array_sort(&files.paths, by_path);
    return files;
}

bool rotated_look_inside(struct rotated_files *files)
{
    struct stat found;
    if (files->paths.count != 1 || stat(files->paths.items[0], &found) != 0 || !S_ISDIR(found.st_mode))
        return true;
    struct rotated_files inside = numbered_in(files->paths.items[0]);
    if (!inside.paths.count || !trace_is_part(inside.paths.items[0]) || is_rank(inside.paths.items[0])) {
        rotated_free(&inside);
        return false;
    }
    rotated_free(files);
    *files = inside;
    return true;
}

void rotated_drop(struct rotated_files *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files->paths.items[i]);
    for (size_t i = count; i < files->paths.count; i++)
        files->paths.items[i - count] = files->paths.items[i];
    files->paths.count -= count;
}

char *rotated_name(const struct rotated_files *files)
{
    const char *first = files->paths.items[0];
    size_t end, at = number_in(first, &end);
    bool alike = at > 0;
    array_each (&files->paths, char *, path) {
        size_t its_end, its = number_in(*path, &its_end);
        alike = alike && its == at && strncmp(*path, first, at) == 0 && strcmp(*path + its_end, first + end) == 0;
    }
    return alike && files->paths.count > 1 ? mem_format("%.*s.*%s", (int)at, first, first + end) : mem_strdup(first);
}

int rotated_merge(const struct rotated_files *files, char **merged, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char *place = mem_format("%s/numalens-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(place)) {
        int code =
            error_set(err, -errno, "cannot create a folder for the merged trace: %s: %s", place, strerror(errno));
        free(place);
        return code;
    }
    *merged = mem_format("%s/merged.data", place);
    int code = trace_merge((const char *const *)files->paths.items, files->paths.count, *merged, NULL, err);
    if (code < 0) {
        rmdir(place);
        free(*merged);
        *merged = NULL;
    }
    free(place);
    return code;
}

void rotated_unmerge(char *merged)
{
    if (!merged)
        return;
    unlink(merged);
    *strrchr(merged, '/') = 0;
    rmdir(merged);
    free(merged);
}
