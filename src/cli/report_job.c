#include "cli/report_job.h"

#include "base/array.h"
#include "base/progress.h"
#include "view/job/job_view.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct files {
    array_of(char *) paths;
};

bool report_is_job(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static int by_path(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void free_files(struct files *files)
{
    array_each (&files->paths, char *, path)
        free(*path);
    array_free(&files->paths);
}

static int list_files(struct files *files, const char *folder, struct error *err)
{
    static const char suffix[] = ".data";
    DIR *stream = opendir(folder);
    if (!stream)
        return error_set(err, -errno, "cannot open the folder %s: %s", folder, strerror(errno));
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    for (struct dirent *entry; (entry = readdir(stream));) {
        size_t name = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && name >= sizeof suffix &&
            strcmp(entry->d_name + name - sizeof suffix + 1, suffix) == 0)
            array_push(&files->paths, mem_format("%.*s/%s", (int)length, folder, entry->d_name));
    }
    closedir(stream);
    array_sort(&files->paths, by_path);
    if (!files->paths.count)
        return error_set(err, -ENOENT,
                         "%s: no file in this folder ends in .data; mpirun -n 4 numalens record -- ./app makes such a "
                         "folder",
                         folder);
    return 0;
}

/* Names of functions and lines are kept for all of them: ranks run the same program. */
static struct rank_summary *summarise(const char *path, struct symbols *symbols, const struct flow_options *options)
{
    struct error err = {0};
    struct rank_summary *summary = NULL;
    struct flow *flow = NULL;
    struct trace_reader *reader = trace_reader_open(path, &err);
    if (reader && (flow = flow_build(reader, symbols, options, &err)))
        summary = rank_summary_make(flow, path, trace_reader_ending(reader), trace_reader_damage(reader), &err);
    if (reader && !summary)
        error_prefix(&err, "%s", path);
    flow_free(flow);
    trace_reader_close(reader);
    return summary ? summary : rank_summary_unread(path, err.text);
}

int report_job(const char *folder, const struct flow_options *options, const struct view_options *view,
               struct error *err)
{
    struct files files = {0};
    array_of(struct rank_summary *) summaries = {0};
    int failed = list_files(&files, folder, err);
    struct symbols *symbols = symbols_new();
    progress_begin("reading traces", files.paths.count);
    for (size_t i = 0; !failed && i < files.paths.count; i++) {
        array_push(&summaries, summarise(files.paths.items[i], symbols, options));
        progress_set(i + 1);
    }
    symbols_free(symbols);
    struct job *job = failed ? NULL : job_make(summaries.items, summaries.count, folder, err);
    if (!failed && !job)
        failed = -1;
    if (job)
        failed = view->json ? job_json(job, view, stdout, err) : job_text(job, view, stdout, err);
    job_free(job);
    array_each (&summaries, struct rank_summary *, summary)
        rank_summary_free(*summary);
    array_free(&summaries);
    free_files(&files);
    return failed;
}
