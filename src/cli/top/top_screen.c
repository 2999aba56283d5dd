#include "cli/top/top_screen.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/top/top_history.h"
#include "cli/top/top_line.h"
#include "trace/session.h"

#include <curses.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEAD_LINES = 3,
    HISTORY_COLUMNS = 100, /* rows have one on a screen of so many */
    FILTER_MOST = 60,
    KEY_ESCAPE = 27,
    KEY_RUBOUT = 127
};

static const struct {
    const char *title;
    enum view_table table;
} views[] = {
    {"processes", VIEW_PROCESSES}, {"threads", VIEW_THREADS}, {"objects", VIEW_OBJECTS},         {"sites", VIEW_SITES},
    {"functions", VIEW_FUNCTIONS}, {"lines", VIEW_LINES},     {"nodes", VIEW_TABLES /* none */},
};

enum { VIEWS = sizeof views / sizeof *views, THREADS_VIEW = 1, OBJECTS_VIEW = 2 };

enum page { PAGE_TABLE, PAGE_OBJECT, PAGE_SOURCE, PAGE_HELP };

struct screen {
    struct top_feed *feed;
    const struct top_shown *shown;
    struct view_options options;
    enum page page, before_help;
    unsigned view, sort[VIEWS]; /* sort: 0 for the table's own, else a key's number */
    char filter[FILTER_MOST + 1];
    bool typing, paused, ended;
    size_t first, cursor; /* row on top, row that is chosen */
    struct view_screen_row *shown_rows;
    size_t rows;
    char *text; /* what is shown below the head */
    char message[160];
    uint32_t pid;       /* the chosen process, or 0; of it */
    uint32_t tid;       /* ... the chosen thread, or 0; */
    uint32_t whole_pid; /* then: what pid was before */
    uint64_t object;    /* the chosen object's address, */
    uint32_t object_pid;
    char *source; /* the chosen function */
    struct top_history history;
};

static const char help_text[] = "1-7, Tab       processes, threads, objects, sites, functions, lines, nodes\n"
                                "Up, Down       choose a row; Page Up, Page Down, Home\n"
                                "Enter          what is behind it: a process's or thread's objects, an object's use\n"
                                "               and lines, a function's source\n"
                                "Backspace      back\n"
                                "s              sort by the next key\n"
                                "/              filter: a text in the name, kind=heap, min-share=2%, min-remote=50%,\n"
                                "               pid=12; empty for all\n"
                                "p, space       pause, and go on\n"
                                "?              this page\n"
                                "q              end: the process is let go\n\n"
                                "Without a PMU, from outside, not known are\n" SESSION_NOT_OUTSIDE "\n";

static unsigned body_lines(void)
{
    return LINES > HEAD_LINES + 2 ? (unsigned)LINES - HEAD_LINES - 1 : 1;
}

/* The keys of a table are one text, "samples, remote, name". False: there is none of that number, from 1. */
static bool sort_key(enum view_table table, unsigned number, char *key, size_t size)
{
    const char *at = table < VIEW_TABLES ? view_sort_keys(table) : NULL;
    for (; at && number > 1; number--)
        at = (at = strchr(at, ',')) ? at + 2 : NULL;
    if (at && number)
        snprintf(key, size, "%.*s", (int)strcspn(at, ","), at);
    return at && number;
}

static void draw_head(const struct screen *screen)
{
    const struct flow *flow = top_feed_flow(screen->feed);
    const char *state = screen->ended ? "  ended" : screen->paused ? "  paused" : "";
    char *history = top_history_whole(&screen->history, COLS > 40 ? (size_t)COLS - 30 : 10, screen->options.ascii);
    char only[32] = "";
    if (screen->tid || screen->pid)
        snprintf(only, sizeof only, "  only %s %u", screen->tid ? "thread" : "process",
                 screen->tid ? screen->tid : screen->pid);
    if (flow) {
        struct flow_totals totals = flow_totals(flow);
        char remote[16] = "not known";
        if (totals.home_known)
            snprintf(remote, sizeof remote, "%.1f%%", 100.0 * (double)totals.remote / (double)totals.home_known);
        top_words(0, A_REVERSE, "%s (%u)  remote %s  samples %lu  threads %zu  nodes %u%s%s%s", screen->shown->name,
                  screen->shown->pid, remote, (unsigned long)totals.samples, flow_thread_count(flow),
                  flow_topology(flow)->node_count, flow_topology(flow)->simulated ? " (simulated)" : "", only, state);
    } else {
        top_words(0, A_REVERSE, "%s (%u)  waiting for the first interval%s", screen->shown->name, screen->shown->pid,
                  state);
    }
    top_words(1, A_NORMAL, "%s", history);
    move(2, 0);
    clrtoeol();
    for (unsigned i = 0; i < VIEWS; i++) {
        attrset(i == screen->view ? A_REVERSE : A_NORMAL);
        if (getcurx(stdscr) + (int)strlen(views[i].title) + 4 < COLS)
            printw("%u %s", i + 1, views[i].title);
        attrset(A_NORMAL);
        addstr(" ");
    }
    free(history);
}

