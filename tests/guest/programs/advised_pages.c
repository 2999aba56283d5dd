/* advised_pages.c - advised_pages.h. */
#include "advised_pages.h"

#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct tally {
    unsigned pages, far, homes[NODES];
};

static struct tally *tally(void)
{
    static struct tally *all;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!all)
        all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_unlock(&lock);
    return all;
}

void on_node(int node)
{
    if (numa_run_on_node(node % NODES) != 0)
        exit(3);
}

void count_pages(unsigned pages, unsigned far)
{
    __atomic_fetch_add(&tally()->pages, pages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tally()->far, far, __ATOMIC_RELAXED);
}

void use(const void *from, size_t bytes)
{
    int user = numa_node_of_cpu(sched_getcpu());
    for (uintptr_t at = (uintptr_t)from & ~(uintptr_t)(PAGE - 1); at < (uintptr_t)from + bytes; at += PAGE) {
        void *page = (void *)at;
        int home = -1;
        (void)*(const volatile char *)(at < (uintptr_t)from ? from : page);
        if (move_pages(0, 1, &page, NULL, &home, 0) != 0 || home < 0 || home >= NODES)
            exit(3);
        count_pages(1, home != user);
        __atomic_fetch_add(&tally()->homes[home], 1, __ATOMIC_RELAXED);
    }
}

void show_used(const char *name)
{
    unsigned most = 0;
    for (int i = 0; i < NODES; i++)
        most = tally()->homes[i] > most ? tally()->homes[i] : most;
    printf("%s %u %u\n", name, 100 * tally()->far / tally()->pages, 100 * most / tally()->pages);
    fflush(stdout);
    memset(tally(), 0, sizeof *tally());
}

void *fresh(void)
{
    return mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
