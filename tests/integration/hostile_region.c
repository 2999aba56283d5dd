/* A target that attacks its recorder: finds the shared region as the agent does (NUMALENS_REGION names it), or where
 * the agent has mapped it, and writes into it. What writes everywhere has no agent: only the recorder can suffer.
 *
 *   hostile_region PASSES        random words everywhere, and rings that look as if someone had claimed them
 *   hostile_region list          pointers of its own where a mutex would have its links, if recorder_tid were one
 *   hostile_region nest          one ring for each of many made-up processes, each the parent of the next
 *   hostile_region resize        cuts the region, makes it longer, and punches holes into all of it
 *   hostile_region offer:PID:FD  offers the userfaultfd FD of process PID (0:0: one of its own) and prints whether the
 *                                recorder has it then
 *   hostile_region plan          likewise the plan that `apply` follows (NUMALENS_PLAN): its size, and any bytes in it
 *   hostile_region victim        no target: makes a userfaultfd, prints PID:FD and waits until its input ends */
#include "wire/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIST_OFFSET = 24 }; /* of the links in a pthread_mutex_t */

static uint64_t state = 88172645463325252u;

static uint64_t random_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int open_region(const char *name)
{
    int pid, fd;
    char path[64];
    if (!name || sscanf(name, "%d:%d:", &pid, &fd) != 2)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    return open(path, O_RDWR);
}

static struct wire_region *map_region(const char *name, size_t *bytes)
{
    int file = open_region(name);
    *bytes = file < 0 ? 0 : (size_t)lseek(file, 0, SEEK_END);
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* The agent's own mapping, in this very process. */
static struct wire_region *mapped_region(void)
{
    char line[4096];
    unsigned long start = 0, offset = 1;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:numalens") && sscanf(line, "%lx-%*x rw-s %lx", &start, &offset) == 2 && offset == 0)
            break;
    if (maps)
        fclose(maps);
    return offset == 0 ? (struct wire_region *)start : NULL;
}

/* A ring of somebody: the next bytes of it look like records. */
static void claim(struct wire_ring *ring, uint8_t *data, uint32_t bytes)
{
    uint64_t head = random_word() % 3 ? random_word() % bytes & ~(uint64_t)7 : random_word();
    for (uint32_t at = 0; at + 8 <= 4096; at += 8 * (1 + (uint32_t)(random_word() % 8))) {
        struct wire_head record = {.type = (uint8_t)(random_word() % (WIRE_TYPES + 1)),
                                   .words = (uint8_t)random_word()};
        record.value = (uint32_t)random_word();
        memcpy(data + at, &record, sizeof record);
    }
    ring->pid = random_word() % 2 ? (uint32_t)getpid() : (uint32_t)random_word();
    ring->tid = (uint32_t)random_word();
    ring->local_tid = random_word() % 4 ? 0 : (uint32_t)random_word();
    atomic_store(&ring->image, (uint32_t)random_word() % 8);
    atomic_store(&ring->tail, random_word());
    atomic_store(&ring->head, head);
    atomic_store(&ring->state, (uint32_t)(random_word() % 4));
}

static void scribble(struct wire_region *region, size_t bytes, unsigned long passes)
{
    uint32_t rings = region->ring_count, ring_bytes = region->ring_bytes;
    struct wire_ring *ring = wire_ring_at(region, 0);
    uint8_t *data = wire_ring_data(region, 0);
    for (unsigned long pass = 0; pass < passes; pass++) {
        for (unsigned i = 0; i < 2000; i++) {
            uint32_t index = (uint32_t)(random_word() % rings);
            claim(&ring[index], data + (size_t)index * ring_bytes, ring_bytes);
        }
        for (unsigned i = 0; i < 2000; i++)
            ((uint64_t *)region)[random_word() % (sizeof *region / 8)] = random_word();
        for (unsigned i = 0; i < 2000; i++)
            ((uint64_t *)region)[random_word() % (bytes / 8)] = random_word();
        usleep(1000); /* the recorder looks */
    }
}

static void list(struct wire_region *region)
{
    static const uint64_t pointers[2] = {0x4141414141414140u, 0x4141414141414140u};
    memcpy((char *)&region->recorder_tid + LIST_OFFSET, pointers, sizeof pointers);
}

static void nest(struct wire_region *region)
{
    for (uint32_t i = 0; i < region->ring_count; i++) {
        struct wire_ring *ring = wire_ring_at(region, i);
        struct wire_process *record = (struct wire_process *)wire_ring_data(region, i);
        uint32_t words = sizeof *record / 8 + 2;
        *record =
            (struct wire_process){.head = {.type = WIRE_PROCESS, .words = (uint8_t)words}, .time = 1, .forked = 1};
        record->head.value = 1000000 + i - 1; /* its parent, whose ring is read after this one */
        ring->pid = ring->tid = 1000000 + i;
        atomic_store(&ring->image, i + 1);
        atomic_store(&ring->head, words * 8);
    }
    for (uint32_t i = 0; i < region->ring_count; i++)
        atomic_store(&wire_ring_at(region, i)->state, WIRE_RING_CLAIMED);
    usleep(300000); /* some passes of the recorder */
}

static int make_userfault(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = WIRE_UFFD_FEATURES};
    int fd = (int)syscall(SYS_userfaultfd, WIRE_UFFD_FLAGS);
    return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 ? fd : -1;
}