static void draw_foot(const struct screen *screen)
{
    char key[32] = "";
    if (screen->typing)
        top_words(LINES - 1, A_BOLD, "filter: %s_", screen->filter);
    else if (*screen->message)
        top_words(LINES - 1, A_BOLD, "%s", screen->message);
    else if (screen->page == PAGE_TABLE)
        top_words(LINES - 1, A_BOLD, "sort: %s  %s%s%s?: keys  q: end",
                  sort_key(views[screen->view].table, screen->sort[screen->view], key, sizeof key) ? key : "usual",
                  *screen->filter ? "filter: " : "", screen->filter, *screen->filter ? "  " : "");
    else
        top_words(LINES - 1, A_BOLD, "Backspace: back  ?: keys  q: end");
}

/* Remote shares of a row in the last intervals, at the right; `row` NULL: their heading. */
static void put_history(const struct screen *screen, int y, const struct view_screen_row *row, int attributes)
{
    char *history = row ? top_history_row(&screen->history, row->key, screen->options.ascii) : mem_strdup(" history");
    attrset(attributes);
    mvaddstr(y, COLS - ROW_HISTORY, history);
    attrset(A_NORMAL);
    free(history);
}

/* Line 0 of a table are its headings. */
static void draw_body(const struct screen *screen)
{
    bool table = screen->page == PAGE_TABLE && views[screen->view].table != VIEW_TABLES;
    int y = HEAD_LINES;
    size_t number = 0;
    for (const char *at = screen->text ? screen->text : ""; *at && y < LINES - 1; number++) {
        size_t length = strcspn(at, "\n");
        bool heading = table && number == 0;
        size_t row = number - table;
        int attributes = heading ? A_BOLD : table && row == screen->cursor ? A_REVERSE : A_NORMAL;
        if (heading || row >= screen->first) {
            top_line(y, at, length, attributes);
            if (table && COLS >= HISTORY_COLUMNS && (heading || row < screen->rows))
                put_history(screen, y, heading ? NULL : &screen->shown_rows[row], attributes);
            y++;
        }
        at += length + (at[length] == '\n');
    }
    for (; y < LINES - 1; y++)
        top_line(y, "", 0, A_NORMAL);
}

static void draw(const struct screen *screen)
{
    draw_head(screen);
    draw_body(screen);
    draw_foot(screen);
    refresh();
}

static void complain(struct screen *screen, const struct error *err)
{
    snprintf(screen->message, sizeof screen->message, "%.159s", err->text);
}

static bool find_object(const struct screen *screen, const struct flow *flow, uint32_t *object)
{
    for (size_t i = flow_sampled_object_count(flow); i > 0; i--) {
        const struct flow_object *row = flow_object(flow, (uint32_t)i - 1);
        if (row->addr == screen->object && flow_process(flow, row->process)->pid == screen->object_pid) {
            *object = row->id;
            return true;
        }
    }
    return false;
}

/* Writes what the page shows. Negative: there is nothing of it in this interval. */
static int write_page(struct screen *screen, const struct flow *flow, FILE *out, struct error *err)
{
    uint32_t object;
    enum view_table table = views[screen->view].table;
    screen->options.limit = 0;
    if (screen->page == PAGE_HELP)
        return fputs(help_text, out) < 0 ? -EIO : 0;
    if (screen->page == PAGE_OBJECT)
        return find_object(screen, flow, &object) ? view_object(flow, object, &screen->options, out, err)
                                                  : error_set(err, -ENOENT, "no samples of it in the last interval");
    if (screen->page == PAGE_SOURCE)
        return view_annotate(flow, screen->source, &screen->options, out, err);
    if (table == VIEW_TABLES)
        return view_nodes(flow, &screen->options, out, err);
    char key[32];
    screen->options.limit = screen->first + body_lines();
    screen->options.sort = sort_key(table, screen->sort[screen->view], key, sizeof key) ? key : NULL;
    screen->shown_rows = mem_resize(screen->shown_rows, screen->options.limit * sizeof *screen->shown_rows);
    screen->options.width = (unsigned)(COLS < HISTORY_COLUMNS ? COLS : COLS - ROW_HISTORY - 2);
    long rows = view_screen(flow, table, &screen->options, screen->shown_rows, out, err);
    screen->options.sort = NULL;
    screen->rows = rows > 0 ? (size_t)rows : 0;
    top_history_rows(&screen->history, screen->shown_rows, screen->rows);
    if (screen->cursor >= screen->rows)
        screen->cursor = screen->rows ? screen->rows - 1 : 0;
    if (screen->first > screen->cursor)
        screen->first = screen->cursor;
    return rows < 0 ? (int)rows : 0;
}

