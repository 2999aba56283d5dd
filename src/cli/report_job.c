#include "cli/report_job.h"

#include "base/array.h"
#include "base/order.h"
#include "base/progress.h"
#include "cli/mpi/mpi_share.h"
#include "compare/job/rank_pack.h"
#include "view/job/job_view.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct files {
    array_of(char *) paths;
};

ORDER_BY(by_path, char *, strcmp(*a, *b))

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

struct summaries {
    array_of(struct rank_summary *) items;
};

static void free_summaries(struct summaries *summaries)
{
    array_each (&summaries->items, struct rank_summary *, summary)
        rank_summary_free(*summary);
    array_free(&summaries->items);
}

/* Those that are this process's to read. */
static void read_files(struct summaries *summaries, const struct files *files, const struct flow_options *options,
                       const struct mpi_share *share)
{
    struct symbols *symbols = symbols_new();
    progress_begin("reading traces", files->paths.count);
    for (size_t i = share->number; i < files->paths.count; i += share->count) {
        array_push(&summaries->items, summarise(files->paths.items[i], symbols, options));
        progress_set(i + 1);
    }
    symbols_free(symbols);
}

/* Everyone's into the first process's; the others have none afterwards. */
static int gather(struct summaries *summaries, const struct mpi_share *share, struct error *err)
{
    struct rank_bytes mine = {0};
    char *all;
    size_t total, at = 0;
    array_each (&summaries->items, struct rank_summary *, summary)
        rank_pack(&mine, *summary);
    int failed = share->gather(mine.bytes.items, mine.bytes.count, &all, &total);
    array_free(&mine.bytes);
    free_summaries(summaries);
    if (failed)
        return error_set(err, -EIO, "MPI %s; without mpirun the report is the same",
                         failed == -2 ? "counts no more than 2 GiB, and the summaries are larger" : "failed");
    for (struct rank_summary *summary; (summary = rank_unpack(all, total, &at));)
        array_push(&summaries->items, summary);
    free(all);
    return 0;
}

static int show(const struct summaries *summaries, const char *folder, const struct view_options *view,
                struct error *err)
{
    struct job *job = job_make(summaries->items.items, summaries->items.count, folder, err);
    int failed = !job ? -1 : view->json ? job_json(job, view, stdout, err) : job_text(job, view, stdout, err);
    job_free(job);
    return failed;
}

int report_job(const char *folder, const struct flow_options *options, const struct view_options *view,
               struct error *err)
{
    struct files files = {0};
    struct summaries summaries = {0};
    struct mpi_share share;
    struct error unlisted = {0};
    int failed = mpi_share_begin(&share, err);
    if (!failed && !share.silent) {
        /* A process that cannot see the folder takes part all the same: the others wait for it. */
        int blind = list_files(&files, folder, &unlisted);
        read_files(&summaries, &files, options, &share);
        if (share.gather)
            failed = gather(&summaries, &share, err);
        if (!failed && blind) {
            failed = blind;
            *err = unlisted;
        }
        if (!failed && share.number == 0 && summaries.items.count != files.paths.count)
            failed = error_set(err, -EIO, "%zu of the %zu traces in %s were not read: is the folder on all machines?",
                               files.paths.count - summaries.items.count, files.paths.count, folder);
        if (!failed && share.number == 0)
            failed = show(&summaries, folder, view, err);
    }
    mpi_share_end(&share);
    free_summaries(&summaries);
    free_files(&files);
    return failed;
}
