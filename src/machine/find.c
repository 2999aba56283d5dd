/* machine/find.c - the models that come with numalens, and those in files of the user's own. */
#include "machine/model.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/own_files.h"
#include "machine/generic_models.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char SUFFIX[] = ".machine";

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

/* In a build tree this program is src/cli/numalens and its models are in share/machines. */
static char *folder(struct error *err)
{
    char *path = self_find("../../share/machines");
    if (!path)
        path = self_find(NUMALENS_MACHINES_FROM_BIN);
    if (!path)
        error_set(
            err, -ENOENT,
            "the models of machines are not installed beside this program; install numalens as a whole (make install)");
    return path;
}

ORDER_BY(by_name, char *, strcmp(*a, *b))

int model_names(struct model_names *names, struct error *err)
{
    char *path = folder(err);
    if (!path)
        return -ENOENT;
    DIR *directory = opendir(path);
    if (!directory) {
        int code = error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
        free(path);
        return code;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (has_suffix(entry->d_name)) {
            char *name = mem_strdup(entry->d_name);
            name[strlen(name) - (sizeof SUFFIX - 1)] = '\0';
            array_push(&names->list, name);
        }
    }
    closedir(directory);
    free(path);
    array_sort(&names->list, by_name);
    return 0;
}

void model_names_free(struct model_names *names)
{
    array_each (&names->list, char *, name)
        free(*name);
    array_free(&names->list);
}

static struct model *read_file(const char *path, struct error *err)
{
    struct stat status;
    FILE *in = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? (errno = EISDIR, NULL) : fopen(path, "re");
    if (!in) {
        error_set(err, -errno, "cannot open %.300s: %s", path, strerror(errno));
        return NULL;
    }
    struct model *machine = model_read(in, path, err);
    fclose(in);
    return machine;
}

static void refuse_name(const char *name, struct error *err)
{
    struct model_names names = {0};
    if (model_names(&names, err) < 0)
        return;
    char list[300] = "";
    size_t used = 0;
    array_each (&names.list, char *, known) {
        int written = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *known);
        if (written < 0 || (used += (size_t)written) >= sizeof list)
            break;
    }
    model_names_free(&names);
    error_set(err, -ENOENT, "there is no machine '%.60s'; there are %s; or name a file (./my.machine)", name, list);
}

/* A program that uses the library is elsewhere than the models. */
static struct model *built_in(const char *name)
{
    struct error ignored = {0};
    static const char *const models[][2] = {
        {"generic-2", GENERIC_2}, {"generic-4", GENERIC_4}, {"generic-8", GENERIC_8}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(name, models[i][0]) != 0)
            continue;
        FILE *in = fmemopen((void *)models[i][1], strlen(models[i][1]), "r");
        struct model *machine = in ? model_read(in, name, &ignored) : NULL;
        if (in)
            fclose(in);
        return machine;
    }
    return NULL;
}

struct model *model_find(const char *name, struct error *err)
{
    if (strchr(name, '/') || has_suffix(name))
        return read_file(name, err);
    struct error missing = {0};
    char *path = folder(&missing);
    if (!path) {
        struct model *generic = built_in(name);
        if (!generic)
            error_set(err, missing.code, "%s", missing.text);
        return generic;
    }
    char *file = mem_format("%s/%s%s", path, name, SUFFIX);
    struct stat status;
    struct model *machine = NULL;
    if (stat(file, &status) == 0)
        machine = read_file(file, err);
    else
        refuse_name(name, err);
    free(file);
    free(path);
    return machine;
}
