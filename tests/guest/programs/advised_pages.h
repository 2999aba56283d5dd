/* advised_pages.h - for the programs of test_advice.py: what of the pages that threads use is far from them. Counts of processes that
 * one has forked are together. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
enum { NODES = 4, PAGE = 4096, LINE = 64, PAGES = 64, BYTES = NODES * PAGES * PAGE };

void on_node(int node);
void use(const void *from, size_t bytes); /* each page of it, and counts from where; by the thread that calls it */
void count_pages(unsigned pages, unsigned far); /* or lines, as counted by the caller */
void show_used(const char *name); /* "NAME FAR MOST": in percent of them, far, and on one node; then begins again */
void *fresh(void);                /* BYTES and a page more, which nobody has touched */
#ifdef __cplusplus
}
#endif