static void show(struct screen *screen)
{
    const struct flow *flow = top_feed_flow(screen->feed);
    struct error err = {0};
    char *text = NULL;
    size_t size;
    screen->options.width = (unsigned)COLS;
    if (flow || screen->page == PAGE_HELP) {
        FILE *out = mem_stream(&text, &size);
        int code = write_page(screen, flow, out, &err);
        mem_stream_end(out, &text);
        if (code < 0) {
            complain(screen, &err);
            free(text);
        } else {
            free(screen->text);
            screen->text = text;
        }
    }
    draw(screen);
}

static void open_page(struct screen *screen, enum page page)
{
    screen->page = page;
    screen->first = 0;
    free(screen->text);
    screen->text = NULL;
}

static void open_view(struct screen *screen, unsigned view)
{
    screen->view = view;
    screen->cursor = 0;
    *screen->filter = '\0'; /* what one table is filtered by, another may not have */
    screen->options.filter = (struct view_filter){.kind = -1};
    open_page(screen, PAGE_TABLE);
}

static void only(struct screen *screen, uint32_t pid, uint32_t tid)
{
    struct error err = {0};
    if ((screen->pid != pid || screen->tid != tid) && top_feed_only(screen->feed, pid, tid, &err) < 0)
        complain(screen, &err);
    screen->pid = pid;
    screen->tid = tid;
}

static void open_source(struct screen *screen, const char *function)
{
    free(screen->source);
    screen->source = mem_strdup(function);
    open_page(screen, PAGE_SOURCE);
}

static void open_row(struct screen *screen)
{
    const struct flow *flow = top_feed_flow(screen->feed);
    enum view_table table = views[screen->view].table;
    if (screen->page != PAGE_TABLE || table == VIEW_TABLES || !flow || screen->cursor >= screen->rows)
        return;
    uint32_t id = screen->shown_rows[screen->cursor].id;
    if (table == VIEW_PROCESSES) {
        only(screen, flow_process(flow, id)->pid, 0);
        open_view(screen, OBJECTS_VIEW);
    } else if (table == VIEW_THREADS) {
        screen->whole_pid = screen->tid ? screen->whole_pid : screen->pid;
        only(screen, flow_thread(flow, id)->pid, flow_thread(flow, id)->tid);
        open_view(screen, OBJECTS_VIEW);
    } else if (table == VIEW_FUNCTIONS || table == VIEW_LINES) {
        open_source(screen, (table == VIEW_LINES ? flow_line : flow_function)(flow, id)->function);
    } else if ((table == VIEW_OBJECTS || table == VIEW_SITES) && id < flow_object_count(flow)) {
        const struct flow_object *object = flow_object(flow, id);
        screen->object = object->addr;
        screen->object_pid = flow_process(flow, object->process)->pid;
        open_page(screen, PAGE_OBJECT);
    }
}

static void go_back(struct screen *screen)
{
    if (screen->page == PAGE_HELP) {
        open_page(screen, screen->before_help);
    } else if (screen->page != PAGE_TABLE) {
        open_page(screen, PAGE_TABLE);
    } else if (screen->tid) {
        only(screen, screen->whole_pid, 0);
        open_view(screen, THREADS_VIEW);
    } else if (screen->pid) {
        only(screen, 0, 0);
        open_view(screen, 0);
    }
}

static void take_filter(struct screen *screen)
{
    struct error err = {0};
    screen->options.filter = (struct view_filter){.kind = -1};
    screen->typing = false;
    if (*screen->filter && view_filter_parse(&screen->options.filter, screen->filter, &err) < 0) {
        complain(screen, &err);
        screen->options.filter = (struct view_filter){.kind = -1};
        *screen->filter = '\0';
    }
    if (screen->options.filter.pid)
        only(screen, screen->options.filter.pid, 0);
}

static void type(struct screen *screen, int key)
{
    size_t length = strlen(screen->filter);
    if (key == '\n' || key == KEY_ENTER)
        take_filter(screen);
    else if ((key == KEY_BACKSPACE || key == KEY_RUBOUT || key == '\b') && length)
        screen->filter[length - 1] = '\0';
    else if (key >= ' ' && key < KEY_RUBOUT && length < FILTER_MOST)
        screen->filter[length] = (char)key, screen->filter[length + 1] = '\0';
}

