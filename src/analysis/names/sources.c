#include "analysis/names/sources.h"

#include "base/array.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 8 << 20, FILES_MAX = 256 };

struct source {
    char *path, *module;
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

/* A relative path is looked for beside the binary and in the folders above it, then from here. */
static void find(struct source *source)
{
    enum { UP = 4 };
    if (source->path[0] == '/' ? read_whole(source, source->path) : false)
        return;
    if (source->path[0] == '/')
        return;
    char *folder = mem_strdup(source->module);
    for (unsigned i = 0; i < UP; i++) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = '\0';
        char *path = mem_format("%s/%s", folder, source->path);
        bool found = read_whole(source, path);
        free(path);
        if (found)
            break;
    }
    free(folder);
    if (!source->text)
        read_whole(source, source->path);
}

static const struct source *source_of(struct sources *sources, const char *path, const char *module)
{
    array_each (&sources->files, struct source, file)
        if (strcmp(file->path, path) == 0 && strcmp(file->module, module) == 0)
            return file;
    if (sources->files.count >= FILES_MAX)
        return NULL;
    struct source source = {.path = mem_strdup(path), .module = mem_strdup(module)};
    find(&source);
    array_push(&sources->files, source);
    return &sources->files.items[sources->files.count - 1];
}

bool sources_name(struct sources *sources, const char *file, uint32_t line, struct source_twin twin, const char *module,
                  char name[SOURCE_NAME_MAX])
{
    if (!file || !*file || !line)
        return false;
    const struct source *source = source_of(sources, file, module ? module : "");
    const char *dot = strrchr(file, '.');
    bool fortran = dot && (dot[1] == 'f' || dot[1] == 'F');
    return source && source->text && source_text_name(source->text, source->size, line, fortran, twin, name);
}
