/* capture/faults/huge.h - which pages are parts of transparent huge pages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a transparent huge page; 0 when this kernel has none. */
uint64_t huge_page_bytes(void);

/* Which of these pages (ascending addresses) are part of huge pages of `bytes` bytes. False when the kernel cannot say
 * (before 6.7): then `huge` is what can be guessed from smaps: mappings that consist of huge pages only. */
bool huge_find(uint32_t pid, uint64_t bytes, const uint64_t *pages, size_t count, bool *huge);
