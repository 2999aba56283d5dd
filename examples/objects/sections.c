/* sections.c - accesses to parts of a binary that no variable names: code read as data, a string literal, and the tables
 * that calls into libraries go through.
 *     sections --text | --literal | --calls | --stubs        one of them; [--rounds=N]
 * Truth: with --text all accesses are in .text, with --literal in .rodata. With --calls a short function of a library
 * is called all the time, and each call reads its address in .got (.got.plt where the linker keeps two tables). With --stubs
 * the bytes of .plt itself are read, which a program that is not position-independent can: there a library function's
 * address is its stub's. */
#include "../example.h"

#include <unistd.h>

long in_library(void);

static __attribute__((noinline)) long read_bytes(const volatile char *bytes, size_t count, long passes)
{
    long total = 0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < count; i++)
            total += bytes[i];
    }
    return total;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 4000000), total = 0;
    static const char literal[] = "x";
    if (example_flag(argc, argv, "text")) {
        total = read_bytes((const volatile char *)read_bytes, 32, rounds * 4);
    } else if (example_flag(argc, argv, "literal")) {
        const volatile char *text = &"a literal has no name: what it lies in is all that can be said of it"[!*literal];
        total = read_bytes(text, 64, rounds * 2);
    } else if (example_flag(argc, argv, "stubs")) {
        total = read_bytes((const volatile char *)getppid, 8, rounds * 16);
    } else {
        for (long round = 0; round < rounds * 20; round++)
            total += in_library();
    }
    printf("total %ld\n", total);
    return 0;
}
