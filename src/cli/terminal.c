#include "cli/terminal.h"

#include "base/text.h"
#include "capture/job_rank.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_look(struct view_options *view, const char *color, bool has_width)
{
    struct job_rank rank;
    job_rank_find(&rank, getenv);
    /* mpirun gives its processes a terminal of its own, wherever their output goes. */
    bool terminal = isatty(STDOUT_FILENO) && !rank.in_job;
    const char *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0 || getenv("NO_COLOR");
    view->color = terminal && !dumb;
    if (color && strcmp(color, "auto") != 0)
        view->color = strcmp(color, "always") == 0;
    setlocale(LC_CTYPE, "");
    view->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    if (view->ascii)
        text_ascii_only();
    if (has_width)
        return;
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    view->width = terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                  : columns && atoi(columns) > 0                                          ? (unsigned)atoi(columns)
                                                                                          : 100;
}
