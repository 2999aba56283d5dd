/* traffic_kernels KERNEL MIB SECONDS [THREADS] - loops whose bytes from memory are known: prints for each array what the lines
 * that the loop asked memory for add up to, for tests/integration/test_traffic.py.
 *
 * Arrays a, b, c of MIB each; each thread has its own. A line of output: array, lines read, lines written; then the
 * CPU time of the loops. What filling them takes is not counted: it is to be short beside the loops. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { LINE = 64, STRIDE = 8 * LINE, ROW = 512, PITCH = 8192, STRIP = 64 };

struct work {
    double *a, *b, *c;
    uint32_t *index;
    size_t count, at; /* elements of each; where in them */
    const char *kernel;
    double seconds, took;
    double lines[3][2]; /* of a, b, c: read, written */
    double sum;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A macro: each use is a site of its own. Populated, so that no page faults in the loops. */
#define PAGES(bytes) mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)

#define KERNEL __attribute__((noinline, noclone, optimize("no-tree-loop-distribute-patterns")))

KERNEL static void triad(double *a, const double *b, const double *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3 * c[i];
}

#define TWICE(table, i)   (table)[i] += 1, (table)[(i) + 1] += 1
#define EIGHT(table, i)   TWICE(table, i), TWICE(table, (i) + 2), TWICE(table, (i) + 4), TWICE(table, (i) + 6)
#define TWENTY4(table, i) EIGHT(table, i), EIGHT(table, (i) + 8), EIGHT(table, (i) + 16)

/* An iteration of the loop has 97 accesses, of which one is of the array: more than a burst. */
KERNEL static double wide(const double *a, size_t n)
{
    volatile double table[48] = {0};
    double all = 0;
    for (size_t i = 0; i < n; i += LINE / sizeof *a) {
        all += a[i];
        TWENTY4(table, 0);
        TWENTY4(table, 24);
    }
    return all + table[0];
}

/* Gives its CPU away after each part, as threads do that wait for one another. */
static void rests(double *a, const double *b, const double *c, size_t n)
{
    const size_t part = 1 << 17;
    for (size_t i = 0; i + part <= n; i += part) {
        triad(a + i, b + i, c + i, part);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

KERNEL static void copy(double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i];
}

KERNEL static void add(double *a, const double *b, const double *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + c[i];
}

/* A strip of a matrix: a part of each row, one row after the other. */
KERNEL static double strip(const double *a, size_t n, size_t from)
{
    double sum = 0;
    for (size_t row = 0; row + PITCH <= n; row += PITCH)
        for (size_t i = 0; i < STRIP; i++)
            sum += a[row + from + i];
    return sum;
}

KERNEL static double sum(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

/* Between two calls of malloc or free there are fewer accesses than bursts let pass. */
KERNEL static double churn(const double *a, size_t n)
{
    const size_t lines = 16, doubles = LINE / sizeof *a;
    double all = 0;
    for (size_t i = 0; i + lines * doubles <= n; i += lines * doubles) {
        volatile double *own = malloc(sizeof *own);
        *own = 0;
        for (size_t k = 0; k < lines; k++)
            all += a[i + k * doubles];
        free((void *)(uintptr_t)own);
    }
    return all;
}

KERNEL static double reversed(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = n; i-- > 0;)
        sum += a[i];
    return sum;
}

KERNEL static double strided(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i += STRIDE / sizeof *a)
        sum += a[i];
    return sum;
}

KERNEL static void stencil(double *a, const double *b, size_t n)
{
    for (size_t i = 1; i < n - 1; i++)
        a[i] = (b[i - 1] + b[i] + b[i + 1]) / 3;
}

KERNEL static double gather(const double *a, const uint32_t *index, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[index[i]];
    return sum;
}

KERNEL static size_t chase(const uint64_t *a, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at = a[at];
    return at;
}

/* Row by row, a loop for each, of which `used` of `pitch` elements. */
KERNEL static void rows(double *a, const double *b, size_t n, size_t used, size_t pitch)
{
    for (size_t row = 0; row + pitch <= n; row += pitch)
        for (size_t i = row; i < row + used; i++)
            a[i] = b[i] + 1;
}

