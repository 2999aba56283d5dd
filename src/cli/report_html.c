#include "cli/report_html.h"

#include "base/text.h"
#include "cli/input/recording.h"
#include "page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { RUNS = 2 };

/* Where it is, how large, and how to look at it. Nothing when the page itself goes to stdout. */
static void print_written(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return;
    char *whole = realpath(path, NULL), *safe = text_safe(whole ? whole : path);
    printf("%s: %.1f MB; open it in a browser\n", safe, (double)file.st_size * 1e-6);
    free(safe);
    free(whole);
}

int report_html(const struct report_html *html, struct error *err)
{
    struct input *inputs[RUNS] = {html->input, html->against};
    unsigned count = html->against ? 2 : 1;
    struct recording recordings[RUNS] = {{0}};
    struct view_options views[RUNS] = {{0}};
    struct page_run runs[RUNS] = {{0}};
    int failed = page_is_missing(err);
    for (unsigned i = 0; failed == 0 && i < count; i++) {
        failed = recording_open(&recordings[i], "report", inputs[i], &html->flow, html->window, err);
        views[i] = (struct view_options){.path = inputs[i]->name,
                                         .ending = recordings[i].ending,
                                         .damage = recordings[i].damage,
                                         .machine = html->machine};
        runs[i] = (struct page_run){.flow = recordings[i].flow,
                                    .view = &views[i],
                                    .label = count == 1 ? inputs[i]->name
                                             : i        ? "B"
                                                        : "A"};
    }
    if (failed == 0)
        failed = page_write(html->out, runs, count, err);
    for (unsigned i = 0; i < count; i++)
        recording_close(&recordings[i]);
    if (failed == 0)
        print_written(html->out);
    return failed;
}
