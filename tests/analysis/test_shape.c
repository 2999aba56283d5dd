/* The order in which objects are walked through. */
#include "bursts.h"

enum { SIZE = 1 << 20, RUNS = 40 };

struct walk {
    int64_t step;          /* 0: anywhere */
    unsigned instructions; /* unrolled so many times */
    uint16_t size;
};

/* `single`: each access is a burst of its own, which says nothing of the order. */
static struct facts *walked(struct feeding *f, struct walk walk, unsigned bursts, bool single)
{
    unsigned instructions = walk.instructions ? walk.instructions : 1;
    *f = run_begin();
    feed_alloc(f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < bursts; i++, f->time += 10 * MS) {
        uint64_t at = SIZE / 2 + dice(1000) * 8;
        for (unsigned access = 0; access < BURST; access++) {
            bool first = single || access == 0;
            feed(f, (struct event){.kind = EVENT_SAMPLE,
                                   .time = f->time += 500,
                                   .sample = {.addr = HEAP + (walk.step ? at : dice(SIZE / 8) * 8ul),
                                              .stack = CHAIN + access % instructions,
                                              .size = walk.size ? walk.size : 8,
                                              .flags = (uint8_t)(SAMPLE_READ | (first ? SAMPLE_FIRST : 0))}});
            at += (uint64_t)walk.step;
        }
    }
    return run_end(f);
}

static void shapes(void **state)
{
    (void)state;
    const struct {
        struct walk walk;
        enum fact_shape shape;
        int64_t stride;
    } cases[] = {
        {{.step = 8}, SHAPE_SEQUENTIAL, 8},
        {{.step = 4, .size = 4}, SHAPE_SEQUENTIAL, 4},
        {{.step = -8}, SHAPE_SEQUENTIAL, -8},
        {{.step = 8, .instructions = 4}, SHAPE_SEQUENTIAL, 32},
        {{.step = 16, .instructions = 8, .size = 16}, SHAPE_SEQUENTIAL, 16}, /* unrolled: 128 bytes, but filled */
        {{.step = 4160}, SHAPE_STRIDED, 4160},
        {{.step = -256}, SHAPE_STRIDED, -256},
        {{.step = 0}, SHAPE_RANDOM, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feeding f;
        struct facts *facts = walked(&f, cases[i].walk, RUNS, false);
        const struct facts_subject *object = subject_at(facts, HEAP);
        assert_int_equal(object->shape, cases[i].shape);
        assert_int_equal(object->stride, cases[i].stride);
        assert_true(object->shape_share > 0.9);
        run_free(&f, facts);
    }
}

static void too_little_to_say(void **state)
{
    (void)state;
    struct feeding f;
    struct facts *facts = walked(&f, (struct walk){.step = 8}, 3, false); /* three looks */
    assert_int_equal(subject_at(facts, HEAP)->shape, SHAPE_UNKNOWN);
    run_free(&f, facts);
    facts = walked(&f, (struct walk){.step = 8}, RUNS, true); /* single accesses */
    assert_int_equal(subject_at(facts, HEAP)->shape, SHAPE_UNKNOWN);
    run_free(&f, facts);
}

/* Always the same place: no order. */
static void one_place(void **state)
{
    (void)state;
    struct feeding f = run_begin();
    feed_alloc(&f, HEAP, SIZE, CHAIN);
    for (unsigned i = 0; i < RUNS; i++, f.time += 10 * MS)
        feed_burst(&f, (struct burst_of){.addr = HEAP, .stack = CHAIN});
    struct facts *facts = run_end(&f);
    assert_int_equal(subject_at(facts, HEAP)->shape, SHAPE_UNKNOWN);
    assert_int_equal(subject_at(facts, HEAP)->stride, 0);
    run_free(&f, facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(too_little_to_say),
        cmocka_unit_test(one_place),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
