/* Aggregation against an exhaustive search, and its promises on larger ones. */
#include "analysis/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { MOST_NODES = 64, MOST_LEAVES = 16, MOST_SLICES = 16, TREES = 500 };

static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % sides);
}

struct small {
    struct aggregate_node nodes[MOST_NODES];
    uint32_t node_count, leaves, slices;
    uint32_t cells[MOST_LEAVES][MOST_SLICES];
    array_of(struct aggregate_value) values;
};

static void grow(struct small *small, uint32_t parent, uint32_t first, uint32_t leaves)
{
    uint32_t node = small->node_count++;
    small->nodes[node] = (struct aggregate_node){parent, first, leaves};
    if (leaves == 1) {
        if (dice(12) == 0 && small->node_count < MOST_NODES - 16) /* an only child */
            grow(small, node, first, 1);
        return;
    }
    for (uint32_t at = 0; at < leaves;) {
        uint32_t part = 1 + dice(leaves - at);
        if (at == 0 && part == leaves && dice(4))
            part = leaves - 1;
        if (part == leaves && small->node_count > MOST_NODES / 2)
            part = 1;
        grow(small, node, first + at, part);
        at += part;
    }
}

static void fill(struct small *small)
{
    uint32_t kind = dice(4);
    small->values.count = 0;
    for (uint32_t leaf = 0; leaf < small->leaves; leaf++) {
        for (uint32_t slice = 0; slice < small->slices; slice++) {
            uint32_t value = kind == 0   ? dice(3)
                             : kind == 1 ? (dice(2) ? 0 : 1 + dice(1000))
                             : kind == 2 ? 5
                                         : (slice < small->slices / 2) * 7 + (leaf % 2) * 3 + (dice(8) == 0);
            small->cells[leaf][slice] = value;
            if (value)
                array_push(&small->values, (struct aggregate_value){leaf, value, (uint16_t)slice});
        }
    }
}

static struct aggregate_input input_of(const struct small *small)
{
    return (struct aggregate_input){.nodes = small->nodes,
                                    .node_count = small->node_count,
                                    .leaves = small->leaves,
                                    .slices = small->slices,
                                    .values = small->values.items,
                                    .value_count = small->values.count};
}

struct measure {
    double gain, loss;
};

typedef array_of(struct measure) measures;

static struct measure measure_block(const struct small *small, struct aggregate_block block)
{
    const struct aggregate_node *node = &small->nodes[block.node];
    double sum = 0, info = 0, cells = (double)node->leaves * (block.last - block.first + 1);
    for (uint32_t leaf = node->first_leaf; leaf < node->first_leaf + node->leaves; leaf++) {
        for (uint32_t slice = block.first; slice <= block.last; slice++) {
            double value = small->cells[leaf][slice];
            sum += value;
            info += value > 0 ? value * log2(value) : 0;
        }
    }
    double gain = sum > 0 ? sum * log2(sum) - info : 0;
    return (struct measure){gain, sum * log2(cells) - gain};
}

/* How many partitions `enumerate` would make, over so many slices. */
static double count_of(const struct small *small, uint32_t node, uint32_t slices)
{
    double product = 0, count = 1;
    for (uint32_t child = node + 1; child < small->node_count; child++) {
        if (small->nodes[child].parent == node)
            product = (product > 0 ? product : 1) * count_of(small, child, slices);
    }
    for (uint32_t k = 1; k < slices; k++)
        count += count_of(small, node, k) * count_of(small, node, slices - k);
    return count + product;
}

/* Every partition of a node over [i, j], with its gain and loss: the recurrence without any choice made. */
static void enumerate(const struct small *small, uint32_t node, uint32_t i, uint32_t j, measures *out)
{
    array_push(out, measure_block(small, (struct aggregate_block){node, (uint16_t)i, (uint16_t)j}));
    measures products = {0};
    for (uint32_t child = node + 1; child < small->node_count; child++) {
        if (small->nodes[child].parent != node)
            continue;
        measures own = {0}, next = {0};
        enumerate(small, child, i, j, &own);
        if (products.count == 0)
            array_push(&products, (struct measure){0, 0});
        array_each (&products, const struct measure, left) {
            array_each (&own, const struct measure, right)
                array_push(&next, (struct measure){left->gain + right->gain, left->loss + right->loss});
        }
        array_free(&products);
        array_free(&own);
        products.items = next.items;
        products.count = next.count;
        products.capacity = next.capacity;
    }
    array_each (&products, const struct measure, product)
        array_push(out, *product);
    array_free(&products);
    for (uint32_t k = i; k < j; k++) {
        measures left = {0}, right = {0};
        enumerate(small, node, i, k, &left);
        enumerate(small, node, k + 1, j, &right);
        array_each (&left, const struct measure, a) {
            array_each (&right, const struct measure, b)
                array_push(out, (struct measure){a->gain + b->gain, a->loss + b->loss});
        }
        array_free(&left);
        array_free(&right);
    }
}

