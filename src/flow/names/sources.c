#include "flow/names/source_found.h"

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

enum { KEPT = 16 };

struct kept {         /* what was found on a line: many sites are of one, each by another call chain */
    const char *text; /* whose, or NULL */
    uint32_t line;
    struct source_found found;
};

struct sources {
    array_of(struct source) files;
    struct kept kept[KEPT]; /* by line */
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

/* Regular files only, and without waiting: a path out of debug information may name anything. Takes `path`; returns a file, `*size`
 * and `*found`, or -1. */
static int open_source(char *path, size_t *size, char **found)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_MAX) {
        *size = (size_t)status.st_size;
        *found = path;
        return file;
    }
    if (file >= 0)
        close(file);
    free(path);
    return -1;
}

/* Beside the binary and in the folders above it. */
static int find_near(const char *module, const char *relative, size_t *size, char **found)
{
    enum { UP = 4 };
    int file = -1;
    char *folder = mem_strdup(module);
    for (unsigned i = 0; i < UP && file < 0; i++) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = '\0';
        file = open_source(mem_format("%s/%s", folder, relative), size, found);
    }
    free(folder);
    return file;
}

/* A relative path is looked for where the compiler ran, near the binary, then from here; of an absolute one that is not there, since the program was built
 * elsewhere, the end is. */
static int find(const struct source_file *wanted, size_t *size, char **found)
{
    const char *module = wanted->module ? wanted->module : "";
    bool relative = wanted->path[0] != '/';
    int file = -1;
    if (relative && wanted->directory && wanted->directory[0] == '/') /* else a reproducible build has replaced it */
        file = open_source(mem_format("%s/%s", wanted->directory, wanted->path), size, found);
    if (relative && file < 0)
        file = find_near(module, wanted->path, size, found);
    if (file < 0)
        file = open_source(mem_strdup(wanted->path), size, found);
    for (const char *end = relative ? NULL : wanted->path; file < 0 && end; end = strchr(end + 1, '/'))
        if (end[1])
            file = find_near(module, end + 1, size, found);
    return file;
}

char *sources_path(const struct source_file *wanted)
{
    size_t size;
    char *found = NULL;
    int file = find(wanted, &size, &found);
    if (file >= 0)
        close(file);
    return found;
}

static void read_whole(struct source *source, const struct source_file *wanted)
{
    char *found = NULL;
    size_t size;
    ssize_t got;
    int file = find(wanted, &size, &found);
    if (file < 0)
        return;
    source->text = mem_alloc(size + 1);
    while (source->size < size && (got = read(file, source->text + source->size, size - source->size)) > 0)
        source->size += (size_t)got;
    close(file);
    free(found);
}

static const struct source *source_of(struct sources *sources, const struct source_file *wanted)
{
    const char *module = wanted->module ? wanted->module : "", *directory = wanted->directory ? wanted->directory : "";
    if (!wanted->path || !*wanted->path)
        return NULL;
    array_each (&sources->files, struct source, file)
        if (strcmp(file->path, wanted->path) == 0 && strcmp(file->module, module) == 0 &&
            strcmp(file->directory, directory) == 0)
            return file->text ? file : NULL;
    if (sources->files.count >= FILES_MAX)
        return NULL;
    struct source source = {
        .path = mem_strdup(wanted->path), .directory = mem_strdup(directory), .module = mem_strdup(module)};
    read_whole(&source, wanted);
    array_push(&sources->files, source);
    return source.text ? &sources->files.items[sources->files.count - 1] : NULL;
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

const char *sources_text(struct sources *sources, const struct source_file *file, size_t *size)
{
    const struct source *source = source_of(sources, file);
    *size = source ? source->size : 0;
    return source ? source->text : NULL;
}

static const struct source_found *find_names(struct sources *sources, const struct source *source,
                                             enum source_form form, const struct source_place *place)
{
    struct kept *kept = &sources->kept[place->line % KEPT];
    const struct source_found *found = &kept->found;
    if (kept->text != source->text || kept->line != place->line || found->filled != place->filled ||
        found->library != place->library || found->columns != (place->column > 0)) {
        source_find(source->text, source->size, form, place, &kept->found);
        kept->text = source->text;
        kept->line = place->line;
    }
    return found;
}

bool sources_name(struct sources *sources, const struct source_file *file, const struct source_place *place,
                  char name[SOURCE_NAME_MAX])
{
    const struct source *source = place->line ? source_of(sources, file) : NULL;
    if (!source)
        return false;
    const char *dot = strrchr(file->path, '.');
    /* Rust and Go declare what they allocate with a call of anything. */
    if (dot && (strcmp(dot, ".rs") == 0 || strcmp(dot, ".go") == 0) &&
        source_script_name(source->text, source->size, place->line, name))
        return true;
    enum source_form form = form_of(file->path);
    return form == SOURCE_SCRIPT ? source_script_name(source->text, source->size, place->line, name)
                                 : source_choose(find_names(sources, source, form, place), place, name);
}

size_t sources_names(struct sources *sources, const struct source_file *file, uint32_t line,
                     char names[][SOURCE_NAME_MAX], size_t most)
{
    const struct source *source = source_of(sources, file);
    return source && form_of(file->path) == SOURCE_C ? source_text_names(source->text, source->size, line, names, most)
                                                     : 0;
}
