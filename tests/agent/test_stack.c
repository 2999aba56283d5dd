/* tests/agent/test_stack.c - numbers for call chains: the thread's memo and table against a full walk each time. */
#include "agent/unwind/stack.h"
#include "agent/unwind/stack_chains.h"
#include "shapes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The rest of the agent, as far as agent/unwind/stack.c needs it: a ring that keeps the last record. */
struct wire_region *agent_region;
union agent_switch agent_switch;
static struct wire_region region;
static struct agent_thread self;
static uint64_t ring[WIRE_MAX_WORDS];
static bool ring_full;
static unsigned refused;

enum { KEPT = 1 << 20 };
struct sent {
    uint32_t depth, cut;
    uint64_t frames[WIRE_MAX_FRAMES];
};
static struct sent **sent; /* by number */
static uint32_t sent_count;

void *agent_reserve(struct agent_thread *thread, uint32_t words, enum loss_cause cause, bool may_wait)
{
    (void)may_wait;
    assert_ptr_equal(thread, &self);
    assert_in_range(words, 2, 1 + WIRE_MAX_FRAMES);
    if (ring_full) {
        refused++;
        assert_int_equal(cause, LOSS_STACK_TABLE);
        return NULL;
    }
    return ring;
}

void agent_commit(struct agent_thread *thread, uint32_t words)
{
    (void)thread;
    const struct wire_stack *record = (const struct wire_stack *)ring;
    assert_int_equal(record->head.type, WIRE_STACK);
    assert_int_equal(record->head.words, words);
    assert_int_equal(record->head.value & INT32_MAX, sent_count + 1);
    assert_true(sent_count + 1 < KEPT);
    struct sent *chain = malloc(sizeof *chain);
    chain->depth = words - 1;
    chain->cut = record->head.value >> 31;
    memcpy(chain->frames, record->frames, chain->depth * sizeof chain->frames[0]);
    sent[++sent_count] = chain;
}

static void forget_all(void)
{
    stack_forget(&self);
    while (sent_count > 0)
        free(sent[sent_count--]);
    ring_full = false;
}

static unsigned probes, again;
static uint32_t last_number;

/* Asks for a number and checks that what was sent under it is what a walk finds here. */
static __attribute__((noinline)) void check_number(struct shapes_way *way)
{
    (void)way;
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint32_t before = sent_count;
    uint32_t number = stack_number(&self, &regs, true, true);
    assert_in_range(number, 1, sent_count);
    uint64_t frames[WIRE_MAX_FRAMES];
    bool cut;
    unsigned depth = unwind_walk(&regs, self.stack_high, true, frames, WIRE_MAX_FRAMES, &cut);
    const struct sent *chain = sent[number];
    assert_int_equal(chain->depth, depth);
    assert_int_equal(chain->cut, cut);
    assert_memory_equal(chain->frames, frames, depth * sizeof *frames);
    probes++;
    again += sent_count == before;
    last_number = number;
}

static uint32_t number_by(const uint8_t *list, unsigned count, unsigned size)
{
    struct shapes_way way = {.list = list, .left = count, .size = size, .probe = check_number};
    shapes_next(&way);
    return last_number;
}

static void equal_chains_share_a_number(void **state)
{
    (void)state;
    forget_all();
    const uint8_t lists[][4] = {{0, 1, 4, 0}, {0, 1, 5, 0}, {9, 1, 4, 0}, {0, 0, 0, 0}};
    uint32_t first[4] = {0};
    for (int round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 4; i++) {
            uint32_t number = number_by(lists[i], 4, 7);
            if (round == 0) {
                first[i] = number;
                for (unsigned k = 0; k < i; k++)
                    assert_int_not_equal(first[k], number);
            }
            assert_int_equal(number, first[i]);
        }
    }
    assert_int_equal(sent_count, 4);
}

static void forgotten_chains_are_sent_again(void **state)
{
    (void)state;
    forget_all();
    const uint8_t list[] = {0, 1};
    assert_int_equal(number_by(list, 2, 0), 1);
    stack_forget(&self);
    assert_null(self.stacks);
    free(sent[sent_count--]);
    assert_int_equal(number_by(list, 2, 0), 1);
    assert_int_equal(sent_count, 1);
}

static __attribute__((noinline)) uint32_t number_here(void)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    return stack_number(&self, &regs, true, false);
}

static void a_full_ring_gives_no_number_now(void **state)
{
    (void)state;
    forget_all();
    uint32_t numbers[3];
    volatile int rounds = 3; /* one call site: no unrolling */
    refused = 0;
    for (int i = 0; i < rounds; i++) {
        ring_full = i == 0;
        numbers[i] = number_here();
    }
    assert_int_equal(numbers[0], 0);
    assert_int_equal(refused, 1);
    assert_int_equal(numbers[1], 1);
    assert_int_equal(numbers[2], 1);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    forget_all();
    uint8_t list[100] = {0};
    number_by(list, 100, 0);
    assert_int_equal(sent[1]->depth, WIRE_MAX_FRAMES);
    assert_int_equal(sent[1]->cut, 1);
    forget_all();
    region.config.max_frames = 6;
    number_here();
    assert_int_equal(sent[1]->depth, 6);
    region.config.max_frames = 0;
}

