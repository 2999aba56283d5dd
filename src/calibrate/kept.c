/* calibrate/kept.c - a calibration for the next time, in a file of two lines: what it is of, and itself. */
#include "calibrate/calibrate.h"

#include "base/mem.h"
#include "base/small_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* This boot of this machine; NULL for the topology: what such a text begins with. The caller frees it. */
static char *identity(const struct topology *topology)
{
    char *machine = topology ? topology_to_text(topology) : mem_strdup("");
    char *boot = small_file_line("/proc/sys/kernel/random/boot_id");
    char *text = mem_format("%s %s %s", NUMALENS_VERSION, boot ? boot : "", machine);
    free(boot);
    free(machine);
    return text;
}

/* NULL when there is no home for it. The caller frees it. */
static char *folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return mem_format("%s/numalens", cache);
    return home && home[0] == '/' ? mem_format("%s/.cache/numalens", home) : NULL;
}

static struct calibration *read_kept(const char *path, const char *wanted, bool whole)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    struct calibration *calibration = NULL;
    struct error ignored = {0};
    if (file && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        bool same = whole ? strcmp(line, wanted) == 0 : strncmp(line, wanted, strlen(wanted)) == 0;
        if (same && getline(&line, &size, file) > 0) {
            line[strcspn(line, "\n")] = '\0';
            calibration = calibration_from_text(line, &ignored);
        }
    }
    free(line);
    if (file)
        fclose(file);
    return calibration;
}

/* A new file in place of the old one: two that write at the same time do no harm. */
void calibrate_keep(const struct topology *topology, const struct calibration *calibration)
{
    char *where = folder();
    if (!where)
        return;
    char *path = mem_format("%s/calibration", where), *fresh = mem_format("%s/calibration.XXXXXX", where);
    char *slash = strrchr(where, '/');
    *slash = '\0';
    mkdir(where, 0700);
    *slash = '/';
    mkdir(where, 0700);
    int fd = mkostemp(fresh, 0);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) {
        char *identity_text = identity(topology), *text = calibration_to_text(calibration);
        fprintf(file, "%s\n%s\n", identity_text, text);
        free(text);
        free(identity_text);
        if (fclose(file) != 0 || rename(fresh, path) != 0)
            unlink(fresh);
    } else if (fd >= 0) {
        close(fd);
        unlink(fresh);
    }
    free(fresh);
    free(path);
    free(where);
}

struct calibration *calibrate_kept(const struct topology *topology)
{
    char *where = folder();
    char *path = where ? mem_format("%s/calibration", where) : NULL, *wanted = identity(topology);
    struct calibration *calibration = path ? read_kept(path, wanted, topology != NULL) : NULL;
    free(wanted);
    free(path);
    free(where);
    return calibration;
}
