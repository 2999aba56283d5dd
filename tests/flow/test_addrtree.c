#include "base/mem.h"
#include "flow/addrtree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SPACE = 4096 };

struct model { /* the same map, the simple way */
    bool there[SPACE];
    uint32_t value[SPACE];
};

static uint64_t state = 1;

static uint64_t chance(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void agrees(const struct addrtree *tree, const struct model *model)
{
    size_t count = 0;
    for (unsigned i = 0; i < SPACE; i++)
        count += model->there[i];
    assert_int_equal(tree->count, count);
    struct addrtree_spot spot = ADDRTREE_NOWHERE;
    for (unsigned probe = 0; probe < SPACE; probe += 1 + (unsigned)chance(7)) {
        int floor = (int)probe, ceiling = (int)probe;
        while (floor >= 0 && !model->there[floor])
            floor--;
        while (ceiling < SPACE && !model->there[ceiling])
            ceiling++;
        uint64_t key;
        uint32_t value;
        assert_int_equal(addrtree_floor(tree, probe * 16 + 15, &key, &value), floor >= 0);
        if (floor >= 0) {
            assert_int_equal(key, floor * 16);
            assert_int_equal(value, model->value[floor]);
        }
        /* with the spot of an earlier probe, which may be another's, as with its own */
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(addrtree_floor_near(tree, spot, probe * 16 + 15, &key, &value), floor >= 0);
            assert_true(floor < 0 || (key == (uint64_t)floor * 16 && value == model->value[floor]));
            spot = addrtree_seek_near(tree, spot, probe * 16 + 15);
        }
        assert_int_equal(addrtree_ceiling(tree, probe * 16, &key, &value), ceiling < SPACE);
        if (ceiling < SPACE) {
            assert_int_equal(key, ceiling * 16);
            assert_int_equal(value, model->value[ceiling]);
        }
    }
}

static void change(struct addrtree *tree, struct model *model, unsigned steps, unsigned removals)
{
    struct addrtree_spot last = ADDRTREE_NOWHERE;
    unsigned at = 0;
    for (unsigned i = 0; i < steps; i++) {
        at = (unsigned)(chance(2) ? chance(SPACE) : (at + chance(9)) % SPACE);
        last = addrtree_seek_near(tree, last, at * 16);
        struct addrtree_spot spot = chance(2) ? last : ADDRTREE_NOWHERE;
        uint32_t old = 0;
        if (chance(100) < removals) {
            assert_int_equal(addrtree_remove(tree, spot, at * 16, &old), model->there[at]);
            if (model->there[at])
                assert_int_equal(old, model->value[at]);
            model->there[at] = false;
            continue;
        }
        struct addrtree_around around;
        uint32_t value = (uint32_t)chance(1000000), length = chance(4) ? 8 : (uint32_t)chance(1000);
        assert_int_equal(addrtree_put(tree, spot, at * 16, value, length, &old, &around), !model->there[at]);
        if (model->there[at])
            assert_int_equal(old, model->value[at]);
        model->there[at] = true;
        model->value[at] = value;
        int before = (int)at - 1;
        unsigned next = at + 1;
        while (before >= 0 && !model->there[before])
            before--;
        while (next < SPACE && !model->there[next])
            next++;
        assert_int_equal(around.has_before, before >= 0);
        if (before >= 0)
            assert_int_equal(around.before_key, before * 16);
        if (next < SPACE && (next - at) * 16 < length)
            assert_int_equal(around.next_key, next * 16);
        else
            assert_true(around.next_key >= at * 16 + length);
    }
}

static void does_what_a_plain_array_does(void **ignored)
{
    (void)ignored;
    struct addrtree_nodes nodes = {.slab = &(struct slab){0}};
    struct addrtree tree = {.nodes = &nodes};
    struct model *model = mem_zalloc(sizeof *model);
    agrees(&tree, model);
    for (unsigned round = 0; round < 12; round++) {
        change(&tree, model, 3000, round % 3 == 2 ? 95 : 40);
        agrees(&tree, model);
    }
    addrtree_free(&tree);
    slab_free(nodes.slab);
    free(model);
}

