/* capture/perf/perf_records.h - records of the kernel that are no samples, as they are in a ring whose events ask for
 * TID, TIME and CPU (sample_id_all). */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

struct task_record { /* FORK and EXIT */
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};

struct comm_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    char name[];
};

struct map_record { /* MMAP2 */
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t addr, size, offset;
    uint32_t device[2];
    uint64_t inode, generation;
    uint32_t prot, flags;
    char path[];
};

struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

enum { TRAILER_BYTES = 24 }; /* behind each of them: pid, tid; time; CPU */
