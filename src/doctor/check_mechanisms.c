/* doctor/check_mechanisms.c - what makes pages fault again (docs/pages.md), each tried on memory of our own; and what moves them. */
#include "base/small_file.h"
#include "doctor/trial.h"

#include "capture/faults/mechanism.h"

#define GROUP "mechanisms"

static void check_numa_balancing(struct doctor *doctor)
{
    long mode = small_file_number(-1, "/proc/sys/kernel/numa_balancing");
    if (mode < 0)
        probe_add(doctor, GROUP, "numa_balancing", "NUMA balancing", DOCTOR_MISSING,
                  "a kernel with CONFIG_NUMA_BALANCING", "not in this kernel");
    else
        probe_add(doctor, GROUP, "numa_balancing", "NUMA balancing", DOCTOR_FACT,
                  mode ? NULL : "sudo sysctl kernel.numa_balancing=1",
                  mode ? "on: the kernel moves pages by itself while a program runs"
                       : "off: pages stay where they are");
}

void doctor_check_mechanisms(struct doctor *doctor)
{
    static const struct {
        enum fault_mechanism mechanism;
        const char *id, *remedy;
    } mechanisms[] = {
        {MECHANISM_NUMA_HINT, "numa_hint", "root, with debugfs and a kernel with CONFIG_NUMA_BALANCING"},
        {MECHANISM_UFFD_WP, "uffd_wp", "Linux 6.7 or newer with CONFIG_USERFAULTFD"},
        {MECHANISM_SOFT_DIRTY, "soft_dirty_faults", "a kernel with CONFIG_MEM_SOFT_DIRTY (on x86-64; Arm has none)"},
    };
    for (unsigned i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
        struct error why = {0}, caution = {0};
        const char *name = mechanism_name(mechanisms[i].mechanism);
        if (!mechanism_works(mechanisms[i].mechanism, &why))
            probe_add(doctor, GROUP, mechanisms[i].id, name, DOCTOR_MISSING, mechanisms[i].remedy, "%s", why.text);
        else if (doctor->topology && !mechanism_unharmful(mechanisms[i].mechanism, doctor->topology, &caution))
            probe_add(doctor, GROUP, mechanisms[i].id, name, DOCTOR_LIMITED, NULL, "%s; but %s",
                      mechanism_sees(mechanisms[i].mechanism), caution.text);
        else
            probe_add(doctor, GROUP, mechanisms[i].id, name, DOCTOR_WORKS, NULL, "%s",
                      mechanism_sees(mechanisms[i].mechanism));
    }
    check_numa_balancing(doctor);
}