KERNEL static void nontemporal(double *a, size_t n)
{
#if defined(__x86_64__)
    __m128d value = _mm_set1_pd(1);
    for (size_t i = 0; i < n; i += 2)
        _mm_stream_pd(a + i, value);
    _mm_sfence();
#else
    for (size_t i = 0; i < n; i += 2)
        __asm__ volatile("stnp %d1, %d1, [%0]" ::"r"(a + i), "w"(1.0) : "memory");
#endif
}

/* b three times as fast as c */
KERNEL static double mixed(const double *b, const double *c, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n / 3; i++)
        sum += b[3 * i] + b[3 * i + 1] + b[3 * i + 2] + c[i];
    return sum;
}

/* One cycle through the first element of every line, in an order that no prefetcher guesses: a congruential generator of full
 * period. The number of lines is a power of two. */
static void make_chain(uint64_t *a, size_t lines)
{
    const size_t step = LINE / sizeof *a;
    for (size_t i = 0; i < lines; i++)
        a[i * step] = (i * 2862933555777941757u + 3037000493u) % lines * step;
}

static void make_index(struct work *work)
{
    size_t at = 0;
    work->index = PAGES(work->count * sizeof *work->index); /* site: index */
    for (size_t i = 0; i < work->count; i++) {
        at = (at * 2862933555777941757u + 3037000493u) % work->count;
        work->index[i] = (uint32_t)at;
    }
}

/* Writes to the first quarter of an array that nobody has touched, again and again: what is there of the rest afterwards is none of
 * the program's. */
static void edge(struct work *work)
{
    enum { PAGE = 4096 };
    size_t bytes = work->count * sizeof *work->a, beyond = 0;
    double began = cpu_seconds();
    while (cpu_seconds() - began < work->seconds) {
        double *a = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        unsigned char *in = malloc(bytes / PAGE);
        if (a == MAP_FAILED || !in || madvise(a, bytes, MADV_NOHUGEPAGE) != 0)
            abort();
        for (unsigned turn = 0; turn < 64; turn++)
            copy(a, work->b, work->count / 4);
        mincore(a, bytes, in);
        for (size_t page = bytes / 4 / PAGE; page < bytes / PAGE; page++)
            beyond += in[page] & 1;
        free(in);
        munmap(a, bytes);
    }
    printf("beyond %zu\n", beyond);
}

static void count(struct work *work, unsigned array, double reads, double writes)
{
    work->lines[array][0] += reads;
    work->lines[array][1] += writes;
}

