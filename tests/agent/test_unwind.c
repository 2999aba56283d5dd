/* tests/agent/test_unwind.c - the agent's unwinder against what the shapes know and against libgcc's unwinder. */
#include "agent/unwind/unwind.h"
#include "shapes.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <cmocka.h>

enum { MAX = 400 };

static uint64_t stack_high(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &low, &size), 0);
    pthread_attr_destroy(&attributes);
    return (uint64_t)low + size;
}

static struct unwind_regs context_regs(const ucontext_t *context)
{
#if defined(__aarch64__)
    const mcontext_t *machine = &context->uc_mcontext;
    return (struct unwind_regs){.pc = machine->pc, .sp = machine->sp, .fp = machine->regs[29], .lr = machine->regs[30]};
#else
    const greg_t *machine = context->uc_mcontext.gregs;
    return (struct unwind_regs){
        .pc = (uint64_t)machine[REG_RIP], .sp = (uint64_t)machine[REG_RSP], .fp = (uint64_t)machine[REG_RBP]};
#endif
}

/* What libgcc finds from `pc` on; 0 frames when it did not come by there. */
static unsigned reference(uint64_t pc, uint64_t *frames)
{
    void *all[MAX];
    int count = backtrace(all, MAX), from = 0;
    while (from < count && (uint64_t)all[from] != pc)
        from++;
    for (int i = from; i < count; i++)
        frames[i - from] = (uint64_t)all[i];
    return (unsigned)(count - from);
}

static bool same(const uint64_t *a, unsigned a_count, const uint64_t *b, unsigned b_count)
{
    return a_count == b_count && memcmp(a, b, a_count * sizeof *a) == 0;
}

static void show(const char *what, const uint64_t *frames, unsigned count)
{
    fprintf(stderr, "%s:\n", what);
    for (unsigned i = 0; i < count; i++) {
        Dl_info info = {0};
        dladdr((void *)frames[i], &info);
        fprintf(stderr, "  %2u %#lx %s %s\n", i, (unsigned long)frames[i], info.dli_sname ? info.dli_sname : "?",
                info.dli_fname ? info.dli_fname : "?");
    }
}

/* The addresses that the shapes noted are all in the chain, in order. */
static bool holds_returns(const struct shapes_way *way, const uint64_t *frames, unsigned count)
{
    unsigned left = way->depth;
    for (unsigned i = 0; i < count && left > 0; i++)
        if (frames[i] == way->returns[left - 1])
            left--;
    return left == 0;
}

static uint64_t high; /* of the main thread's stack */
static uint64_t root; /* what every chain of the main thread ends in */
static unsigned probes;

static __attribute__((noinline)) void check_here(struct shapes_way *way)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint64_t ours[MAX], theirs[MAX];
    bool cut;
    unsigned count = unwind_walk(&regs, high, true, ours, MAX, &cut);
    unsigned expected = reference(regs.pc, theirs);
    probes++;
    if (cut || !same(ours, count, theirs, expected) || !holds_returns(way, ours, count)) {
        show("ours", ours, count);
        show("libgcc's", theirs, expected);
        fail_msg("chains differ%s", cut ? " (ours is cut)" : "");
    }
    /* A shorter room gives the beginning of the same chain. */
    uint64_t few[5];
    assert_int_equal(unwind_walk(&regs, high, true, few, 5, &cut), count < 5 ? count : 5);
    assert_int_equal(cut, count > 5);
    assert_memory_equal(few, ours, (count < 5 ? count : 5) * sizeof *few);
}

static void walk_list(const uint8_t *list, unsigned count, unsigned size, void (*probe)(struct shapes_way *))
{
    struct shapes_way way = {.list = list, .left = count, .size = size, .probe = probe};
    shapes_next(&way);
}

static void every_shape_alone(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < shapes_regular; i++)
        for (unsigned size = 0; size < 10; size++)
            walk_list(&i, 1, size, check_here);
    assert_int_equal(probes, shapes_regular * 10);
}

static void shapes_mixed(void **state)
{
    (void)state;
    uint8_t list[40];
    srand(1);
    for (int round = 0; round < 300; round++) {
        for (unsigned i = 0; i < sizeof list; i++)
            list[i] = (uint8_t)((unsigned)rand() % shapes_regular);
        walk_list(list, 1 + (unsigned)rand() % (unsigned)sizeof list, (unsigned)rand(), check_here);
    }
}

