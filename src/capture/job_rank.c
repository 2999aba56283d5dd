#include "capture/job_rank.h"

#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* In order of preference: mpirun inside of a scheduler's allocation sets the first of them for its own processes. `needs`: a
 * variable without which the rank is not one of a task; batch scripts of Slurm have a SLURM_PROCID too. */
static const struct {
    const char *launcher, *rank, *needs, *sizes[2], *jobs[2];
} launchers[] = {
    {"openmpi", "OMPI_COMM_WORLD_RANK", NULL, {"OMPI_COMM_WORLD_SIZE"}, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"pmi", "PMI_RANK", NULL, {"PMI_SIZE"}, {"PMI_JOBID", "SLURM_JOB_ID"}},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_ID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_JOB_ID"}},
    {"pmix", "PMIX_RANK", NULL, {"PMIX_SIZE"}, {"PMIX_NAMESPACE"}},
};

static bool number_of(const char *text, uint32_t most, uint32_t *number)
{
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return false;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value > most)
        return false;
    *number = (uint32_t)value;
    return true;
}

void job_rank_find(struct job_rank *rank, char *(*get)(const char *name))
{
    const uint32_t most = 100000000;
    struct utsname name;
    *rank = (struct job_rank){.launcher = ""};
    snprintf(rank->host, sizeof rank->host, "%s", uname(&name) == 0 ? name.nodename : "");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (launchers[i].needs && !get(launchers[i].needs))
            continue;
        if (!number_of(get(launchers[i].rank), most, &rank->number))
            continue;
        rank->in_job = true;
        rank->launcher = launchers[i].launcher;
        for (unsigned j = 0; j < 2 && !rank->size; j++)
            if (launchers[i].sizes[j] && !number_of(get(launchers[i].sizes[j]), most, &rank->size))
                rank->size = 0;
        if (rank->size && rank->number >= rank->size) /* not a pair: one of them is of another launcher */
            rank->size = 0;
        for (unsigned j = 0; j < 2 && !*rank->job; j++) {
            const char *job = launchers[i].jobs[j] ? get(launchers[i].jobs[j]) : NULL;
            const char *step = job && strcmp(launchers[i].jobs[j], "SLURM_JOB_ID") == 0 ? get("SLURM_STEP_ID") : NULL;
            snprintf(rank->job, sizeof rank->job, "%s%s%s", job ? job : "", step ? "." : "", step ? step : "");
        }
        return;
    }
}

struct name {
    array_of(char) text;
};

static void put(struct name *name, const char *text)
{
    for (; *text; text++)
        array_push(&name->text, *text);
}

/* Of what others named: a part of a file's name, whatever is in it. */
static void put_safe(struct name *name, const char *text)
{
    bool first = true;
    for (; *text; text++, first = false) {
        bool plain = isalnum((unsigned char)*text) || strchr("-_", *text) || (*text == '.' && !first);
        array_push(&name->text, plain ? *text : '_');
    }
}

static void put_number(struct name *name, const char *format, uint32_t number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    put(name, text);
}

static void put_usual(struct name *name, const struct job_rank *rank)
{
    put(name, "numalens.");
    put_safe(name, *rank->job ? rank->job : "job");
    put_number(name, "/rank-%05u.", rank->number);
    put_safe(name, *rank->host ? rank->host : "host");
    put(name, ".data");
}

/* How often `letter` follows a % that is not itself after one. */
static bool has(const char *pattern, char letter)
{
    for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
        if (at[1] == letter)
            return true;
    return false;
}

static int check_pattern(const struct job_rank *rank, const char *pattern, struct error *err)
{
    if (!rank->in_job && (has(pattern, 'r') || has(pattern, 'j')))
        return error_set(
            err, -EINVAL,
            "-o %s: %%r and %%j are a job's rank and name, and the environment shows no job; start it with "
            "mpirun or srun, or write %%%% for a %%",
            pattern);
    if (has(pattern, 'j') && !*rank->job)
        return error_set(err, -EINVAL, "-o %s: the launcher does not name the job; leave %%j out", pattern);
    if (rank->in_job && rank->size != 1 && !has(pattern, 'r')) {
        const char *dot = strrchr(pattern, '.');
        size_t stem = dot && dot != pattern && !strchr(dot, '/') ? (size_t)(dot - pattern) : strlen(pattern);
        return error_set(err, -EINVAL,
                         "-o %s: the ranks of this job would all write this file; write -o %.*s.%%r%s, or leave -o out",
                         pattern, (int)stem, pattern, pattern + stem);
    }
    return 0;
}

char *job_rank_file(const struct job_rank *rank, const char *pattern, struct error *err)
{
    struct name name = {0};
    if (!pattern && !rank->in_job) {
        put(&name, "numalens.data");
    } else if (!pattern) {
        put_usual(&name, rank);
    } else if (check_pattern(rank, pattern, err) < 0) {
        return NULL;
    }
    for (const char *at = pattern; at && *at; at++) {
        char letter = *at == '%' ? at[1] : '\0';
        if (letter == 'r')
            put_number(&name, "%u", rank->number);
        else if (letter == 'h')
            put_safe(&name, *rank->host ? rank->host : "host");
        else if (letter == 'j')
            put_safe(&name, rank->job);
        else
            array_push(&name.text, *at);
        if (letter && strchr("rhj%", letter))
            at++;
    }
    array_push(&name.text, '\0');
    return name.text.items;
}

int job_rank_make_folder(const char *file, struct error *err)
{
    char *path = mem_strdup(file);
    int failed = 0;
    for (char *slash = strchr(path + 1, '/'); slash && !failed; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        /* Ranks make it at the same time: whoever comes second finds it there. */
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            failed = error_set(err, -errno, "cannot make the folder %s: %s", path, strerror(errno));
        *slash = '/';
    }
    free(path);
    return failed;
}