static void copies_share_until_they_change(void **ignored)
{
    (void)ignored;
    enum { COPIES = 5 };
    struct addrtree_nodes nodes = {.slab = &(struct slab){0}};
    struct addrtree trees[COPIES] = {{.nodes = &nodes}};
    struct model *models = mem_zalloc(COPIES * sizeof *models);
    change(&trees[0], &models[0], 5000, 30);
    struct addrtree_spot early[SPACE / 16]; /* from when no other tree had these leaves */
    for (unsigned i = 0; i < SPACE / 16; i++)
        early[i] = addrtree_seek(&trees[0], i * 256);
    for (unsigned i = 1; i < COPIES; i++) {
        trees[i] = addrtree_share(&trees[i / 2]);
        models[i] = models[i / 2];
        for (unsigned other = 0; other <= i; other++)
            change(&trees[other], &models[other], 700, 60);
    }
    for (unsigned i = 0; i < COPIES; i++)
        agrees(&trees[i], &models[i]);
    addrtree_free(&trees[0]);
    for (unsigned i = 0; i < SPACE / 16; i++) { /* leaves that live on in other trees are not written to */
        uint32_t value;
        addrtree_put(&trees[0], early[i], i * 256, 7, 8, NULL, NULL);
        assert_true(i % 2 || addrtree_remove(&trees[0], early[i], i * 256, &value));
    }
    for (unsigned i = 1; i < COPIES; i++)
        agrees(&trees[i], &models[i]);
    for (unsigned i = 0; i < COPIES; i++)
        addrtree_free(&trees[i]);
    slab_free(nodes.slab);
    free(models);
}

static void takes_keys_that_go_down(void **ignored)
{
    (void)ignored;
    struct addrtree_nodes nodes = {.slab = &(struct slab){0}};
    struct addrtree tree = {.nodes = &nodes};
    uint32_t value;
    for (uint64_t key = 100000; key-- > 0;)
        addrtree_put(&tree, ADDRTREE_NOWHERE, key * 16, (uint32_t)key, 1, NULL, NULL);
    for (uint64_t key = 0; key < 100000; key += 3) {
        assert_true(addrtree_remove(&tree, ADDRTREE_NOWHERE, key * 16, &value));
        assert_int_equal(value, key);
    }
    for (uint64_t key = 0; key < 100000; key++) {
        uint64_t found;
        assert_true(addrtree_ceiling(&tree, key * 16, &found, &value) || key == 99999);
        if (key % 3)
            assert_int_equal(found, key * 16);
    }
    addrtree_free(&tree);
    slab_free(nodes.slab);
}

static void goes_down_to_nothing(void **ignored)
{
    (void)ignored;
    struct addrtree_nodes nodes = {.slab = &(struct slab){0}};
    struct addrtree tree = {.nodes = &nodes};
    for (uint64_t key = 0; key < 100000; key++)
        addrtree_put(&tree, ADDRTREE_NOWHERE, key, (uint32_t)key, 1, NULL, NULL);
    uint32_t value;
    for (uint64_t key = 0; key < 100000; key++) {
        uint64_t at = key * 7919 % 100000;
        assert_true(addrtree_remove(&tree, ADDRTREE_NOWHERE, at, &value));
        assert_int_equal(value, at);
    }
    assert_int_equal(tree.count, 0);
    uint64_t found;
    assert_false(addrtree_floor(&tree, UINT64_MAX, &found, &value));
    assert_true(addrtree_put(&tree, ADDRTREE_NOWHERE, UINT64_MAX, 1, 1, NULL, NULL));
    assert_true(addrtree_floor(&tree, UINT64_MAX, &found, &value));
    addrtree_free(&tree);
    slab_free(nodes.slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_what_a_plain_array_does),
        cmocka_unit_test(copies_share_until_they_change),
        cmocka_unit_test(takes_keys_that_go_down),
        cmocka_unit_test(goes_down_to_nothing),
    };
    return cmocka_run_group_tests_name("addrtree", tests, NULL, NULL);
}