static void *in_thread(void *argument)
{
    uint64_t main_high = high;
    high = stack_high();
    uint8_t list[] = {0, 1, 4, 9, 11, 12};
    walk_list(list, sizeof list, 3, check_here);
    high = main_high;
    return argument;
}

static void chains_end_at_the_thread_start(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* What is in the chain is right, and nothing between is missing; it may be cut. Returns how many of the noted addresses
 * it holds. */
static unsigned returns_held(const struct shapes_way *way, const uint64_t *frames, unsigned count)
{
    unsigned left = way->depth;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = left; k-- > 0;)
            if (frames[i] == way->returns[k]) {
                assert_int_equal(k, left - 1);
                left--;
                break;
            }
    return way->depth - left;
}

static bool may_be_cut;

static __attribute__((noinline)) void check_bare(struct shapes_way *way)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint64_t ours[MAX];
    bool cut;
    unsigned count = unwind_walk(&regs, high, true, ours, MAX, &cut), held = returns_held(way, ours, count);
    probes++;
    if (held < 3 || (!may_be_cut && (cut || held < way->depth || ours[count - 1] != root))) {
        show("ours", ours, count);
        fail_msg("not followed through a function without tables");
    }
}

static __attribute__((noinline)) void call_bare(struct shapes_way *way)
{
    shape_bare(way);
    __asm__ volatile("" ::: "memory");
}

/* The frame pointer carries the walk through. On aarch64 it does not give the caller's stack pointer, so there the walk
 * goes on only where the caller has a frame pointer too, as this file's functions do. */
static void functions_without_tables(void **state)
{
    (void)state;
    uint8_t bare = (uint8_t)shapes_regular;
    uint8_t list[] = {0, bare, 0, bare, bare, 1, bare, 0};
    struct shapes_way way = {.list = list, .left = 1, .size = 1, .probe = check_bare};
    probes = 0;
    may_be_cut = false;
    call_bare(&way);
#if defined(__aarch64__)
    may_be_cut = true;
#endif
    walk_list(list, sizeof list, 1, check_bare);
    assert_int_equal(probes, 2);
}

static void no_stack_gives_one_frame(void **state)
{
    (void)state;
    struct unwind_regs regs = {.pc = (uint64_t)no_stack_gives_one_frame + 8, .sp = 0x1000, .fp = 0x1000};
    uint64_t frames[4];
    bool cut = false;
    assert_int_equal(unwind_walk(&regs, 0, true, frames, 4, &cut), 1);
    assert_int_equal(frames[0], regs.pc);
    assert_true(cut);
    regs.sp = high;
    assert_int_equal(unwind_walk(&regs, high, true, frames, 4, &cut), 1);
    assert_true(cut);
}

/* Nothing may be read outside the stack, whatever the registers say. */
static void wild_registers_are_survived(void **state)
{
    (void)state;
    size_t size = 65536;
    uint8_t *room = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    assert_int_equal(mprotect(room + 4096, size, PROT_READ | PROT_WRITE), 0);
    uint64_t low = (uint64_t)room + 4096, end = low + size, frames[MAX];
    uint64_t codes[] = {(uint64_t)shape_plain, (uint64_t)shape_vla,  (uint64_t)shape_aligned, (uint64_t)shape_huge,
                        (uint64_t)qsort,       (uint64_t)shape_bare, (uint64_t)backtrace,     0x1234};
    srand(2);
    for (unsigned i = 0; i < size / 8; i++) {
        uint64_t value = (unsigned)rand() % 3 == 0 ? low + (unsigned)rand() % size
                                                   : codes[(unsigned)rand() % 8] + (unsigned)rand() % 64;
        memcpy((void *)(low + i * 8), &value, 8);
    }
    for (int i = 0; i < 100000; i++) {
        struct unwind_regs regs = {.pc = codes[(unsigned)rand() % 8] + (unsigned)rand() % 80,
                                   .sp = low + (unsigned)rand() % size,
                                   .fp = rand() % 2 ? low + (unsigned)rand() % size : (uint64_t)rand() << 33,
                                   .lr = codes[(unsigned)rand() % 8]};
        if (rand() % 4)
            regs.sp &= ~7ull;
        bool cut;
        unsigned count = unwind_walk(&regs, end, rand() % 2, frames, MAX, &cut);
        assert_in_range(count, 1, MAX);
    }
    munmap(room, size + 8192);
}

