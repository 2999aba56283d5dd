#include "cli/progress_line.h"

#include "base/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { AFTER_MS = 2000, EVERY_MS = 200, COLUMNS = 72 };

static struct { /* of the thread that prints; `mutex` guards what both use */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool running, ends;
    unsigned drawn; /* columns to erase */
    const char *command;
    struct timespec began;
    FILE *terminal; /* stdout as it was */
} line = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void put(const char *text, size_t size)
{
    while (size) {
        ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno != EINTR)
            return;
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

/* Blanks instead of an escape sequence: every terminal knows them. */
static void erase(void)
{
    char blanks[COLUMNS + 2];
    memset(blanks, ' ', sizeof blanks);
    blanks[0] = blanks[line.drawn + 1] = '\r';
    put(blanks, line.drawn + 2);
    line.drawn = 0;
}

static void draw(void)
{
    struct progress now = progress_now();
    struct timespec time;
    char text[COLUMNS + 1], shown[COLUMNS + 2], part[16] = "";
    clock_gettime(CLOCK_MONOTONIC, &time);
    if (!now.what)
        return;
    if (now.total && now.done <= now.total)
        snprintf(part, sizeof part, ", %u%%", (unsigned)(100 * (double)now.done / (double)now.total));
    snprintf(text, sizeof text, "numalens %s: %s%s, %ld s", line.command, now.inner ? now.inner : now.what, part,
             (long)(time.tv_sec - line.began.tv_sec) - (time.tv_nsec < line.began.tv_nsec));
    unsigned columns = (unsigned)strlen(text);
    int padded = snprintf(shown, sizeof shown, "\r%-*s", (int)line.drawn, text);
    put(shown, (size_t)padded);
    line.drawn = columns > line.drawn ? columns : line.drawn;
}

static struct timespec later(struct timespec time, unsigned ms)
{
    time.tv_sec += ms / 1000;
    time.tv_nsec += (long)(ms % 1000) * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static unsigned wanted_ms(void)
{
    const char *text = getenv("NUMALENS_PROGRESS_MS");
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : AFTER_MS;
}

static void *show(void *unused)
{
    struct timespec next = later(line.began, wanted_ms());
    (void)unused;
    pthread_mutex_lock(&line.mutex);
    while (!line.ends) {
        if (pthread_cond_timedwait(&line.change, &line.mutex, &next) != ETIMEDOUT)
            continue;
        draw();
        clock_gettime(CLOCK_MONOTONIC, &next);
        next = later(next, EVERY_MS);
    }
    pthread_mutex_unlock(&line.mutex);
    return NULL;
}

/* What is printed on the terminal comes after the line is cleared. */
static ssize_t print(void *cookie, const char *data, size_t size)
{
    (void)cookie;
    progress_line_end();
    return fwrite(data, 1, size, line.terminal) == size && fflush(line.terminal) == 0 ? (ssize_t)size : 0;
}

static void watch_stdout(void)
{
    FILE *watched = fopencookie(NULL, "w", (cookie_io_functions_t){.write = print});
    if (!watched)
        return;
    setvbuf(watched, NULL, _IOLBF, BUFSIZ);
    line.terminal = stdout;
    stdout = watched;
}

void progress_line_begin(const char *command, bool quiet, bool json)
{
    bool same = isatty(STDOUT_FILENO);
    if (line.running || line.terminal || quiet || !isatty(STDERR_FILENO) || (json && same))
        return;
    pthread_condattr_t clock;
    line.command = command;
    clock_gettime(CLOCK_MONOTONIC, &line.began);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&line.change, &clock);
    pthread_condattr_destroy(&clock);
    if (same)
        watch_stdout();
    atexit(progress_line_end);
    progress_begin("opening", 0);
    if (wanted_ms() == 0)
        draw();
    line.running = pthread_create(&line.thread, NULL, show, NULL) == 0;
}

void progress_line_end(void)
{
    if (!line.running && !line.drawn)
        return;
    if (line.running) {
        pthread_mutex_lock(&line.mutex);
        line.ends = true;
        pthread_cond_signal(&line.change);
        pthread_mutex_unlock(&line.mutex);
        pthread_join(line.thread, NULL);
        line.running = false;
    }
    if (line.drawn)
        erase();
}
