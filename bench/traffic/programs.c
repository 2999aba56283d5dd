/* programs NAME SECONDS - programs whose bytes from memory are known by arithmetic, for bench/traffic/run: a hash join, walks through a
 * B-tree, a blocked multiplication of matrices, parts of rows, many arrays of middle size.
 *
 * A line of output for each array: its name, lines read, lines written, and how many of those read are of filling it; then the CPU time. A line counts as read from memory when it was
 * last used before more other lines than a cache holds; arrays have a gigabyte, or are used as a whole in between. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, ARRAYS = 3 };

struct array {
    const char *name;
    double read, written; /* lines */
    double filled;        /* of those read: before the loops */
};

static struct array arrays[ARRAYS];
static volatile uint64_t kept;

/* A macro: each use is a site of its own. Populated, so that no page faults in the loops. */
#define PAGES(bytes) mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
#define KERNEL       __attribute__((noinline, noclone))

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Hash join: entries of 16 bytes, found by linear probing. A key is at its slot or the next; what is not there ends at an empty slot of
 * the same line: one line for each probe. */
enum { SLOT_BITS = 26, JOIN_KEYS = 1 << 25, JOIN_PASS = 1 << 20 };
static const uint64_t spread = 0x9e3779b97f4a7c15u;

struct entry {
    uint64_t key, value;
};

KERNEL static uint64_t join(const struct entry *table, const uint64_t *keys, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = keys[i];
        for (size_t slot = key * spread >> (64 - SLOT_BITS);; slot = (slot + 1) & ((1u << SLOT_BITS) - 1)) {
            if (table[slot].key == key)
                sum += table[slot].value;
            if (table[slot].key == key || table[slot].key == 0)
                break;
        }
    }
    return sum;
}

static void fill_join(struct entry *table, uint64_t *keys)
{
    uint64_t inverse = spread, state = 88172645463325252u;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - spread * inverse;
    for (uint64_t slot = 0; slot < 1u << SLOT_BITS; slot += 4) /* two of four are used: both of the first slot's */
        for (uint64_t i = 0; i < 2; i++)
            table[slot + i] = (struct entry){((slot << (64 - SLOT_BITS)) + 1 + i) * inverse, slot};
    for (size_t i = 0; i < JOIN_KEYS; i++) {
        uint64_t any = random_next(&state), slot = (any >> 40) % (1u << (SLOT_BITS - 2)) * 4;
        keys[i] = ((slot << (64 - SLOT_BITS)) + 1 + any % 3) * inverse; /* one of three is not there */
    }
    arrays[0].read = arrays[0].written = arrays[0].filled = (double)(1u << SLOT_BITS) * sizeof *table / LINE;
    arrays[1].read = arrays[1].written = arrays[1].filled = (double)JOIN_KEYS * sizeof *keys / LINE;
}

static void run_join(double seconds)
{
    struct entry *table = PAGES(sizeof *table << SLOT_BITS);          /* site: table */
    uint64_t *keys = PAGES(sizeof *keys * (size_t)JOIN_KEYS), at = 0; /* site: keys */
    arrays[0].name = "table", arrays[1].name = "keys";
    fill_join(table, keys);
    for (double began = cpu_seconds(); cpu_seconds() - began < seconds; at = (at + JOIN_PASS) % JOIN_KEYS) {
        kept += join(table, keys + at, JOIN_PASS);
        arrays[0].read += JOIN_PASS;
        arrays[1].read += (double)JOIN_PASS * sizeof *keys / LINE;
    }
}

/* B-tree: nodes of 64 keys below a root of 512, in binary search. The leaves have a gigabyte; the level above 16 MiB, which caches
 * hold, as the others. */
enum { FANOUT = 64, ROOT = 512, LEVELS = 3, LEAVES = ROOT * FANOUT * FANOUT, WALKS = 1 << 16 };

static inline uint64_t search(const uint64_t *keys, uint64_t count, uint64_t key)
{
    uint64_t low = 0;
    for (uint64_t half = count / 2; half; half /= 2)
        if (keys[low + half] <= key)
            low += half;
    return low;
}

KERNEL static uint64_t walk(const uint64_t *root, const uint64_t *const *levels, uint64_t *state, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = random_next(state) % ((uint64_t)LEAVES * FANOUT), node = search(root, ROOT, key);
        for (int level = 0; level < LEVELS; level++)
            node = node * FANOUT + search(levels[level] + node * FANOUT, FANOUT, key);
        sum += node;
    }
    return sum;
}

/* Different lines that the search looks at in a leaf, on average over all keys in it. */
static double lines_of_search(void)
{
    double sum = 0;
    for (uint64_t key = 0; key < FANOUT; key++) {
        uint64_t low = 0, seen = 0;
        for (uint64_t half = FANOUT / 2; half; half /= 2) {
            seen |= 1ul << (low + half) * sizeof key / LINE;
            low += key >= low + half ? half : 0;
        }
        sum += __builtin_popcountl(seen);
    }
    return sum / FANOUT;
}

