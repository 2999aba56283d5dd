/* trace/page_access.h - a page's use as an access, so that whatever works with samples works with pages.
 *
 * A page makes at most two accesses: one for its writes, one for its reads or for uses whose direction is not reported (which
 * is neither read nor write then). They have no latency and no size. */
#pragma once

#include "wire/event.h"

enum { PAGE_NO_CPU = UINT16_MAX };

/* The one CPU that is in the mask, or the first of several; PAGE_NO_CPU when none is known. */
static inline uint16_t page_cpu(const struct event_page *page)
{
    for (unsigned i = 0; i < page->cpu_words; i++) {
        if (page->cpus[i])
            return (uint16_t)(i * 64 + (unsigned)__builtin_ctzl(page->cpus[i]));
    }
    return PAGE_NO_CPU;
}

/* Fills `sample` but for its ordinal. False when the page has no access of that direction. */
static inline bool page_access(const struct event_page *page, bool write, struct event_sample *sample)
{
    if (write ? page->writes == 0 : page->reads == 0 && (page->unknown == 0 || page->writes))
        return false;
    *sample = (struct event_sample){.addr = page->page,
                                    .physical = page->physical,
                                    .cpu = page_cpu(page),
                                    .source = SOURCE_FAULTS,
                                    .flags = write         ? SAMPLE_WRITE
                                             : page->reads ? SAMPLE_READ
                                                           : 0};
    return true;
}
