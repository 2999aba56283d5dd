#include "flow/names/sources.h"

#include "base/array.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 8 << 20, FILES_MAX = 256 };

struct source {
    char *path, *directory, *module;
    char *text; /* NULL: not at hand */
    size_t size;
};

struct sources {
    array_of(struct source) files;
};

struct sources *sources_new(void)
{
    return mem_zalloc(sizeof(struct sources));
}

void sources_free(struct sources *sources)
{
    if (!sources)
        return;
    array_each (&sources->files, struct source, file) {
        free(file->path);
        free(file->directory);
        free(file->module);
        free(file->text);
    }
    array_free(&sources->files);
    free(sources);
}

/* Regular files only, and without waiting: a path out of debug information may name anything. */
static bool read_whole(struct source *source, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return false;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= FILE_MAX) {
        source->text = mem_alloc((size_t)status.st_size);
        ssize_t got;
        while (source->size < (size_t)status.st_size &&
               (got = read(file, source->text + source->size, (size_t)status.st_size - source->size)) > 0)
            source->size += (size_t)got;
    }
    close(file);
    return source->text != NULL;
}

/* Beside the binary and in the folders above it. */
static bool find_near(struct source *source, const char *relative)
{
    enum { UP = 4 };
    bool found = false;
    char *folder = mem_strdup(source->module);
    for (unsigned i = 0; i < UP && !found; i++) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = '\0';
        char *path = mem_format("%s/%s", folder, relative);
        found = read_whole(source, path);
        free(path);
    }
    free(folder);
    return found;
}

/* A relative path is looked for where the compiler ran, near the binary, then from here; of an absolute one that is not there, since the program was built
 * elsewhere, the end is. */
static void find(struct source *source)
{
    if (source->path[0] != '/') {
        char *path = mem_format("%s/%s", source->directory, source->path);
        if (!(*source->directory && read_whole(source, path)) && !find_near(source, source->path))
            read_whole(source, source->path);
        free(path);
        return;
    }
    if (read_whole(source, source->path))
        return;
    for (const char *end = strchr(source->path, '/'); end; end = strchr(end + 1, '/'))
        if (end[1] && find_near(source, end + 1))
            return;
}

static const struct source *source_of(struct sources *sources, const struct source_file *wanted)
{
    const char *module = wanted->module ? wanted->module : "", *directory = wanted->directory ? wanted->directory : "";
    array_each (&sources->files, struct source, file)
        if (strcmp(file->path, wanted->path) == 0 && strcmp(file->module, module) == 0 &&
            strcmp(file->directory, directory) == 0)
            return file;
    if (sources->files.count >= FILES_MAX)
        return NULL;
    struct source source = {
        .path = mem_strdup(wanted->path), .directory = mem_strdup(directory), .module = mem_strdup(module)};
    find(&source);
    array_push(&sources->files, source);
    return &sources->files.items[sources->files.count - 1];
}

static enum source_form form_of(const char *file)
{
    static const char *const scripts[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".lua", ".rb", NULL};
    static const char *const fixed[] = {".f", ".F", ".for", ".FOR", ".ftn", ".f77", ".fpp", ".FPP", NULL};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && fixed[i]; i++)
        if (strcmp(dot, fixed[i]) == 0)
            return SOURCE_FIXED;
    for (size_t i = 0; dot && scripts[i]; i++)
        if (strcmp(dot, scripts[i]) == 0)
            return SOURCE_SCRIPT;
    return dot && (dot[1] == 'f' || dot[1] == 'F') ? SOURCE_FREE : SOURCE_C;
}

const char *sources_text(struct sources *sources, const char *file, const char *module, size_t *size)
{
    struct source_file wanted = {.path = file, .module = module};
    const struct source *source = file && *file ? source_of(sources, &wanted) : NULL;
    *size = source ? source->size : 0;
    return source ? source->text : NULL;
}

bool sources_name(struct sources *sources, const struct source_file *file, const struct source_place *place,
                  char name[SOURCE_NAME_MAX])
{
    if (!file->path || !*file->path || !place->line)
        return false;
    const struct source *source = source_of(sources, file);
    const char *dot = strrchr(file->path, '.');
    if (!source || !source->text)
        return false;
    /* Rust and Go declare what they allocate with a call of anything. */
    if (dot && (strcmp(dot, ".rs") == 0 || strcmp(dot, ".go") == 0) &&
        source_script_name(source->text, source->size, place->line, name))
        return true;
    return source_text_name(source->text, source->size, form_of(file->path), place, name);
}

size_t sources_names(struct sources *sources, const struct source_file *file, uint32_t line,
                     char names[][SOURCE_NAME_MAX], size_t most)
{
    const struct source *source = file->path && *file->path ? source_of(sources, file) : NULL;
    return source && source->text && form_of(file->path) == SOURCE_C
               ? source_text_names(source->text, source->size, line, names, most)
               : 0;
}
