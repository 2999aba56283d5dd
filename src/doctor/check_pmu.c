/* doctor/check_pmu.c - hardware that samples memory accesses by itself: Intel PEBS, AMD IBS, Arm SPE. What `record` would take is
 * chosen and made to report an access. */
#include "capture/hardware/hw_source.h"
#include "doctor/trial.h"

#include <errno.h>

static struct probe_result try_open(void *argument)
{
    return (struct probe_result){.error = -hw_source_try(argument, NULL)};
}

void doctor_check_pmu(struct doctor *doctor)
{
    static const char group[] = "sources", id[] = "pmu", name[] = "memory PMU";
    struct pmu_choice choice;
    char cpuid[64];
    pmu_cpuid(cpuid, sizeof cpuid);
    if (pmu_choose(&choice, "/sys", cpuid, PMU_ANY, &(struct pmu_request){true, true, .frequency = 1000}, NULL) < 0) {
        probe_add(doctor, group, id, name, DOCTOR_MISSING,
                  "bare metal, or a kind of virtual machine that passes its PMU on; record uses the soft sampler",
                  "no PMU: no PEBS, IBS or SPE; the CPU lacks it or the hypervisor hides it");
        return;
    }
    struct probe_result opened = probe_in_child(try_open, &choice);
    if (opened.error == 0)
        probe_add(doctor, group, id, name, DOCTOR_WORKS, NULL, "%s", choice.how);
    else if (opened.error == EACCES || opened.error == EPERM || opened.error == ENOSYS)
        probe_add_perf_refusal(doctor, group, id, name, opened.error);
    else if (opened.error == ENODATA)
        probe_add(doctor, group, id, name, DOCTOR_MISSING, "record uses the soft sampler",
                  "%s can be opened, but reported no access", choice.how);
    else
        probe_add(doctor, group, id, name, DOCTOR_MISSING,
                  "a kernel that knows this processor; record uses the soft sampler", "%s cannot be opened: %s",
                  choice.how, probe_error_text(opened.error));
}
