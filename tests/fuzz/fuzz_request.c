/* fuzz_request.c - any bytes as what a browser, or somebody else, sends to `numalens view`. */
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request request;
    double number;
    uint64_t integer;
    bool bad = false;
    char *text = malloc(size + 1); /* exactly as long: a step beyond it is seen */
    memcpy(text, data, size);
    text = realloc(text, size ? size : 1);
    size_t length = request_length(text, size);
    if (length > size)
        abort();
    if (request_parse(&request, text, length ? length : size) == 0) {
        request_number(&request, "t0", &number, &bad);
        request_integer(&request, "a0", &integer, &bad);
        if (request.path[0] != '/' || !request.host[0])
            abort();
    }
    free(text);
    return 0;
}