/* Whether the recorder has the very file that is descriptor `fd` of `pid`. */
static bool recorder_has(pid_t pid, int fd)
{
    char path[64];
    int recorder = atoi(getenv("REGION"));
    bool has = false;
    snprintf(path, sizeof path, "/proc/%d/fd", recorder);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        has |= syscall(SYS_kcmp, recorder, pid, KCMP_FILE, atoi(entry->d_name), fd) == 0;
    if (folder)
        closedir(folder);
    return has;
}

static void offer(struct wire_region *region, const char *what)
{
    int pid = 0, fd = 0;
    sscanf(what, "%d:%d", &pid, &fd);
    if (!pid) {
        pid = getpid();
        fd = make_userfault();
    }
    atomic_store(&region->offer, (uint64_t)pid << 32 | (uint32_t)(fd + 1));
    while (atomic_load(&region->offer))
        usleep(1000);
    puts(recorder_has(pid, fd) ? "taken" : "not taken");
}

/* Without the agent, which follows it. */
static int spoil_plan(char *const *words)
{
    if (getenv("LD_PRELOAD")) {
        unsetenv("LD_PRELOAD");
        execv("/proc/self/exe", words);
        return 9;
    }
    const char *path = getenv("NUMALENS_PLAN");
    int file = path ? open(path, O_RDWR) : -1;
    off_t bytes = lseek(file, 0, SEEK_END);
    if (ftruncate(file, 0) == 0)
        return puts("its size can be changed") < 0;
    void *plan = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (plan == MAP_FAILED)
        return 7;
    memset(plan, 0xff, (size_t)bytes);
    puts("done");
    return 0;
}

/* A hole reads as zeros: no record has that type. */
static void resize(size_t bytes)
{
    enum { HOLES = 200 };
    int file = open_region(getenv("REGION"));
    const off_t sizes[] = {0, (off_t)(bytes / 2), (off_t)(bytes * 2)};
    for (unsigned i = 0; i < 3; i++)
        if (ftruncate(file, sizes[i]) == 0 || errno != EPERM)
            puts("its size can be changed");
    for (unsigned i = 0; i < HOLES; i++) {
        if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0)
            puts("no hole");
        usleep(1000);
    }
}

static int victim(void)
{
    printf("%d:%d\n", getpid(), make_userfault());
    fflush(stdout);
    return getchar() != EOF;
}

int main(int argc, char **argv)
{
    size_t bytes = 0;
    if (argc == 2 && !strcmp(argv[1], "victim"))
        return victim();
    if (argc == 2 && !strcmp(argv[1], "plan"))
        return spoil_plan(argv);
    const char *name = getenv("NUMALENS_REGION");
    if (argc == 2 && name && strcmp(argv[1], "list") != 0) {
        /* Once more without the agent, and with the region's name under another. */
        setenv("REGION", name, 1);
        unsetenv("NUMALENS_REGION");
        unsetenv("LD_PRELOAD");
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], argv[1], (char *)NULL);
            _exit(9);
        }
        int status;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
    }
    struct wire_region *region = argc != 2 ? NULL : name ? mapped_region() : map_region(getenv("REGION"), &bytes);
    if (!region) {
        fprintf(stderr, "hostile_region: no region\n");
        return 7;
    }
    if (!strcmp(argv[1], "list"))
        list(region);
    else if (!strncmp(argv[1], "offer:", 6))
        offer(region, argv[1] + 6);
    else if (!strcmp(argv[1], "nest"))
        nest(region);
    else if (!strcmp(argv[1], "resize"))
        resize(bytes);
    else
        scribble(region, bytes, strtoul(argv[1], NULL, 10));
    puts("done");
    return 0;
}
