#include "cli/top/top_feed.h"

#include "base/mem.h"
#include "capture/system_recorder.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_FILES = 4 }; /* while nobody reads them: it may be stopped */

struct top_feed {
    char *folder;
    pid_t recorder;
    int files, ending; /* descriptors: what is new in the folder; where the recorder writes why it ended */
    bool ended;
    struct error end;
    struct flow_options flow_options;
    struct symbols *symbols;
    struct trace_reader *reader;
    struct flow *flow;
};

static char *make_folder(struct error *err)
{
    const char *chosen = getenv("TMPDIR"), *memory = "/dev/shm";
    if (!chosen || !*chosen)
        chosen = access(memory, W_OK) == 0 ? memory : "/tmp";
    char *folder = mem_format("%s/numalens-top-XXXXXX", chosen);
    if (mkdtemp(folder))
        return folder;
    error_set(err, -errno, "cannot make a folder in %s: %s; TMPDIR names another place", chosen, strerror(errno));
    free(folder);
    return NULL;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

/* Out of the terminal's group: a stopped recorder would leave a thread stopped. */
static _Noreturn void run_recorder(const struct capture_options *options, const char *folder, pid_t parent, int ending)
{
    struct capture_options mine = *options;
    struct recorder_result result;
    struct error err = {0};
    char *output = mem_format("%s/top.data", folder);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    mine.output = output;
    mine.keep = KEPT_FILES;
    mine.restrict_self = true;
    if (getppid() == parent && system_recorder_run(&mine, &result, &err) == 0)
        err = result.write_failure;
    signal(SIGPIPE, SIG_IGN);
    if (write(ending, &err, sizeof err) < 0 || getppid() != parent)
        remove_folder(folder);
    _exit(0);
}

struct top_feed *top_feed_start(const struct capture_options *options, const struct topology *simulated,
                                struct error *err)
{
    int ends[2];
    struct top_feed *feed = mem_zalloc(sizeof *feed);
    feed->flow_options.topology = simulated;
    feed->files = feed->ending = -1;
    if (!(feed->folder = make_folder(err)))
        goto failed;
    feed->files = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (feed->files < 0 || inotify_add_watch(feed->files, feed->folder, IN_MOVED_TO) < 0 ||
        pipe2(ends, O_CLOEXEC) < 0) {
        error_set(err, -errno, "cannot watch %s: %s", feed->folder, strerror(errno));
        goto failed;
    }
    pid_t self = getpid();
    feed->ending = ends[0];
    feed->recorder = fork();
    if (feed->recorder == 0)
        run_recorder(options, feed->folder, self, ends[1]);
    close(ends[1]);
    if (feed->recorder < 0) {
        error_set(err, -errno, "cannot start the recorder: %s", strerror(errno));
        goto failed;
    }
    feed->symbols = symbols_new();
    return feed;
failed:
    top_feed_stop(feed);
    return NULL;
}

void top_feed_wait(const struct top_feed *feed, int keyboard, const sigset_t *mask)
{
    struct pollfd waited[] = {{.fd = feed->files, .events = POLLIN},
                              {.fd = feed->ended ? -1 : feed->ending, .events = POLLIN},
                              {.fd = keyboard, .events = POLLIN}};
    sigset_t before;
    ppoll(waited, sizeof waited / sizeof *waited, NULL, mask);
    sigprocmask(SIG_SETMASK, mask, &before); /* where something is there to read, ppoll lets no signal come */
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The oldest file that is whole, or NULL. */
static char *oldest_file(const struct top_feed *feed)
{
    char first[256] = "";
    DIR *folder = opendir(feed->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".data") == 0 && (!*first || strcmp(entry->d_name, first) < 0))
            memcpy(first, entry->d_name, strlen(entry->d_name) + 1);
    }
    if (folder)
        closedir(folder);
    return *first ? mem_format("%s/%s", feed->folder, first) : NULL;
}

static void forget_flow(struct top_feed *feed)
{
    flow_free(feed->flow);
    feed->flow = NULL;
}

static int take_file(struct top_feed *feed, const char *path, struct error *err)
{
    struct trace_reader *reader = trace_reader_open(path, err);
    unlink(path);
    if (!reader)
        return err->code;
    forget_flow(feed);
    trace_reader_close(feed->reader);
    feed->reader = reader;
    feed->flow = flow_build(reader, feed->symbols, &feed->flow_options, err);
    return feed->flow ? 1 : err->code;
}

static void note_end(struct top_feed *feed)
{
    struct pollfd ending = {.fd = feed->ending, .events = POLLIN};
    if (feed->ended || poll(&ending, 1, 0) <= 0)
        return;
    feed->ended = true;
    if (read(feed->ending, &feed->end, sizeof feed->end) != sizeof feed->end)
        error_set(&feed->end, -ECHILD, "the recorder was killed");
    else if (!feed->end.code)
        error_set(&feed->end, -ENODATA, "the process has ended");
}

int top_feed_next(struct top_feed *feed, bool taken, struct error *err)
{
    char events[4096];
    while (read(feed->files, events, sizeof events) > 0) /* they only wake */
        ;
    note_end(feed); /* before the look at files: its last one is there then */
    char *path = NULL;
    int code;
    do { /* the recorder removes those that nobody has read for long: perhaps just now */
        free(path);
        *err = (struct error){0};
        path = oldest_file(feed);
        if (path && !taken)
            unlink(path);
        code = path && taken ? take_file(feed, path, err) : 0;
    } while (code == -ENOENT);
    if (!path && feed->ended)
        remove_folder(feed->folder);
    free(path);
    return code || !feed->ended ? code : error_set(err, feed->end.code, "%s", feed->end.text);
}

const struct flow *top_feed_flow(const struct top_feed *feed)
{
    return feed->flow;
}

int top_feed_only(struct top_feed *feed, uint32_t pid, uint32_t tid, struct error *err)
{
    feed->flow_options.pid = pid;
    feed->flow_options.tid = tid;
    if (!feed->reader)
        return 0;
    forget_flow(feed);
    trace_reader_rewind(feed->reader);
    feed->flow = flow_build(feed->reader, feed->symbols, &feed->flow_options, err);
    return feed->flow ? 0 : err->code;
}

void top_feed_stop(struct top_feed *feed)
{
    if (feed->recorder > 0) {
        kill(feed->recorder, SIGTERM);
        while (waitpid(feed->recorder, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    forget_flow(feed);
    trace_reader_close(feed->reader);
    if (feed->symbols)
        symbols_free(feed->symbols);
    if (feed->folder)
        remove_folder(feed->folder);
    if (feed->files >= 0)
        close(feed->files);
    if (feed->ending >= 0)
        close(feed->ending);
    free(feed->folder);
    free(feed);
}