/* A library that comes and goes: its code is known while it is there, and only then. */
static void libraries_come_and_go(void **state)
{
    (void)state;
    uint8_t none = 0;
    for (int round = 0; round < 50; round++) {
        void *library = dlopen(SHAPES_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        shape_fn function = (shape_fn)dlsym(library, "shape_library");
        assert_non_null(function);
        assert_ptr_not_equal(function, shape_library);
        unwind_modules_changed();
        struct shapes_way way = {.list = &none, .probe = check_here};
        unsigned before = probes;
        function(&way);
        assert_int_equal(probes, before + 1);
        dlclose(library);

        /* Asked for between the unloading and the news of it, and after: nothing is read where the library was. */
        struct unwind_regs regs = UNWIND_CALLER_REGS();
        uint64_t frames[4];
        bool cut;
        for (uint64_t at = 0; at < 4096; at += 16) {
            regs.pc = ((uint64_t)function & ~4095ull) + at;
            regs.fp = 0;
            unwind_walk(&regs, high, true, frames, 4, &cut);
        }
        unwind_modules_changed();
        regs.pc = (uint64_t)function + 16;
        assert_int_equal(unwind_walk(&regs, high, true, frames, 4, &cut), 1);
        assert_true(cut);
    }
}

/* Walks while another thread loads and unloads: tables are replaced and the cache is wiped under them. */
static struct {
    _Atomic bool stop;
    _Atomic unsigned walks, wrong;
    uint64_t high, frames[MAX];
    unsigned count;
} beside;

static __attribute__((noinline)) void walk_beside(struct shapes_way *way)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint64_t frames[MAX];
    bool cut;
    unsigned count = unwind_walk(&regs, beside.high, true, frames, MAX, &cut);
    if (way->size == 0) {
        memcpy(beside.frames, frames, count * sizeof *frames);
        beside.count = count;
    }
    beside.walks++;
    if (cut || !same(frames, count, beside.frames, beside.count))
        beside.wrong++;
}

static void *keep_walking(void *argument)
{
    beside.high = stack_high();
    const uint8_t list[] = {0, 1, 4, 7, 9, 11, 12, 0};
    for (volatile unsigned round = 0; !beside.stop; round++)
        walk_list(list, sizeof list, round ? 500 : 0, walk_beside);
    return argument;
}

static void walks_beside_a_loader(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_walking, NULL), 0);
    for (int round = 0; round < 200 || beside.walks < 1000; round++) {
        void *library = dlopen(SHAPES_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        unwind_modules_changed();
        dlclose(library);
        unwind_modules_changed();
    }
    beside.stop = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(beside.wrong, 0);
}

/* Interrupts at random instructions. */
static struct {
    unsigned wanted, taken, equal, longer; /* longer: libgcc stopped where it has no tables (aarch64's .plt) */
    unsigned shown, through_signal;
} random_pcs;
static volatile unsigned sink;

static void on_tick(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    if (random_pcs.taken >= random_pcs.wanted)
        return;
    struct unwind_regs regs = context_regs(context);
    uint64_t ours[MAX], theirs[MAX], through[MAX];
    bool cut;
    unsigned count = unwind_walk(&regs, high, false, ours, MAX, &cut), expected = reference(regs.pc, theirs);
    random_pcs.taken++;
    bool ends_well = !cut && ours[count - 1] == root;
    if (ends_well && same(ours, count, theirs, expected)) {
        random_pcs.equal++;
    } else if (ends_well && expected < count && memcmp(ours, theirs, expected * sizeof *ours) == 0) {
        random_pcs.longer++;
    } else if (random_pcs.shown++ < 5) {
        show("ours", ours, count);
        show("libgcc's", theirs, expected);
    }
    /* From inside the handler, through the kernel's frame. */
    struct unwind_regs here = {.pc = (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)),
                               .sp = (uint64_t)__builtin_dwarf_cfa(),
                               .fp = *(uint64_t *)__builtin_frame_address(0)};
    unsigned all = unwind_walk(&here, high, true, through, MAX, &cut);
    if (all == count + 1 && through[1] - 1 - regs.pc < 4 &&
        memcmp(through + 2, ours + 1, (count - 1) * sizeof *ours) == 0)
        random_pcs.through_signal++;
}