static void move_by(struct screen *screen, long by)
{
    size_t *moved =
        screen->page == PAGE_TABLE && views[screen->view].table != VIEW_TABLES ? &screen->cursor : &screen->first;
    *moved = by < 0 && (size_t)-by > *moved ? 0 : *moved + (size_t)by;
    if (moved == &screen->first)
        return;
    unsigned shown = body_lines() - 1; /* without the headings */
    if (screen->cursor < screen->first)
        screen->first = screen->cursor;
    if (screen->cursor >= screen->first + shown)
        screen->first = screen->cursor - shown + 1;
}

static void next_sort(struct screen *screen)
{
    char key[32];
    unsigned *sort = &screen->sort[screen->view];
    *sort = sort_key(views[screen->view].table, *sort + 1, key, sizeof key) ? *sort + 1 : 0;
}

/* False: that is the end. */
static bool take_key(struct screen *screen, int key)
{
    *screen->message = '\0';
    if (screen->typing && key != KEY_RESIZE) {
        type(screen, key);
        return true;
    }
    switch (key) {
    case 'q':
        return false;
    case '?':
    case 'h':
        if (screen->page != PAGE_HELP)
            screen->before_help = screen->page;
        open_page(screen, PAGE_HELP);
        break;
    case '\t':
    case KEY_BTAB:
        open_view(screen, (screen->view + (key == '\t' ? 1 : VIEWS - 1)) % VIEWS);
        break;
    case KEY_UP:
    case 'k':
        move_by(screen, -1);
        break;
    case KEY_DOWN:
    case 'j':
        move_by(screen, 1);
        break;
    case KEY_PPAGE:
        move_by(screen, -(long)body_lines());
        break;
    case KEY_NPAGE:
        move_by(screen, body_lines());
        break;
    case KEY_HOME:
        move_by(screen, -(long)(screen->cursor + screen->first));
        break;
    case '\n':
    case KEY_ENTER:
        open_row(screen);
        break;
    case KEY_BACKSPACE:
    case KEY_RUBOUT:
    case '\b':
    case KEY_ESCAPE:
        go_back(screen);
        break;
    case 's':
        next_sort(screen);
        break;
    case '/':
        screen->typing = true;
        break;
    case 'p':
    case ' ':
        screen->paused = !screen->paused;
        break;
    case KEY_RESIZE:
        clear();
        break;
    default:
        if (key >= '1' && key < '1' + VIEWS)
            open_view(screen, (unsigned)(key - '1'));
    }
    return true;
}

static void note_interval(struct screen *screen)
{
    struct flow_totals totals = flow_totals(top_feed_flow(screen->feed));
    top_history_add(&screen->history, totals.home_known ? (double)totals.remote / (double)totals.home_known : 0);
    if (screen->page == PAGE_TABLE)
        *screen->message = '\0';
}

static int look_on(struct screen *screen, struct error *err)
{
    while (!*screen->shown->stopped) {
        int code = screen->ended ? 0 : top_feed_next(screen->feed, !screen->paused, err);
        if (code == -ENODATA && screen->history.intervals)
            screen->ended = true;
        else if (code < 0)
            return code;
        if (code > 0)
            note_interval(screen);
        if (code)
            show(screen);
        int key = getch();
        for (; key != ERR; key = getch()) {
            if (!take_key(screen, key))
                return 0;
            show(screen);
        }
        if (code == 0)
            top_feed_wait(screen->feed, STDIN_FILENO, screen->shown->mask);
    }
    return 0;
}

int top_screen(struct top_feed *feed, const struct top_shown *shown, struct error *err)
{
    struct screen screen = {.feed = feed, .shown = shown, .options = *shown->view, .view = OBJECTS_VIEW};
    screen.options.filter = (struct view_filter){.kind = -1};
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return error_set(err, -ENOTTY, "this terminal is not known (TERM=%s): use --batch", getenv("TERM"));
    cbreak();
    noecho();
    curs_set(0);
    nodelay(stdscr, true);
    keypad(stdscr, true);
    set_escdelay(25);
    if (screen.options.color && start_color() == OK) {
        use_default_colors();
        init_pair(TOP_PAIR_HOT, COLOR_RED, -1);
    }
    draw(&screen);
    int code = look_on(&screen, err);
    endwin();
    delscreen(terminal);
    free(screen.text);
    free(screen.shown_rows);
    free(screen.source);
    return code;
}
