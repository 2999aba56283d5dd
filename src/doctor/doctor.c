#include "doctor/doctor.h"

#include "base/small_file.h"
#include "doctor/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static char *describe_machine(void)
{
    struct utsname name;
    if (uname(&name) != 0)
        return mem_strdup("unknown system");
    char *model = small_file_field("/proc/cpuinfo", "model name"); /* Arm reports numbers only */
    char *text =
        mem_format("%s %s on %s%s%s", name.sysname, name.release, name.machine, model ? ", " : "", model ? model : "");
    free(model);
    return text;
}

/* The check of that id, or NULL. */
static const struct doctor_check *doctor_find(const struct doctor *doctor, const char *id)
{
    array_each (&doctor->checks, struct doctor_check, check)
        if (strcmp(check->id, id) == 0)
            return check;
    return NULL;
}

static bool works(const struct doctor *doctor, const char *id)
{
    const struct doctor_check *check = doctor_find(doctor, id);
    return check && check->status == DOCTOR_WORKS;
}

static char *conclude(const struct doctor *doctor)
{
    const struct doctor_check *recording = doctor_find(doctor, "recording");
    if (!doctor->can_record)
        return mem_format("numalens record cannot work here: %s", recording ? recording->detail : "nothing was tested");
    const char *sampler = recording->status != DOCTOR_WORKS ? "allocations only, no samples"
                          : works(doctor, "pmu")            ? "hardware samples (memory PMU)"
                          : works(doctor, "tick_perf")      ? "soft sampler with perf ticks"
                                                            : "soft sampler with timer ticks";
    return mem_format("numalens record works here: %s; first touch from %s; home nodes %s", sampler,
                      works(doctor, "faults") ? "page faults" : "samples",
                      works(doctor, "homes") ? "from the kernel" : "not known");
}

struct doctor *doctor_examine(void)
{
    struct doctor *doctor = mem_zalloc(sizeof *doctor);
    struct error err = {0};
    doctor->machine = describe_machine();
    doctor->topology = topology_load(&err);
    if (!doctor->topology)
        doctor->topology_trouble = mem_strdup(err.text);
    doctor->can_record = doctor_check_recording(doctor);
    doctor_check_sources(doctor);
    doctor_check_homes(doctor);
    doctor_check_mechanisms(doctor);
    doctor_check_permissions(doctor);
    doctor->answer = conclude(doctor);
    return doctor;
}

void doctor_free(struct doctor *doctor)
{
    if (!doctor)
        return;
    array_each (&doctor->checks, struct doctor_check, check) {
        free(check->detail);
        free(check->remedy);
    }
    array_free(&doctor->checks);
    topology_free(doctor->topology);
    free(doctor->topology_trouble);
    free(doctor->machine);
    free(doctor->answer);
    free(doctor);
}
