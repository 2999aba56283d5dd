/* many_small.c - many small objects of one site, beside one array.
 * Truth: site `node` has COUNT objects of 64 bytes that together get 2/3 of the accesses (two fields of each node are
 * read); `weights` gets 1/3. No single node matters; the site does. */
#include "example.h"

struct node {
    struct node *volatile next;
    volatile long value;
    char rest[48];
};

int main(int argc, char **argv)
{
    size_t count = (size_t)example_option(argc, argv, "count", 20000);
    long rounds = example_work(argc, argv, "rounds", 25000);
    volatile long *weights = malloc(count * sizeof *weights); /* site: weights */
    example_need(weights, "malloc");
    struct node *first = NULL;
    for (size_t i = 0; i < count; i++) {
        struct node *node = malloc(sizeof *node); /* site: node */
        example_need(node, "malloc");
        node->next = first;
        node->value = (long)i;
        weights[i] = 2;
        first = node;
    }
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        volatile long *weight = weights;
        for (struct node *node = first; node; node = node->next)
            total += node->value * *weight++;
    }
    printf("total %ld\n", total);
    if (example_flag(argc, argv, "truth")) {
        example_truth("node", "many_small", 2 * count * (size_t)rounds, 2 * count);
        example_truth("weights", "many_small", count * (size_t)rounds, count);
    }
    while (first) {
        struct node *next = first->next;
        free(first);
        first = next;
    }
    free((void *)weights);
    return 0;
}
