/* Reads instructions in hexadecimal, one a line, and prints what the decoder makes of each: for decode_corpus.py. */
#include "decode_text.h"

#include <stdio.h>

int main(void)
{
    char line[256], text[256];
    uint8_t bytes[32];
    while (fgets(line, sizeof line, stdin)) {
        decode_text(bytes, decode_hex(line, bytes, sizeof bytes), text, sizeof text);
        puts(text);
    }
    return 0;
}
