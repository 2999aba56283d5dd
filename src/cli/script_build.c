/* cli/script_build.c - finding a compiler, calling it, and leaving nothing behind.
 *
 * The program is opened and its file removed before it runs: however the script ends, no file stays. While the compiler
 * runs, signals that would end numalens wait until its files are deleted. */
#include "cli/script_build.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/own_files.h"
#include "cli/progress_line.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct words {
    array_of(char *) list; /* all to be freed; NULL at the end when it is a command */
};

static void words_add(struct words *words, char *word)
{
    array_push(&words->list, word);
}

static void words_split(struct words *words, const char *text)
{
    char *copy = mem_strdup(text), *at = copy, *word;
    while ((word = strsep(&at, " \t\n"))) {
        if (*word)
            words_add(words, mem_strdup(word));
    }
    free(copy);
}

static void words_free(struct words *words)
{
    array_each (&words->list, char *, word)
        free(*word);
    array_free(&words->list);
}

/* In a build tree this program is src/cli/numalens, and libnumalens is not far. */
static bool in_build_tree(void)
{
    char *library = self_find(NUMALENS_LIBRARY_IN_BUILD);
    free(library);
    return library != NULL;
}

static char *find(const char *in_build, const char *installed, const char *what, struct error *err)
{
    char *path = self_find(in_build_tree() ? in_build : installed);
    if (!path)
        error_set(err, -ENOENT, "%s not installed beside this program; install numalens as a whole (make install)",
                  what);
    return path;
}

char *script_folder(struct error *err)
{
    return find("../../examples/scripts", NUMALENS_SCRIPTS_FROM_BIN, "the ready scripts are", err);
}

static bool is_cxx(const char *source)
{
    const char *dot = strrchr(source, '.');
    return dot && (strcmp(dot, ".cc") == 0 || strcmp(dot, ".cpp") == 0 || strcmp(dot, ".cxx") == 0);
}

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *copy = mem_strdup(path ? path : "/usr/bin:/bin"), *at = copy, *folder;
    bool found = strchr(name, '/') && access(name, X_OK) == 0;
    while (!found && (folder = strsep(&at, ":"))) {
        char *file = mem_format("%s/%s", *folder ? folder : ".", name);
        found = access(file, X_OK) == 0;
        free(file);
    }
    free(copy);
    return found;
}

/* $CC or $CXX, which may carry options, else the first of the usual names that is there. */
static int add_compiler(struct words *words, bool cxx, struct error *err)
{
    static const char *const usual[2][4] = {{"cc", "gcc", "clang", NULL}, {"c++", "g++", "clang++", NULL}};
    const char *variable = cxx ? "CXX" : "CC", *wanted = getenv(variable);
    if (wanted && wanted[strspn(wanted, " \t")]) {
        words_split(words, wanted);
        if (!in_path(words->list.items[0]))
            return error_set(err, -ENOENT, "there is no compiler '%.100s', which $%s names", words->list.items[0],
                             variable);
        return 0;
    }
    for (unsigned i = 0; usual[cxx][i]; i++) {
        if (in_path(usual[cxx][i])) {
            words_add(words, mem_strdup(usual[cxx][i]));
            return 0;
        }
    }
    return error_set(err, -ENOENT,
                     "a script needs a %s compiler and there is none; install one (Debian: apt install %s) or name it "
                     "in $%s",
                     cxx ? "C++" : "C", cxx ? "g++ libc6-dev" : "gcc libc6-dev", variable);
}

static bool wants_colours(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0 && !getenv("NO_COLOR");
}