static void run_tree(double seconds)
{
    uint64_t *leaves = PAGES(sizeof *leaves * LEAVES * FANOUT); /* site: leaves */
    uint64_t *inner = PAGES(sizeof *inner * LEAVES * 2);        /* site: inner */
    uint64_t *above = inner + LEAVES, *root = above + LEAVES / FANOUT, state = 88172645463325252u;
    const uint64_t *levels[LEVELS] = {above, inner, leaves};
    arrays[0].name = "leaves", arrays[1].name = "inner";
    for (uint64_t i = 0; i < (uint64_t)LEAVES * FANOUT; i++)
        leaves[i] = i;
    for (uint64_t i = 0; i < LEAVES; i++)
        inner[i] = i * FANOUT;
    for (uint64_t i = 0; i < LEAVES / FANOUT; i++)
        above[i] = i * FANOUT * FANOUT;
    for (uint64_t i = 0; i < ROOT; i++)
        root[i] = i * FANOUT * FANOUT * FANOUT;
    arrays[0].read = arrays[0].written = arrays[0].filled = (double)LEAVES * FANOUT * sizeof *leaves / LINE;
    arrays[1].read = arrays[1].written = arrays[1].filled = (double)LEAVES * sizeof *inner / LINE;
    for (double began = cpu_seconds(); cpu_seconds() - began < seconds;) {
        kept += walk(root, levels, &state, WALKS);
        arrays[0].read += WALKS * lines_of_search();
    }
}

/* Blocked multiplication: for each block of c, a row of blocks of a (which stays in a cache for the next one) and a column of blocks of
 * b, which comes from memory each time: all of b is used before it comes again. */
enum { SIDE = 4096, BLOCK = 128 };

KERNEL static void multiply(const double *restrict a, const double *restrict b, double *restrict c, size_t row,
                            size_t column)
{
    for (size_t k0 = 0; k0 < SIDE; k0 += BLOCK)
        for (size_t i = row; i < row + BLOCK; i++)
            for (size_t k = k0; k < k0 + BLOCK; k++)
                for (size_t j = column; j < column + BLOCK; j++)
                    c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
}

static void run_matmul(double seconds)
{
    const size_t bytes = sizeof(double) * SIDE * SIDE;
    const double block = (double)sizeof(double) * BLOCK * BLOCK / LINE, panel = block * (SIDE / BLOCK);
    double *a = PAGES(bytes); /* site: a */
    double *b = PAGES(bytes); /* site: b */
    double *c = PAGES(bytes); /* site: c */
    size_t row = 0, column = 0;
    arrays[0].name = "a", arrays[1].name = "b", arrays[2].name = "c";
    for (double began = cpu_seconds(); cpu_seconds() - began < seconds; column = (column + BLOCK) % SIDE) {
        row = column || !arrays[1].read ? row : (row + BLOCK) % SIDE;
        multiply(a, b, c, row, column);
        arrays[0].read += column ? 0 : panel;
        arrays[1].read += panel;
        arrays[2].read += block, arrays[2].written += block;
    }
    kept += (uint64_t)c[0];
}

/* Parts of rows: 512 bytes of each row of 64 KiB, one row after the other. */
enum { ROWS = 16384, COLUMNS = 8192, PART = 64 };

KERNEL static double sum_part(const double *matrix, size_t column)
{
    double sum = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = column; i < column + PART; i++)
            sum += matrix[row * COLUMNS + i];
    return sum;
}

static void run_rows(double seconds)
{
    double *matrix = PAGES(sizeof *matrix * ROWS * COLUMNS); /* site: matrix */
    size_t column = 0;
    arrays[0].name = "matrix";
    for (double began = cpu_seconds(); cpu_seconds() - began < seconds; column = (column + PART) % COLUMNS) {
        kept += (uint64_t)sum_part(matrix, column);
        arrays[0].read += (double)ROWS * PART * sizeof *matrix / LINE;
    }
}

/* Many arrays of 4 MiB, a gigabyte of them, one after the other. */
enum { MANY = 256, MIDDLE = 1 << 19 };

KERNEL static double sum_array(const double *array)
{
    double sum = 0;
    for (size_t i = 0; i < MIDDLE; i++)
        sum += array[i];
    return sum;
}

static void run_arrays(double seconds)
{
    static double *many[MANY];
    size_t at = 0;
    for (size_t i = 0; i < MANY; i++)
        many[i] = PAGES(sizeof **many * MIDDLE); /* site: many */
    arrays[0].name = "many";
    for (double began = cpu_seconds(); cpu_seconds() - began < seconds; at = (at + 1) % MANY) {
        kept += (uint64_t)sum_array(many[at]);
        arrays[0].read += (double)sizeof **many * MIDDLE / LINE;
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(double seconds);
    } programs[] = {
        {"join", run_join}, {"tree", run_tree}, {"matmul", run_matmul}, {"rows", run_rows}, {"arrays", run_arrays}};
    double seconds = argc > 2 ? atof(argv[2]) : 2;
    size_t which = 0;
    while (which < sizeof programs / sizeof *programs && (argc < 2 || strcmp(argv[1], programs[which].name) != 0))
        which++;
    if (which == sizeof programs / sizeof *programs) {
        fprintf(stderr, "there are join, tree, matmul, rows and arrays\n");
        return 2;
    }
    programs[which].run(seconds);
    for (size_t i = 0; i < ARRAYS && arrays[i].name; i++)
        printf("%s %.0f %.0f %.0f\n", arrays[i].name, arrays[i].read, arrays[i].written, arrays[i].filled);
    printf("took %.6f\n", cpu_seconds());
    return 0;
}
