/* isa/unwind/unwind_module.h - a piece of code that is mapped, and where its .eh_frame is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct unwind_module { /* one executable segment */
    uint64_t start, end;
    const uint8_t *index;      /* .eh_frame_hdr, NULL when there is none that can be searched */
    const uint8_t *index_rows; /* its sorted table */
    uint32_t index_count;
    bool is_vdso, is_readable; /* is_readable: the code may be looked at */
    const char *name;          /* of its file; the dynamic linker's memory, as long as it is loaded */
    uint64_t low, high;        /* FDEs are in here: the segment that holds .eh_frame */
};