static __attribute__((noinline)) int number_order(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void work(struct shapes_way *way)
{
    char text[100];
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i * 7919 % 64;
    qsort(numbers, 64, sizeof numbers[0], number_order);
    snprintf(text, sizeof text, "%d %s %f", numbers[5], "text", way->size * 0.5);
    sink += (unsigned)strtol(text, NULL, 10) + (unsigned)strlen(text);
    void *block = malloc(100 + way->size % 100);
    memset(block, 1, 100);
    free(block);
}

static void interrupts_at_random_instructions(void **state)
{
    (void)state;
    uint8_t list[12];
    random_pcs.wanted = 5000;
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    assert_int_equal(sigaction(SIGRTMIN + 2, &action, NULL), 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2};
    timer_t timer;
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec every = {.it_value.tv_nsec = 50000, .it_interval.tv_nsec = 100000};
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    srand(3);
    while (random_pcs.taken < random_pcs.wanted) {
        for (unsigned i = 0; i < sizeof list; i++)
            list[i] = (uint8_t)((unsigned)rand() % (shapes_regular - 2)); /* throwing takes most of the time */
        walk_list(list, 1 + (unsigned)rand() % (unsigned)sizeof list, (unsigned)rand(), work);
    }
    timer_delete(timer);
    unsigned good = random_pcs.equal + random_pcs.longer;
    print_message("# %u interrupts: %u chains equal libgcc's, %u go on where libgcc stops, %u other; "
                  "%u equal through the signal frame\n",
                  random_pcs.taken, random_pcs.equal, random_pcs.longer, random_pcs.taken - good,
                  random_pcs.through_signal);
    assert_true(good >= random_pcs.taken * 0.998); /* one instruction of a hot loop would be more than the rest */
    assert_true(random_pcs.through_signal >= random_pcs.taken * 0.99);
}

#if defined(__x86_64__)
/* As compilers describe an epilogue: behind `pop %rbp` the frame pointer is still said to be in its slot, which is below the
 * stack pointer by then. The trap stands there; `through` gets what is found from its handler. */
unsigned epilogue_traps(void);
__asm__(".text\n"
        ".type epilogue_traps, @function\n"
        "epilogue_traps:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset 6, -16\n"
        "  mov $0x1234, %ebp\n"
        "  pop %rbp\n"
        "  .cfi_def_cfa_offset 8\n"
        "  int3\n"
        "  nop\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size epilogue_traps, . - epilogue_traps\n");

static unsigned trapped_whole;

static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    struct unwind_regs regs = context_regs(context);
    uint64_t ours[MAX];
    bool cut;
    unsigned count = unwind_walk(&regs, high, false, ours, MAX, &cut);
    trapped_whole += !cut && ours[count - 1] == root;
    uint64_t *below = (uint64_t *)(regs.sp - 8);
    *below = 8; /* the slot is free: what is in it is no frame pointer any more */
    count = unwind_walk(&regs, high, false, ours, MAX, &cut);
    trapped_whole += !cut && ours[count - 1] == root;
}

/* A caller that needs its frame pointer to find its own caller. */
static __attribute__((noinline)) unsigned call_epilogue(unsigned size)
{
    volatile char room[size];
    room[0] = 1;
    epilogue_traps();
    return (unsigned)room[0];
}

static void epilogues_have_the_frame_pointer_back(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    for (unsigned size = 1; size <= 100; size++)
        assert_int_equal(call_epilogue(size * 16), 1);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
    assert_int_equal(trapped_whole, 200);
}
#endif

static int set_up(void **state)
{
    (void)state;
    void *frames[MAX];
    root = (uint64_t)frames[backtrace(frames, MAX) - 1]; /* also loads libgcc, which takes memory */
    high = stack_high();
    unwind_modules_changed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_alone),
        cmocka_unit_test(shapes_mixed),
        cmocka_unit_test(chains_end_at_the_thread_start),
        cmocka_unit_test(functions_without_tables),
        cmocka_unit_test(no_stack_gives_one_frame),
        cmocka_unit_test(wild_registers_are_survived),
        cmocka_unit_test(libraries_come_and_go),
        cmocka_unit_test(walks_beside_a_loader),
        cmocka_unit_test(interrupts_at_random_instructions),
#if defined(__x86_64__)
        cmocka_unit_test(epilogues_have_the_frame_pointer_back),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
