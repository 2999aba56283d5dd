#include "cli/terminal.h"

#include "base/text.h"
#include "capture/job_rank.h"
#include "cli/usage/option_value.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OPTION_JSON = 1, OPTION_COLOR, OPTION_WIDTH };

static const struct argp_option option_table[] = {
    {"json", OPTION_JSON, NULL, 0, "For programs; docs/json.md names the fields", 0},
    {"color", OPTION_COLOR, "WHEN", 0, "auto, always or never", 0},
    {"width", OPTION_WIDTH, "COLUMNS", 0, "As wide as this; 0: as wide as it gets", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct terminal_options *options = state->input;
    switch (key) {
    case OPTION_JSON:
        options->view->json = true;
        break;
    case OPTION_COLOR:
        if (strcmp(value, "auto") != 0 && strcmp(value, "always") != 0 && strcmp(value, "never") != 0)
            argp_error(state, "--color: '%s' is none of auto, always, never", value);
        options->color = value;
        break;
    case OPTION_WIDTH:
        options->view->width = (unsigned)option_whole("width", value, 0, 1000000000);
        options->has_width = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp terminal_argp = {.options = option_table, .parser = parse};

void terminal_look(const struct terminal_options *options)
{
    struct view_options *view = options->view;
    const char *color = options->color;
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
    if (options->has_width)
        return;
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    view->width = terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                  : columns && atoi(columns) > 0                                          ? (unsigned)atoi(columns)
                                                                                          : 100;
}
