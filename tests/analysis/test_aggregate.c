/* Aggregation against an exhaustive search, and its promises on larger ones. */
#include "analysis/memory_map/aggregate.h"

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

static void grow_large(struct aggregate_node *nodes, uint32_t *count, uint32_t parent, uint32_t first, uint32_t leaves)
{
    uint32_t node = (*count)++, parts = leaves < 4 ? leaves : 4;
    nodes[node] = (struct aggregate_node){parent, first, leaves};
    for (uint32_t i = 0; leaves > 1 && i < parts; i++)
        grow_large(nodes, count, node, first + leaves * i / parts, leaves * (i + 1) / parts - leaves * i / parts);
}

/* So many leaves and slices; a cell has something by a chance of one in `rare`. */
static struct aggregate_input large(struct small *small, uint32_t leaves, uint32_t slices, uint32_t rare)
{
    static struct aggregate_node nodes[4096];
    uint32_t count = 0;
    assert_true(leaves <= 1024);
    grow_large(nodes, &count, UINT32_MAX, 0, leaves);
    small->values.count = 0;
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        for (uint32_t slice = 0; slice < slices; slice++) {
            if (dice(rare) == 0)
                array_push(&small->values, (struct aggregate_value){leaf, 1 + dice(4), (uint16_t)slice});
        }
    }
    return (struct aggregate_input){nodes, count, leaves, slices, small->values.items, small->values.count};
}

/* Every partition covers all values once, and says what it gains and loses. */
static void check_cover(const struct aggregate_input *input, const struct aggregation *result)
{
    uint64_t all = 0;
    uint32_t *dense = mem_zalloc((size_t)input->leaves * input->slices * sizeof *dense);
    for (size_t i = 0; i < input->value_count; i++) {
        dense[(size_t)input->values[i].leaf * input->slices + input->values[i].slice] = input->values[i].value;
        all += input->values[i].value;
    }
    array_each (&result->partitions, const struct aggregate_partition, partition) {
        uint64_t sum = 0;
        double a = 0, b = 0;
        for (uint32_t i = 0; i < partition->blocks; i++) {
            const struct aggregate_block *block = &result->blocks.items[partition->first_block + i];
            const struct aggregate_node *node = &input->nodes[block->node];
            uint64_t own = 0;
            for (uint32_t leaf = node->first_leaf; leaf < node->first_leaf + node->leaves; leaf++) {
                for (uint32_t slice = block->first; slice <= block->last; slice++)
                    own += dense[(size_t)leaf * input->slices + slice];
            }
            sum += own;
            a += (double)own * log2((double)own);
            b += (double)own * log2((double)node->leaves * (block->last - block->first + 1));
        }
        assert_true(sum == all || partition->skipped);
        double loss = result->whole_gain + result->whole_loss; /* S log2 n of all */
        double wanted = partition->gain * result->whole_gain + partition->loss * result->whole_loss;
        assert_true(partition->skipped || fabs(b - wanted) < 1e-6 * loss);
        assert_true(a > 0 || partition->skipped);
        const struct aggregate_partition *next = partition + 1;
        if (next < result->partitions.items + result->partitions.count)
            assert_true(next->p >= partition->p && next->gain >= partition->gain && next->loss >= partition->loss);
    }
    free(dense);
}

/* With less work allowed than an exact answer takes: says so, and is still a partition, and never better than the exact one. */
static void less_work(void **state)
{
    (void)state;
    struct small *small = mem_zalloc(sizeof *small);
    struct aggregate_input input = large(small, 128, 64, 3);
    struct error err = {0};
    struct aggregation *exact = aggregate(&input, &(struct aggregate_options){.work = 4000000000u}, &err);
    assert_true(exact->exact && exact->group == 1 && exact->least_leaves == 1);
    check_cover(&input, exact);
    bool grouped = false, collapsed = false;
    for (uint64_t work = 300000000; work > 1000000; work /= 3) {
        struct aggregation *rough = aggregate(&input, &(struct aggregate_options){.work = work}, &err);
        check_cover(&input, rough);
        assert_true(rough->exact == (rough->group == 1 && rough->least_leaves == 1));
        assert_true(rough->exact || rough->bound > 0);
        grouped |= rough->group > 1;
        collapsed |= rough->least_leaves > 1;
        array_each (&rough->partitions, const struct aggregate_partition, one) {
            for (double p = 0; p <= 1; p += 0.01) {
                double best = -INFINITY, worth;
                array_each (&exact->partitions, const struct aggregate_partition, other) {
                    worth = p * other->gain * exact->whole_gain - (1 - p) * other->loss * exact->whole_loss;
                    best = worth > best ? worth : best;
                }
                worth = p * one->gain * exact->whole_gain - (1 - p) * one->loss * exact->whole_loss;
                assert_true(one->skipped || !exact->complete || worth <= best + 1e-6 * exact->whole_gain);
            }
        }
        aggregation_free(rough);
    }
    assert_true(grouped && collapsed);
    aggregation_free(exact);
    array_free(&small->values);
    free(small);
}

