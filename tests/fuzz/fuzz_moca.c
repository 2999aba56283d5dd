/* fuzz_moca.c - any bytes as a recording of MOCA. */
#include "exchange/moca_reader.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct moca_item *item)
{
    if (item->end < item->start || item->mask.words > MOCA_MASK_WORDS)
        abort();
    if (item->kind != MOCA_TASK && item->mask.words && item->mask.bits[item->mask.words - 1] == 0)
        abort();
    if (item->page_size & (item->page_size - 1))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct moca_item item;
    struct error err = {0};
    FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    if (!in)
        return 0;
    struct moca_reader *reader = moca_reader_new(in, "fuzz");
    int got;
    while ((got = moca_reader_next(reader, &item, &err)) > 0)
        check(&item);
    if (got < 0 && (err.code != got || !*err.text))
        abort();
    moca_reader_free(reader);
    fclose(in);
    return 0;
}