static void pass(struct work *work)
{
    size_t n = work->count;
    double lines = (double)(n * sizeof *work->a) / LINE;
    const char *kernel = work->kernel;
    if (strcmp(kernel, "triad") == 0) {
        triad(work->a, work->b, work->c, n);
        count(work, 0, lines, lines), count(work, 1, lines, 0), count(work, 2, lines, 0);
    } else if (strcmp(kernel, "rests") == 0) {
        rests(work->a, work->b, work->c, n);
        count(work, 0, lines, lines), count(work, 1, lines, 0), count(work, 2, lines, 0);
    } else if (strcmp(kernel, "wide") == 0) {
        work->sum += wide(work->a, n);
        count(work, 0, lines, 0);
    } else if (strcmp(kernel, "copy") == 0) {
        copy(work->a, work->b, n);
        count(work, 0, lines, lines), count(work, 1, lines, 0);
    } else if (strcmp(kernel, "add") == 0) {
        add(work->a, work->b, work->c, n);
        count(work, 0, lines, lines), count(work, 1, lines, 0), count(work, 2, lines, 0);
    } else if (strcmp(kernel, "sum") == 0) {
        work->sum += sum(work->a, n);
        count(work, 0, lines, 0);
    } else if (strcmp(kernel, "churn") == 0) {
        work->sum += churn(work->a, n);
        count(work, 0, lines, 0);
    } else if (strcmp(kernel, "reversed") == 0) {
        work->sum += reversed(work->a, n);
        count(work, 0, lines, 0);
    } else if (strcmp(kernel, "strided") == 0) {
        work->sum += strided(work->a, n);
        count(work, 0, lines * LINE / STRIDE, 0);
    } else if (strcmp(kernel, "stencil") == 0) {
        stencil(work->a, work->b, n);
        count(work, 0, lines, lines), count(work, 1, lines, 0);
    } else if (strcmp(kernel, "rows") == 0) {
        rows(work->a, work->b, n, ROW - 2, ROW);
        count(work, 0, lines, lines), count(work, 1, lines, 0);
    } else if (strcmp(kernel, "parts") == 0) {
        rows(work->a, work->b, n, ROW, 4 * ROW);
        count(work, 0, lines / 4, lines / 4), count(work, 1, lines / 4, 0);
    } else if (strcmp(kernel, "halves") == 0) {
        rows(work->a, work->b, n, ROW, 2 * ROW);
        count(work, 0, lines / 2, lines / 2), count(work, 1, lines / 2, 0);
    } else if (strcmp(kernel, "gather") == 0) {
        size_t part = n / 8; /* not all of it: a pass takes long */
        work->sum += gather(work->a, work->index + work->at, part);
        work->at = (work->at + part) % (part * 8);
        count(work, 0, (double)part, 0), count(work, 1, (double)part * sizeof *work->index / LINE, 0);
    } else if (strcmp(kernel, "chase") == 0) {
        size_t part = n / 64;
        work->at = chase((const uint64_t *)(const void *)work->a, work->at, part);
        count(work, 0, (double)part, 0);
    } else if (strcmp(kernel, "nontemporal") == 0) {
        nontemporal(work->a, n);
        count(work, 0, 0, lines);
    } else if (strcmp(kernel, "mixed") == 0) {
        work->sum += mixed(work->b, work->c, n);
        count(work, 1, lines, 0), count(work, 2, lines / 3, 0);
    } else if (strcmp(kernel, "strip") == 0) {
        work->sum += strip(work->a, n, work->at);
        work->at = (work->at + STRIP) % PITCH;
        count(work, 0, (double)n / PITCH * STRIP * sizeof *work->a / LINE, 0);
    } else if (strcmp(kernel, "memset") == 0) {
        memset(work->a, (int)work->sum & 1, n * sizeof *work->a);
        count(work, 0, lines, lines);
    } else if (strcmp(kernel, "memcpy") == 0) {
        memcpy(work->a, work->b, n * sizeof *work->a);
        count(work, 0, lines, lines), count(work, 1, lines, 0);
    } else {
        fprintf(stderr, "there is no kernel %s\n", kernel);
        exit(2);
    }
    work->sum += 1;
}

static void *run(void *argument)
{
    struct work *work = argument;
    size_t bytes = work->count * sizeof *work->a;
    work->a = PAGES(bytes); /* site: a */
    work->b = PAGES(bytes); /* site: b */
    work->c = PAGES(bytes); /* site: c */
    if (work->a == MAP_FAILED || work->b == MAP_FAILED || work->c == MAP_FAILED)
        abort();
    if (strcmp(work->kernel, "chase") == 0) {
        make_chain((uint64_t *)(void *)work->a, bytes / LINE);
        count(work, 0, (double)bytes / LINE, (double)bytes / LINE);
    }
    if (strcmp(work->kernel, "gather") == 0)
        make_index(work);
    if (strcmp(work->kernel, "edge") == 0) {
        edge(work);
        return NULL;
    }
    double began = cpu_seconds();
    while (cpu_seconds() - began < work->seconds)
        pass(work);
    work->took = cpu_seconds() - began;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 8 };
    struct work work[MOST] = {0};
    pthread_t threads[MOST];
    const char *longer = getenv("EXAMPLE_LONGER");
    size_t mib = argc > 2 ? (size_t)atol(argv[2]) : 256;
    unsigned count = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
    for (unsigned i = 0; i < count && i < MOST; i++) {
        work[i].count = mib ? mib << 17 : 1 << 12; /* 0: 32 KiB */
        work[i].kernel = argc > 1 ? argv[1] : "triad";
        work[i].seconds = (argc > 3 ? atof(argv[3]) : 1) * (longer ? atof(longer) : 1);
        if (count > 1)
            pthread_create(&threads[i], NULL, run, &work[i]);
        else
            run(&work[i]);
    }
    for (unsigned i = 0; i < count && i < MOST; i++) {
        if (count > 1)
            pthread_join(threads[i], NULL);
        for (unsigned array = 0; array < 3; array++)
            printf("%c %.0f %.0f\n", 'a' + (int)array, work[i].lines[array][0], work[i].lines[array][1]);
        printf("took %.6f %g\n", work[i].took, work[i].sum > 0 ? 1.0 : 0.0);
    }
    return 0;
}
