#include "capture/agent/region_make.h"
#include "capture/agent/signal_cost.h"

#include "base/clock.h"
#include "capture/agent/counter.h"
#include "capture/faults/mechanism.h"
#include "capture/process/procfs.h"
#include "topology/placement.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_BYTES = 128 << 10, FEWEST_RINGS = 16, MOST_RINGS = 4096 };

/* Only the thread itself can move in time: the home node of what it touches first is where it runs then. */
static void configure_assign(struct wire_config *config, const struct placement *placement)
{
    _Static_assert(sizeof config->assign_cpus == sizeof placement->assign, "sets of CPUs");
    config->assign_nodes = placement->assigned;
    for (uint32_t i = 0; i < placement->assigned; i++)
        memcpy(config->assign_cpus[i], placement->assign[i].words, sizeof config->assign_cpus[i]);
}

static void configure(struct wire_config *config, const struct capture_options *options, bool perf_tick)
{
    bool sampling = options->samples == SAMPLES_AUTO || options->samples == SAMPLES_SOFT;
    config->flags = options->output ? WIRE_TRACK_HEAP : 0;
    if (sampling && options->loads)
        config->flags |= WIRE_SAMPLE_LOADS;
    if (sampling && options->stores)
        config->flags |= WIRE_SAMPLE_STORES;
    if (options->latency)
        config->flags |= WIRE_MEASURE_LATENCY;
    if (sampling && options->traffic && options->output)
        config->flags |= WIRE_LONG_BURSTS;
    if (options->follow)
        config->flags |= WIRE_FOLLOW_CHILDREN;
    if (!perf_tick)
        config->flags |= WIRE_TICK_TIMER_ONLY;
    if (options->faults && (options->mechanism == MECHANISM_UFFD_WP || options->write_protect))
        config->flags |= WIRE_SHARE_USERFAULT;
    config->filters = mechanism_filters();
    config->pid_namespace = procfs_pid_namespace();
    if (options->placement)
        configure_assign(config, options->placement);
    config->burst = options->burst;
    config->tick_ns = options->tick_ns;
    config->latency_threshold = options->latency_threshold;
    config->budget_ppm = options->budget_ppm;
    config->signal_ns = sampling ? signal_cost_ns(perf_tick) : 0;
    config->max_frames = options->max_frames;
    if (counter_trusted()) {
        config->flags |= WIRE_COUNTER_IS_CPU;
        config->ticks_per_us = counter_ticks_per_us();
    }
}

/* Memory is a file to the kernel, and a limit on the size of files (ulimit -f) is not meant for it. */
static int set_size(int fd, size_t bytes)
{
    struct rlimit old, wide;
    bool limited = getrlimit(RLIMIT_FSIZE, &old) == 0 && old.rlim_cur < bytes;
    if (limited) {
        wide = (struct rlimit){old.rlim_max, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &wide);
    }
    int result = ftruncate(fd, (off_t)bytes), cause = errno;
    if (limited)
        setrlimit(RLIMIT_FSIZE, &old);
    errno = cause;
    return result;
}

int capture_region_make(struct capture_region *region, const struct capture_options *options, bool perf_tick,
                        struct error *err)
{
    *region = (struct capture_region){.fd = -1};
    uint32_t rings = (uint32_t)(options->memory / 8 * 5 / RING_BYTES);
    rings = rings < FEWEST_RINGS ? FEWEST_RINGS : rings > MOST_RINGS ? MOST_RINGS : rings;
    size_t custom = options->custom_count * sizeof(struct wire_custom);
    size_t rings_offset = (sizeof(struct wire_region) + custom + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE;
    size_t headers = (rings * sizeof(struct wire_ring) + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE;
    region->bytes = rings_offset + headers + (size_t)rings * RING_BYTES;

    region->fd = memfd_create("numalens", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (region->fd < 0 || set_size(region->fd, region->bytes) < 0)
        goto fail;
    /* The target may write into it, but must not be able to pull it from under us. */
    fcntl(region->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void *map = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd, 0);
    if (map == MAP_FAILED)
        goto fail;
    region->map = map;
    struct wire_region *header = map;
    if (getrandom(&header->nonce, sizeof header->nonce, 0) != sizeof header->nonce)
        goto fail;
    region->ring_count = rings;
    region->ring_bytes = RING_BYTES;
    region->rings_offset = rings_offset;
    region->data_offset = rings_offset + headers;
    header->magic = WIRE_MAGIC;
    header->version = WIRE_VERSION;
    header->header_bytes = sizeof *header;
    header->region_bytes = region->bytes;
    header->ring_count = region->ring_count;
    header->ring_bytes = region->ring_bytes;
    header->rings_offset = region->rings_offset;
    header->data_offset = region->data_offset;
    configure(&header->config, options, perf_tick);
    region->ticks_per_us = header->config.flags & WIRE_COUNTER_IS_CPU ? header->config.ticks_per_us : 0;
    header->config.custom_count = options->custom_count;
    if (custom)
        memcpy(wire_custom_at(header, 0), options->custom, custom);
    atomic_store(&header->heartbeat_ns, clock_now_ns());
    atomic_store(&header->recording, 1);
    snprintf(region->environment, sizeof region->environment, "%s=%d:%d:%" PRIu64 ":%u", WIRE_ENVIRONMENT,
             (int)getpid(), region->fd, header->nonce, header->config.filters);
    return 0;
fail:
    error_set(err, -errno, "cannot make the shared memory for the recording (%zu MiB): %s%s", region->bytes >> 20,
              strerror(errno),
              errno == EFBIG ? " (the limit for file sizes: ulimit -f unlimited, or --memory less)" : "");
    capture_region_free(region);
    return err ? err->code : -ENOMEM;
}

void capture_region_hardware(struct capture_region *region)
{
    region->map->config.flags &= ~(uint32_t)(WIRE_SAMPLE_LOADS | WIRE_SAMPLE_STORES);
}

void capture_region_free(struct capture_region *region)
{
    if (region->map) {
        atomic_store(&region->map->recording, 0);
        munmap(region->map, region->bytes);
    }
    if (region->fd >= 0)
        close(region->fd);
    *region = (struct capture_region){.fd = -1};
}

void capture_region_wake(struct wire_region *map)
{
    atomic_fetch_add(&map->wake_word, 1);
    int saved = errno;
    syscall(SYS_futex, &map->wake_word, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = saved;
}

struct wire_ring *capture_region_ring(const struct capture_region *region, uint32_t index)
{
    return (struct wire_ring *)(void *)((char *)region->map + region->rings_offset) + index;
}

uint8_t *capture_region_ring_data(const struct capture_region *region, uint32_t index)
{
    return (uint8_t *)region->map + region->data_offset + (size_t)index * region->ring_bytes;
}

void capture_region_drop_ring(const struct capture_region *region, uint32_t index)
{
    off_t offset = (off_t)(region->data_offset + (size_t)index * region->ring_bytes);
    fallocate(region->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, region->ring_bytes);
}