static void few_blocks(void **state)
{
    (void)state;
    struct small *small = mem_zalloc(sizeof *small);
    struct aggregate_input input = large(small, 200, 60, 8);
    struct error err = {0};
    for (uint64_t most = 100000; most > 0; most /= 7) {
        struct aggregation *result = aggregate(&input, &(struct aggregate_options){.max_blocks = most}, &err);
        const struct aggregate_partition *first = result->partitions.items;
        assert_true(result->blocks.count <= most + 1); /* and the one block of p = 1 */
        assert_true(first->p == 0 && first[result->partitions.count - 1].p == 1);
        assert_true(first->skipped || first->blocks <= most);
        check_cover(&input, result);
        aggregation_free(result);
    }
    struct aggregation *result = aggregate(&input, &(struct aggregate_options){.max_partitions = 5}, &err);
    assert_true(result->partitions.count <= 6);
    aggregation_free(result);
    array_free(&small->values);
    free(small);
}

/* p = 0 is every cell for itself but for equal neighbours; p = 1 one block over everything. */
static void ends(void **state)
{
    (void)state;
    static const struct aggregate_node nodes[] = {{UINT32_MAX, 0, 2}, {0, 0, 1}, {0, 1, 1}};
    static const struct aggregate_value values[] = {{0, 1, 1}, {0, 5, 2}, {1, 5, 2}, {1, 9, 3}};
    struct aggregate_input input = {nodes, 3, 2, 5, values, 4};
    struct error err = {0};
    struct aggregation *result = aggregate(&input, &(struct aggregate_options){0}, &err);
    const struct aggregate_partition *first = result->partitions.items;
    const struct aggregate_partition *last = first + result->partitions.count - 1;
    assert_true(first->p == 0 && first->blocks == 3 && first->loss < 1e-9); /* the two fives are one block */
    assert_true(last->p == 1 && last->blocks == 1 && fabs(last->gain - 1) < 1e-9 && fabs(last->loss - 1) < 1e-9);
    struct aggregate_block block = result->blocks.items[last->first_block];
    assert_true(block.node == 0 && block.first == 0 && block.last == 4);
    aggregation_free(result);
    input.value_count = 0;
    result = aggregate(&input, &(struct aggregate_options){0}, &err);
    assert_true(result->partitions.count == 2 && result->blocks.count == 0 && result->exact);
    aggregation_free(result);
}

static void wrong_input(void **state)
{
    (void)state;
    static const struct aggregate_node good[] = {{UINT32_MAX, 0, 2}, {0, 0, 1}, {0, 1, 1}};
    static const struct aggregate_node bad[][3] = {{{UINT32_MAX, 0, 2}, {0, 0, 1}, {0, 0, 1}},
                                                   {{UINT32_MAX, 0, 2}, {0, 0, 1}, {1, 1, 1}},
                                                   {{UINT32_MAX, 0, 2}, {0, 0, 1}, {5, 1, 1}},
                                                   {{0, 0, 2}, {0, 0, 1}, {0, 1, 1}},
                                                   {{UINT32_MAX, 0, 2}, {0, 0, 2}, {0, 1, 1}}};
    static const struct aggregate_value values[] = {{0, 1, 1}, {0, 5, 1}}, far[] = {{0, 1, 9}};
    struct aggregate_options options = {0};
    struct error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(aggregate(&(struct aggregate_input){bad[i], 3, 2, 5, values, 1}, &options, &err));
    assert_null(aggregate(&(struct aggregate_input){good, 3, 2, 5, values, 2}, &options, &err));
    assert_null(aggregate(&(struct aggregate_input){good, 3, 2, 5, far, 1}, &options, &err));
    assert_null(aggregate(&(struct aggregate_input){good, 3, 2, 0, NULL, 0}, &options, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_exhaustive_search),
        cmocka_unit_test(less_work),
        cmocka_unit_test(few_blocks),
        cmocka_unit_test(ends),
        cmocka_unit_test(wrong_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
