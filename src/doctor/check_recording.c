/* doctor/check_recording.c - the proof: a small program is recorded with everything at its default. */
#include "doctor/trial.h"

#include "capture/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXERCISE_NS = 200 * 1000 * 1000 };

void doctor_exercise(void)
{
    enum { WORDS = 1 << 16 };
    volatile uint32_t *words = mem_zalloc(WORDS * sizeof *words);
    struct timespec now;
    do {
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] += words[WORDS - 1 - i];
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < EXERCISE_NS);
    free((void *)words);
}

static void judge(struct doctor *doctor, const struct recorder_result *result)
{
    const char *name = "trial recording", *id = "recording";
    if (result->write_failure.code)
        probe_add(doctor, "sources", id, name, DOCTOR_MISSING, "room in the folder for temporary files", "%s",
                  result->write_failure.text);
    else if (result->threads == 0)
        probe_add(doctor, "sources", id, name, DOCTOR_MISSING,
                  "is LD_PRELOAD filtered here? try: LD_PRELOAD=/path/to/libnumalens-agent.so /bin/true",
                  "the agent did not report from inside the program");
    else if (result->samples == 0)
        probe_add(doctor, "sources", id, name, DOCTOR_LIMITED, NULL,
                  "the agent sees allocations and threads, but no access was sampled");
    else
        probe_add(doctor, "sources", id, name, DOCTOR_WORKS, NULL,
                  "%" PRIu64 " accesses sampled in %" PRIu64 " ms of a small program's CPU time%s%s", result->samples,
                  result->target_cpu_ns / 1000000, *result->notes ? "; " : "", result->notes);
}

bool doctor_check_recording(struct doctor *doctor)
{
    const char *temporary = getenv("TMPDIR");
    char *folder = mem_format("%s/numalens-doctor-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        probe_add(doctor, "sources", "recording", "trial recording", DOCTOR_MISSING,
                  "set TMPDIR to a folder that can be written", "%s: %s", folder, strerror(errno));
        free(folder);
        return false;
    }
    /* This very program: it is here, dynamically linked, and for this processor. */
    char *output = mem_format("%s/trial.data", folder), self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *command[] = {self, "doctor", "--exercise", NULL};
    struct capture_options options = {
        .output = output,
        .command = command,
        .tick_ns = 1000000,
        .burst = 8,
        .budget_ppm = 900000, /* where signals are dear, less would leave no burst in so short a time */
        .max_frames = 16,
        .loads = true,
        .stores = true,
        .latency = true,
        .memory = 32 << 20,
        .topology = doctor->topology,
    };
    struct recorder_result result = {0};
    struct error err = {0};
    int failed = recorder_run(&options, &result, &err);
    if (failed)
        probe_add(doctor, "sources", "recording", "trial recording", DOCTOR_MISSING, NULL, "%s", err.text);
    else
        judge(doctor, &result);
    unlink(output);
    rmdir(folder);
    free(output);
    free(folder);
    return !failed && result.threads > 0 && result.write_failure.code == 0;
}