/* Every cell with a value is in one block, and gain and loss are what the blocks say. */
static struct measure check_partition(const struct small *small, const struct aggregation *result,
                                      const struct aggregate_partition *partition)
{
    uint8_t covered[MOST_LEAVES][MOST_SLICES] = {0};
    struct measure sum = {0, 0};
    for (uint32_t i = 0; i < partition->blocks; i++) {
        struct aggregate_block block = result->blocks.items[partition->first_block + i];
        struct measure one = measure_block(small, block);
        const struct aggregate_node *node = &small->nodes[block.node];
        for (uint32_t leaf = node->first_leaf; leaf < node->first_leaf + node->leaves; leaf++) {
            for (uint32_t slice = block.first; slice <= block.last; slice++)
                assert_int_equal(covered[leaf][slice]++, 0);
        }
        sum.gain += one.gain;
        sum.loss += one.loss;
    }
    for (uint32_t leaf = 0; leaf < small->leaves; leaf++) {
        for (uint32_t slice = 0; slice < small->slices; slice++)
            assert_true(covered[leaf][slice] || small->cells[leaf][slice] == 0);
    }
    assert_true(fabs(sum.gain - partition->gain * result->whole_gain) < 1e-6 || result->whole_gain < 1e-9);
    assert_true(fabs(sum.loss - partition->loss * result->whole_loss) < 1e-6 || result->whole_loss < 1e-9);
    return sum;
}

static void check_p(const struct small *small, const struct aggregation *result, const measures *all, double p)
{
    const struct aggregate_partition *partition = result->partitions.items;
    double best = -INFINITY, gain = 0;
    bool border = false;
    array_each (&result->partitions, const struct aggregate_partition, at) {
        partition = at->p <= p ? at : partition;
        border |= fabs(at->p - p) < 1e-9 && at->p > 0 && at->p < 1;
    }
    struct measure ours = check_partition(small, result, partition);
    array_each (all, const struct measure, one) {
        double value = p * one->gain - (1 - p) * one->loss;
        if (value > best + 1e-7) {
            best = value;
            gain = one->gain;
        } else if (value > best - 1e-7 && one->gain > gain) {
            gain = one->gain;
        }
    }
    assert_true(fabs(p * ours.gain - (1 - p) * ours.loss - best) < 1e-6);
    assert_true(border || fabs(ours.gain - gain) < 1e-5);
}

static void equals_exhaustive_search(void **state)
{
    (void)state;
    struct small *small = mem_zalloc(sizeof *small);
    uint64_t partitions = 0, looked_at = 0;
    for (unsigned tree = 0; tree < TREES; tree++) {
        do {
            small->slices = 1 + dice(5);
            small->leaves = 1 + dice(6);
            small->node_count = 0;
            grow(small, UINT32_MAX, 0, small->leaves);
        } while (count_of(small, 0, small->slices) > 100000);
        fill(small);
        struct aggregate_input input = input_of(small);
        struct error err = {0};
        struct aggregation *result = aggregate(&input, &(struct aggregate_options){.max_partitions = 1000}, &err);
        assert_non_null(result);
        assert_true(result->exact && result->complete);
        measures all = {0};
        enumerate(small, 0, 0, small->slices - 1, &all);
        looked_at += all.count;
        for (unsigned step = 0; step <= 20; step++)
            check_p(small, result, &all, step / 20.0);
        for (unsigned i = 0; i < 10; i++)
            check_p(small, result, &all, dice(1000001) / 1e6);
        array_each (&result->partitions, const struct aggregate_partition, partition) {
            partitions++;
            check_p(small, result, &all, partition->p);
            assert_true(partition == result->partitions.items || partition[-1].p <= partition->p);
        }
        array_free(&all);
        aggregation_free(result);
    }
    assert_true(partitions > 3 * TREES && looked_at > 100 * TREES);
    array_free(&small->values);
    free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_exhaustive_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
