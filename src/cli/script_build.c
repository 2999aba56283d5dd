/* cli/script_build.c - finding a compiler, calling it, and leaving nothing behind.
 *
 * The program is opened and its file removed before it runs: however the script ends, no file stays. While the compiler
 * runs, signals that would end numalens wait until its files are deleted. */
#include "cli/script_build.h"

#include "base/mem.h"
#include "base/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* By the shell: $CC or $CXX may carry options. The system's own include folder is not named: it would come before the compiler's for C++.
 * -Xlinker and not -Wl: a path may have commas. */
#define COMPILE(variable, usual, standard)                                                                             \
    "compiler=${" variable ":-$(" usual ")}; [ \"$compiler\" ] || exit 127; include=-I$5; "                            \
    "[ \"$5\" != /usr/include ] || include=-Wall; "                                                                    \
    "exec $compiler " standard " -O2 -Wall \"$include\" -o \"$2\" \"$1\" \"$3\" "                                      \
    "-Xlinker -rpath -Xlinker \"$4\" $6 -lm"

/* The shell's exit status, 128 + signal, or negative. */
static int run_shell(const char *const *words, const sigset_t *mask, struct error *err)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return error_set(err, -errno, "cannot start the compiler: %s", strerror(errno));
    if (child == 0) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execv("/bin/sh", (char *const *)words);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set(err, -errno, "lost the compiler: %s", strerror(errno));
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int compile(const char *source, const char *output, const char *flags, const sigset_t *mask, struct error *err)
{
    enum { NOT_FOUND = 127 };
    bool cxx = is_cxx(source);
    const char *variable = cxx ? "CXX" : "CC", *wanted = getenv(variable);
    char *library = find(NUMALENS_LIBRARY_IN_BUILD, NUMALENS_LIBRARY_FROM_BIN, "libnumalens is", err);
    char *include = library ? find("../../include", NUMALENS_INCLUDE_FROM_BIN, "the headers are", err) : NULL;
    if (!include) {
        free(library);
        return -ENOENT;
    }
    char *folder = mem_strdup(library);
    char *named = mem_format("%s%s", *source == '-' ? "./" : "", source);
    *strrchr(folder, '/') = 0;
    const char *command = cxx ? COMPILE("CXX", "command -v c++ || command -v g++ || command -v clang++", "-std=gnu++17")
                              : COMPILE("CC", "command -v cc || command -v gcc || command -v clang", "-std=gnu11");
    const char *words[] = {"sh", "-c", command, "sh", named, output, library, folder, include, flags ? flags : "",
                           NULL};
    int result = run_shell(words, mask, err);
    if (result == NOT_FOUND)
        result = error_set(err, -ENOENT,
                           "a script needs a %s compiler and there is none%s%.100s; install one (Debian: apt install "
                           "%s) or name it in $%s",
                           cxx ? "C++" : "C", wanted ? " called " : "", wanted ? wanted : "",
                           cxx ? "g++ libc6-dev" : "gcc libc6-dev", variable);
    else if (result > 0)
        result = error_set(err, -ENOEXEC, "%s does not compile: the compiler ended with status %d", source, result);
    free(folder);
    free(named);
    free(library);
    free(include);
    return result;
}

static int build_in(const char *folder, const char *source, const char *flags, const sigset_t *mask, struct error *err)
{
    char *output = mem_format("%s/script", folder);
    int result = compile(source, output, flags, mask, err);
    if (result == 0) {
        result = open(output, O_RDONLY | O_CLOEXEC);
        if (result < 0)
            result = error_set(err, -errno, "the compiler left no program: %s", strerror(errno));
    }
    unlink(output);
    free(output);
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
