/* capture/count/uncore_families.c - what is counted where. Sources: the kernel's drivers (names, formats and scales in sysfs), its
 * tools/perf/pmu-events (AMD, Intel CHA), Documentation/admin-guide/perf (Alibaba), Huawei's libkperf (32 bytes a flux). */
#include "base/units.h"
#include "capture/count/uncore.h"

enum { LINE = CACHE_LINE, DF_CHANNELS = 8, DF2_CHANNELS = 12 };

/* Requests that reach the home agents of a socket, from its own cores and devices and from other sockets'. */
#define INTEL_LOCALITY                                                                                                 \
    {"uncore_cha_*", COUNT_LOCAL, "event=0x50,umask=0x05", LINE, true, 1},                                             \
        {"uncore_cha_*", COUNT_REMOTE, "event=0x50,umask=0x0a", LINE, true, 1},                                        \
        {"uncore_ha_*", COUNT_LOCAL, "event=0x01,umask=0x05", LINE, true, 1},                                          \
    {                                                                                                                  \
        "uncore_ha_*", COUNT_REMOTE, "event=0x01,umask=0x0a", LINE, true, 1                                            \
    }

const struct uncore_family uncore_families[] = {
    {.name = "Intel memory controllers",
     .scope = UNCORE_OF_PACKAGE,
     .device = "uncore_imc_0",
     .file = "events/cas_count_read",
     .events = {{"uncore_imc_[0-9]*", COUNT_READ, "cas_count_read", LINE, false, 1},
                {"uncore_imc_[0-9]*", COUNT_WRITE, "cas_count_write", LINE, false, 1},
                INTEL_LOCALITY}},
    {.name = "Intel memory controllers",
     .scope = UNCORE_OF_PACKAGE,
     .device = "uncore_imc_0",
     .file = "events/cas_count_read_sch0",
     .events = {{"uncore_imc_[0-9]*", COUNT_READ, "cas_count_read_sch0", LINE, false, 1},
                {"uncore_imc_[0-9]*", COUNT_READ, "cas_count_read_sch1", LINE, false, 1},
                {"uncore_imc_[0-9]*", COUNT_WRITE, "cas_count_write_sch0", LINE, false, 1},
                {"uncore_imc_[0-9]*", COUNT_WRITE, "cas_count_write_sch1", LINE, false, 1},
                {"uncore_cha_*", COUNT_LOCAL, "event=0x50,umask=0x05", LINE, true, 1},
                {"uncore_cha_*", COUNT_REMOTE, "event=0x50,umask=0x0a", LINE, true, 1}}},
    {.name = "Intel free-running memory counters",
     .scope = UNCORE_OF_PACKAGE,
     .events = {{"uncore_imc_free_running_[0-9]*", COUNT_READ, "read", LINE, false, 1},
                {"uncore_imc_free_running_[0-9]*", COUNT_WRITE, "write", LINE, false, 1},
                {"uncore_imc_free_running_[0-9]*", COUNT_READ, "data_read", LINE, false, 1},
                {"uncore_imc_free_running_[0-9]*", COUNT_WRITE, "data_write", LINE, false, 1},
                INTEL_LOCALITY}},
    {.name = "Intel client memory counters",
     .scope = UNCORE_OF_PACKAGE,
     .events = {{"uncore_imc", COUNT_READ, "data_reads", LINE, false, 1},
                {"uncore_imc", COUNT_WRITE, "data_writes", LINE, false, 1}}},
    /* Zen 4 and later, from Linux 6.9. The data fabric has 16 counters for 48 events: they are multiplexed. */
    {.name = "AMD memory controllers",
     .scope = UNCORE_OF_PACKAGE,
     .events = {{"amd_umc_[0-9]*", COUNT_READ, "event=0x0a,rdwrmask=0x1", LINE, false, 1},
                {"amd_umc_[0-9]*", COUNT_WRITE, "event=0x0a,rdwrmask=0x2", LINE, false, 1},
                {"amd_df", COUNT_LOCAL, "event=0x1f,umask=0x7fe", LINE, true, DF2_CHANNELS},
                {"amd_df", COUNT_LOCAL, "event=0x1f,umask=0x7ff", LINE, true, DF2_CHANNELS},
                {"amd_df", COUNT_REMOTE, "event=0x1f,umask=0xbfe", LINE, true, DF2_CHANNELS},
                {"amd_df", COUNT_REMOTE, "event=0x1f,umask=0xbff", LINE, true, DF2_CHANNELS}}},
    {.name = "AMD data fabric",
     .scope = UNCORE_OF_PACKAGE,
     .device = "amd_df",
     .file = "format/umask",
     .content = "config:8-15,24-27",
     .events = {{"amd_df", COUNT_READ, "event=0x1f,umask=0xffe", LINE, false, DF2_CHANNELS},
                {"amd_df", COUNT_WRITE, "event=0x1f,umask=0xfff", LINE, false, DF2_CHANNELS}}},
    /* Zen to Zen 3: reads and writes in one. */
    {.name = "AMD data fabric",
     .scope = UNCORE_OF_PACKAGE,
     .device = "amd_df",
     .file = "format/umask",
     .content = "config:8-15",
     .events = {{"amd_df", COUNT_TOTAL, "event=0x07,umask=0x38", LINE, false, DF_CHANNELS}}},
    {.name = "HiSilicon memory controllers",
     .scope = UNCORE_OF_NODE,
     .events = {{"hisi_sccl*_ddrc*", COUNT_READ, "flux_rd", 32, false, 1},
                {"hisi_sccl*_ddrc*", COUNT_WRITE, "flux_wr", 32, false, 1}}},
    {.name = "Alibaba memory controllers",
     .scope = UNCORE_OF_NODE,
     .events = {{"ali_drw_*", COUNT_READ, "hif_rd", LINE, false, 1},
                {"ali_drw_*", COUNT_WRITE, "hif_wr", LINE, false, 1},
                {"ali_drw_*", COUNT_WRITE, "hif_rmw", LINE, false, 1}}},
    /* i.MX8M Plus counts bytes of all masters when no bit of the AXI id matters; others bursts of unknown length. */
    {.name = "i.MX memory controllers",
     .scope = UNCORE_OF_NODE,
     .device = "imx8_ddr0",
     .file = "caps/enhanced_filter",
     .content = "1",
     .events = {{"imx8_ddr[0-9]*", COUNT_READ, "event=0x41,axi_mask=0xffff", 1, false, 1},
                {"imx8_ddr[0-9]*", COUNT_WRITE, "event=0x42,axi_mask=0xffff", 1, false, 1}}},
    {.name = "i.MX memory controllers",
     .scope = UNCORE_OF_NODE,
     .events = {{"imx*_ddr[0-9]*", COUNT_READ, "read-cycles", 0, false, 1},
                {"imx*_ddr[0-9]*", COUNT_WRITE, "write-cycles", 0, false, 1}}},
    {.name = "Arm mesh (requests to memory)",
     .scope = UNCORE_OF_PACKAGE,
     .events = {{"arm_cmn_[0-9]*", COUNT_TOTAL, "hnf_mc_reqs", 0, false, 1}}},
    {.name = "Arm clusters (accesses to the bus)",
     .scope = UNCORE_OF_NODE,
     .side = COUNT_AT_CPUS,
     .events = {{"arm_dsu_[0-9]*", COUNT_TOTAL, "bus_access", 0, false, 1}}},
    {0},
};
