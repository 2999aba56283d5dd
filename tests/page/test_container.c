/* Containers are read back by a small reader, as a page does it; what is encoded is decoded. */
#include "base/mem.h"
#include "page/container.h"
#include "page/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

struct read_back {
    char *json;
    const uint8_t *area;
    size_t area_size;
};

static void read_container(const struct container_bytes *bytes, struct read_back *read)
{
    uint32_t head[4];
    assert_true(bytes->size >= sizeof head);
    memcpy(head, bytes->data, sizeof head);
    assert_memory_equal(head, "NLPG", 4);
    assert_int_equal(head[1], 1);
    assert_int_equal(head[3], 0);
    size_t padded = (head[2] + 7) / 8 * 8;
    assert_true(16 + padded <= bytes->size);
    for (size_t i = head[2]; i < padded; i++)
        assert_int_equal(bytes->data[16 + i], 0);
    read->json = strndup((const char *)bytes->data + 16, head[2]);
    read->area = bytes->data + 16 + padded;
    read->area_size = bytes->size - 16 - padded;
}

/* Where the JSON says that a column is. */
static const void *column_of(const struct read_back *read, const char *name, const char *type, size_t count,
                             size_t item)
{
    char *key = mem_format("\"%s\":{\"type\":\"%s\",\"offset\":", name, type);
    const char *at = strstr(read->json, key);
    assert_non_null(at);
    size_t offset, reported;
    assert_int_equal(sscanf(at + strlen(key), "%zu,\"count\":%zu", &offset, &reported), 2);
    free(key);
    assert_int_equal(reported, count);
    assert_int_equal(offset % 8, 0);
    assert_true(offset + count * item <= read->area_size);
    return read->area + offset;
}

static void columns_come_back(void **state)
{
    (void)state;
    struct error err = {0};
    struct container_bytes bytes;
    struct read_back read;
    struct container *container = container_new();
    json_text(container_json(container), "greeting", "a \"quoted\" \xff text");
    uint8_t *narrow = container_column(container, "one", COLUMN_U8, 3);
    memcpy(narrow, "\1\2\3", 3);
    uint16_t *sixteen = container_column(container, "two", COLUMN_U16, 5);
    for (uint16_t i = 0; i < 5; i++)
        sixteen[i] = (uint16_t)(65535 - i);
    container_column(container, "none", COLUMN_U32, 0);
    json_number(container_json(container), "later", 7);
    double *wide = container_column(container, "wide", COLUMN_F64, 2);
    wide[0] = 0.5;
    wide[1] = 281474976710656.0;
    float *single = container_column(container, "single", COLUMN_F32, 1);
    single[0] = -2.25f;
    uint32_t *word = container_column(container, "word", COLUMN_U32, 1);
    word[0] = UINT32_MAX;
    assert_int_equal(container_finish(container, &bytes, &err), 0);

    read_container(&bytes, &read);
    assert_non_null(strstr(read.json, "\"greeting\":\"a \\\"quoted\\\" \xef\xbf\xbd text\""));
    assert_non_null(strstr(read.json, "\"later\":7"));
    assert_memory_equal(column_of(&read, "one", "u8", 3, 1), "\1\2\3", 3);
    const uint16_t *two = column_of(&read, "two", "u16", 5, 2);
    for (uint16_t i = 0; i < 5; i++)
        assert_int_equal(two[i], 65535 - i);
    column_of(&read, "none", "u32", 0, 4);
    const double *doubles = column_of(&read, "wide", "f64", 2, 8);
    assert_true(doubles[0] == 0.5 && doubles[1] == 281474976710656.0);
    assert_true(*(const float *)column_of(&read, "single", "f32", 1, 4) == -2.25f);
    assert_int_equal(*(const uint32_t *)column_of(&read, "word", "u32", 1, 4), UINT32_MAX);
    free(read.json);
    free(bytes.data);
}

static void an_unfinished_one_is_let_go(void **state)
{
    (void)state;
    struct container *container = container_new();
    container_column(container, "one", COLUMN_U8, 3);
    json_array(container_json(container), "open");
    container_free(container);
}

static size_t decode_base64(const char *text, uint8_t *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (; *text && *text != '='; text++) {
        const char *at = strchr(letters, *text);
        assert_non_null(at);
        bits = bits << 6 | (uint32_t)(at - letters);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[size++] = (uint8_t)(bits >> have);
        }
    }
    return size;
}

static void base64_of_every_length(void **state)
{
    (void)state;
    static uint8_t data[7000], back[8000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 ^ i >> 3);
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 3071, 3072, 3073, 6999};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        encode_base64(&(struct container_bytes){data, sizes[i]}, out);
        fclose(out);
        assert_int_equal(length, encode_base64_size(sizes[i]));
        assert_int_equal(decode_base64(text, back), sizes[i]);
        assert_memory_equal(back, data, sizes[i]);
        free(text);
    }
}

static void deflated_bytes_inflate(void **state)
{
    (void)state;
    struct error err = {0};
    static uint8_t data[100000], back[100000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i / 100);
    struct container_bytes packed;
    assert_int_equal(encode_deflate(&(struct container_bytes){data, sizeof data}, &packed, &err), 0);
    assert_true(packed.size < sizeof data / 20);
    uLongf size = sizeof back;
    assert_int_equal(uncompress(back, &size, packed.data, packed.size), Z_OK);
    assert_int_equal(size, sizeof data);
    assert_memory_equal(back, data, sizeof data);
    free(packed.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_back),
        cmocka_unit_test(an_unfinished_one_is_let_go),
        cmocka_unit_test(base64_of_every_length),
        cmocka_unit_test(deflated_bytes_inflate),
    };
    return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
