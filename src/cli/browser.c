#include "cli/browser.h"

#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct browser {
    char *file;
    pid_t opener;
};

static bool has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x && *x) || (wayland && *wayland);
}

static bool write_lead(struct browser *browser, const char *address)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    browser->file = mem_format("%s/numalens-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int file = mkostemps(browser->file, 5, O_CLOEXEC); /* mode 0600 */
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out) {
        if (file >= 0)
            close(file);
        return false;
    }
    fprintf(out, "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
            address);
    return fclose(out) == 0;
}

/* What it says is nothing to ours: it goes to /dev/null. */
static bool start(struct browser *browser)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none; /* of the signals that are held here */
    char *arguments[] = {"xdg-open", browser->file, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawnp(&browser->opener, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed == 0;
}

struct browser *browser_open(const char *address)
{
    if (!has_display())
        return NULL;
    struct browser *browser = mem_zalloc(sizeof *browser);
    if (write_lead(browser, address) && start(browser))
        return browser;
    browser_close(browser);
    return NULL;
}

void browser_close(struct browser *browser)
{
    if (!browser)
        return;
    if (browser->opener)
        waitpid(browser->opener, NULL, WNOHANG);
    if (browser->file)
        unlink(browser->file);
    free(browser->file);
    free(browser);
}
