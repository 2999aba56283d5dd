/* fuzz_ring.c - any bytes as the ring and the AUX buffer of a kernel, with any layout of samples. */
#include "capture/hardware/hw_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 4096, AUX = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_sample(void *context, const struct hw_sample *sample)
{
    uint64_t sum = sample->access.addr;
    for (unsigned i = 0; i < sample->depth; i++)
        sum += sample->frames[i];
    *(uint64_t *)context += sum;
}

static void take_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    *(uint64_t *)context += time + cause + count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct {
        uint64_t sample_type;
        uint16_t tail, filled;
        uint8_t source, flags, family, reserved;
    } head;
    if (size < sizeof head)
        return 0;
    memcpy(&head, data, sizeof head);
    data += sizeof head;
    size -= sizeof head;
    uint8_t *ring_data = malloc(RING), *aux = malloc(AUX); /* apart: a step beyond either is seen */
    memset(ring_data, 0, RING);
    memset(aux, 0, AUX);
    memcpy(ring_data, data, size < RING ? size : RING);
    if (size > RING)
        memcpy(aux, data + RING, size - RING < AUX ? size - RING : AUX);
    uint64_t sum = 0, tail = head.tail & ~7ull;
    struct perf_event_mmap_page header = {.data_head = tail + head.filled};
    struct perf_ring ring = {
        .fd = -1, .header = &header, .data = ring_data, .size = RING, .tail = tail, .aux = aux, .aux_size = AUX};
    struct hw_reader reader = {.layout = {.sample_type = head.sample_type, .sample_id_all = true},
                               .ibs = {head.family, head.reserved},
                               .source = head.source & 3,
                               .flags = head.flags};
    reader.spe.decoder.midr = 0x411fd401;
    struct hw_listener listener = {&sum, take_sample, take_loss, NULL};
    const struct perf_event_header *record;
    while ((record = perf_ring_peek(&ring))) {
        sum += hw_reader_time(record);
        hw_reader_take(&reader, &ring, record, &listener);
        perf_ring_next(&ring, record);
    }
    free(ring.copy);
    hw_reader_free(&reader);
    free(ring_data);
    free(aux);
    return 0;
}
