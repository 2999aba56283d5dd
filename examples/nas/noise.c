/* noise.c - a program that disturbs others, as the NomadicNoise of Lorenzo et al. does: its threads work on an array on
 * one node, free it after a while, and move on to the next node with CPUs. Ends when it is killed.
 *     --threads=1 --bytes=4194304 --period=100 (milliseconds) */
#include "../example.h"

#include <sched.h>
#include <time.h>

enum { MOST_NODES = 64, MOST_THREADS = 64 };

static cpu_set_t nodes[MOST_NODES];
static long node_count, thread_count, bytes, period;
static pthread_barrier_t barrier;
static volatile long *array;

/* "0-3,8" */
static bool read_cpus(const char *text, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    while (*text >= '0' && *text <= '9') {
        char *end;
        long first = strtol(text, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, cpus);
        text = *end == ',' ? end + 1 : end;
    }
    return CPU_COUNT(cpus) > 0;
}

static void find_nodes(void)
{
    for (int node = 0; node < MOST_NODES; node++) {
        char path[64], line[1024];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(line, sizeof line, file) && read_cpus(line, &nodes[node_count]))
            node_count++;
        fclose(file);
    }
    example_need(node_count > 0, "finding nodes in /sys");
}

static long now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *run(void *argument)
{
    long number = (long)(intptr_t)argument, words = bytes / (long)sizeof *array;
    for (long stay = 0;; stay++) {
        sched_setaffinity(0, sizeof *nodes, &nodes[stay % node_count]);
        if (number == 0)
            array = malloc((size_t)bytes);
        pthread_barrier_wait(&barrier);
        example_need(array != NULL, "malloc");
        for (long end = now_ms() + period; now_ms() < end;)
            for (long i = number; i < words; i += thread_count * 8)
                array[i] = stay;
        pthread_barrier_wait(&barrier);
        if (number == 0)
            free((void *)array);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    thread_count = example_option(argc, argv, "threads", 1);
    bytes = example_option(argc, argv, "bytes", 4 << 20);
    period = example_option(argc, argv, "period", 100);
    example_need(thread_count >= 1 && thread_count <= MOST_THREADS && bytes >= 4096, "--threads, --bytes");
    find_nodes();
    pthread_barrier_init(&barrier, NULL, (unsigned)thread_count);
    for (long i = 1; i < thread_count; i++)
        example_thread(run, (void *)(intptr_t)i);
    run(NULL);
    return 0;
}
