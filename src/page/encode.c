#include "page/encode.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

int encode_deflate(const struct container_bytes *bytes, struct container_bytes *packed, struct error *err)
{
    uLongf size = compressBound(bytes->size);
    packed->data = mem_alloc(size);
    int failed = compress2(packed->data, &size, bytes->data, bytes->size, Z_DEFAULT_COMPRESSION);
    if (failed != Z_OK) {
        free(packed->data);
        packed->data = NULL;
        return error_set(err, -EIO, "cannot compress the page's data: zlib says %d", failed);
    }
    packed->size = size;
    return 0;
}

size_t encode_base64_size(size_t size)
{
    return (size + 2) / 3 * 4;
}

void encode_base64(const struct container_bytes *bytes, FILE *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { GROUPS = 1024 };
    char text[GROUPS * 4];
    size_t at = 0;
    while (at < bytes->size) {
        size_t length = 0;
        for (; at < bytes->size && length < sizeof text; at += 3) {
            size_t remaining = bytes->size - at;
            uint32_t group = (uint32_t)bytes->data[at] << 16 |
                             (remaining > 1 ? (uint32_t)bytes->data[at + 1] << 8 : 0) |
                             (remaining > 2 ? bytes->data[at + 2] : 0);
            text[length++] = letters[group >> 18];
            text[length++] = letters[group >> 12 & 63];
            text[length++] = remaining > 1 ? letters[group >> 6 & 63] : '=';
            text[length++] = remaining > 2 ? letters[group & 63] : '=';
        }
        fwrite(text, 1, length, out);
    }
}