static void a_foreign_stack_gives_one_frame(void **state)
{
    (void)state;
    forget_all();
    uint64_t low = self.stack_low;
    self.stack_low = self.stack_high - 16;
    number_here();
    self.stack_low = low;
    assert_int_equal(sent[1]->depth, 1);
    assert_int_equal(sent[1]->cut, 1);
}

/* Random call trees: near relatives follow each other, so that memos are asked with stacks that changed a little. */
static void random_trees(void **state)
{
    (void)state;
    forget_all();
    probes = again = 0;
    uint8_t list[24];
    unsigned depth = 1, size = 0;
    srand(11);
    memset(list, 0, sizeof list);
    for (int round = 0; round < 200000; round++) {
        switch (rand() % 8) {
        case 0:
            list[(unsigned)rand() % sizeof list] = (uint8_t)((unsigned)rand() % shapes_regular % 12);
            break;
        case 1:
            depth = 1 + (unsigned)rand() % (unsigned)sizeof list;
            break;
        case 2:
            size = (unsigned)rand() % 64;
            break;
        }
        number_by(list, depth % 4 == 3 ? depth : depth % 6, size);
    }
    print_message("# %u numbers, %u chains sent\n", probes, sent_count);
    assert_int_equal(probes, 200000);
    assert_true(again > probes / 4);
}

/* The table grows: but for the few in buckets that run over, each chain is sent once. */
static void many_chains(void **state)
{
    (void)state;
    forget_all();
    uint8_t list[16];
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 40000; i++) {
            for (unsigned bit = 0; bit < sizeof list; bit++)
                list[bit] = (uint8_t)(i >> bit & 1 ? 1 : 0);
            number_by(list, sizeof list, 0);
        }
    }
    assert_in_range(sent_count, 40000, 40400);
}

static unsigned known;

static __attribute__((noinline)) void check_known(struct shapes_way *way)
{
    (void)way;
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    uint32_t number = stack_known(&self, regs, true);
    known += number != 0;
    assert_true(number == 0 || number == stack_number(&self, &regs, true, true));
    last_number = number ? number : stack_number(&self, &regs, true, true);
}

static void number_by_known(const uint8_t *list, unsigned count)
{
    struct shapes_way way = {.list = list, .left = count, .probe = check_known};
    shapes_next(&way);
}

/* Chains of which many begin alike: once their differences are learned, no more than FEW are walked again. */
static void chains_in_use_are_not_walked_again(void **state)
{
    (void)state;
    enum { CHAINS = 256, LEARNING = 20, FEW = CHAINS / 32 }; /* FEW: may have no place of their own */
    forget_all();
    uint32_t numbers[CHAINS];
    uint8_t list[10];
    for (int round = 0; round <= LEARNING; round++) {
        known = 0;
        for (unsigned i = 0; i < CHAINS; i++) {
            for (unsigned bit = 0; bit < sizeof list; bit++)
                list[bit] = (uint8_t)(i >> bit & 1);
            number_by_known(list, sizeof list);
            if (round == 0)
                numbers[i] = last_number;
            assert_int_equal(last_number, numbers[i]);
        }
    }
    assert_int_equal(sent_count, CHAINS);
    assert_in_range(known, CHAINS - FEW, CHAINS);
    self.stack_high += 16; /* another stack: nothing that was read before counts */
    known = 0;
    number_by_known(list, sizeof list);
    self.stack_high -= 16;
    assert_int_equal(known, 0);
}

/* More chains than it may grow to: some are forgotten, and none gets another's number. */
static void more_chains_than_fit(void **state)
{
    (void)state;
    struct stack_chains chains = {0};
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 1; i < 4 * STACK_CHAINS_MOST; i++) {
        assert_int_equal(stack_chains_find(&chains, i * odd), 0);
        stack_chains_put(&chains, i * odd, i);
        assert_int_equal(stack_chains_find(&chains, i * odd), i);
    }
    unsigned found = 0;
    for (uint32_t i = 1; i < 4 * STACK_CHAINS_MOST; i++) {
        uint32_t number = stack_chains_find(&chains, i * odd);
        assert_true(number == 0 || number == i);
        found += number != 0;
    }
    assert_int_equal(chains.capacity, STACK_CHAINS_MOST);
    assert_in_range(found, STACK_CHAINS_MOST / 2, STACK_CHAINS_MOST);
    stack_chains_free(&chains);
}

static int set_up(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    self.stack_low = (uint64_t)low;
    self.stack_high = (uint64_t)low + size;
    sent = calloc(KEPT, sizeof *sent);
    agent_region = &region;
    unwind_modules_changed();
    return sent == NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_chains_share_a_number),
        cmocka_unit_test(forgotten_chains_are_sent_again),
        cmocka_unit_test(a_full_ring_gives_no_number_now),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(a_foreign_stack_gives_one_frame),
        cmocka_unit_test(random_trees),
        cmocka_unit_test(many_chains),
        cmocka_unit_test(chains_in_use_are_not_walked_again),
        cmocka_unit_test(more_chains_than_fit),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