static int make_command(struct words *words, const char *source, const char *output, const char *flags,
                        struct error *err)
{
    bool cxx = is_cxx(source), usual = !getenv(cxx ? "CXX" : "CC");
    char *library = NULL, *include = NULL;
    int failed = add_compiler(words, cxx, err);
    if (failed < 0)
        return failed;
    library = find(NUMALENS_LIBRARY_IN_BUILD, NUMALENS_LIBRARY_FROM_BIN, "libnumalens is", err);
    include = library ? find("../../include", NUMALENS_INCLUDE_FROM_BIN, "the headers are", err) : NULL;
    if (!include) {
        free(library);
        return -ENOENT;
    }
    words_split(words, cxx ? "-std=gnu++17 -O2 -Wall" : "-std=gnu11 -O2 -Wall");
    if (usual && wants_colours()) /* it prints to a pipe */
        words_add(words, mem_strdup("-fdiagnostics-color=always"));
    /* Named as an include folder, the compiler's own would come too early for its C++ headers. */
    if (strcmp(include, "/usr/include") != 0)
        words_add(words, mem_format("-I%s", include));
    words_add(words, mem_strdup("-o"));
    words_add(words, mem_strdup(output));
    words_add(words, mem_format("%s%s", *source == '-' ? "./" : "", source));
    words_add(words, mem_strdup(library));
    *strrchr(library, '/') = 0;
    words_add(words, mem_strdup("-Xlinker")); /* not -Wl: a path may have commas */
    words_add(words, mem_strdup("-rpath"));
    words_add(words, mem_strdup("-Xlinker"));
    words_add(words, mem_strdup(library));
    if (flags)
        words_split(words, flags);
    words_add(words, mem_strdup("-lm"));
    words_add(words, NULL);
    free(library);
    free(include);
    return 0;
}

static void close_both(const int pipes[2])
{
    for (int i = 0; i < 2; i++)
        if (pipes[i] >= 0)
            close(pipes[i]);
}

/* What the compiler prints comes after the line of progress is cleared. */
static void pass_on(int from)
{
    char part[4096];
    ssize_t got;
    while ((got = read(from, part, sizeof part)) > 0 || (got < 0 && errno == EINTR)) {
        progress_line_end();
        for (ssize_t at = 0, put; at < got; at += put) {
            put = write(STDERR_FILENO, part + at, (size_t)(got - at));
            if (put < 0 && errno != EINTR)
                return;
            put = put < 0 ? 0 : put;
        }
    }
}

/* The compiler's exit status, 128 + signal, or negative. */
static int run_compiler(char *const *command, const sigset_t *mask, struct error *err)
{
    int pipes[2] = {-1, -1};
    if (isatty(STDERR_FILENO) && pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot start the compiler: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) {
        error_set(err, -errno, "cannot start the compiler: %s", strerror(errno));
        close_both(pipes);
        return err->code;
    }
    if (child == 0) {
        if (pipes[1] >= 0)
            dup2(pipes[1], STDERR_FILENO);
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(command[0], command);
        _exit(127);
    }
    if (pipes[1] >= 0) {
        close(pipes[1]);
        pipes[1] = -1;
        pass_on(pipes[0]);
    }
    close_both(pipes);
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set(err, -errno, "lost the compiler: %s", strerror(errno));
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int build_in(const char *folder, const char *source, const char *flags, const sigset_t *mask, struct error *err)
{
    struct words words = {0};
    char *output = mem_format("%s/script", folder);
    int result = make_command(&words, source, output, flags, err);
    if (result == 0)
        result = run_compiler(words.list.items, mask, err);
    if (result > 0) {
        result = error_set(err, -ENOEXEC, "%s does not compile: %s ended with status %d", source, words.list.items[0],
                           result);
    } else if (result == 0) {
        result = open(output, O_RDONLY | O_CLOEXEC);
        if (result < 0)
            result = error_set(err, -errno, "the compiler left no program: %s", strerror(errno));
    }
    unlink(output);
    free(output);
    words_free(&words);
    return result;
}

int script_build(const char *source, const char *flags, struct error *err)
{
    struct stat file;
    if (stat(source, &file) < 0)
        return error_set(err, -errno, "%s: %s", source, strerror(errno));
    if (!S_ISREG(file.st_mode))
        return error_set(err, -EINVAL, "%s is no file", source);

    sigset_t ending, mask;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGQUIT);
    sigprocmask(SIG_BLOCK, &ending, &mask);
    const char *temporary = getenv("TMPDIR");
    char *folder = mem_format("%s/numalens-script-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    int result;
    if (mkdtemp(folder)) { /* 0700 */
        result = build_in(folder, source, flags, &mask, err);
        rmdir(folder);
    } else {
        result = error_set(err, -errno, "cannot make a folder like %s: %s; name another place in $TMPDIR", folder,
                           strerror(errno));
    }
    free(folder);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return result;
}
