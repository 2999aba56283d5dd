/* files.c - a file mapped several times, in parts, shared and private.
 *     files FILE [--rounds=N]        FILE is made, 4 MiB, and removed at the end
 * Truth: FILE's first MiB (mapped at `front`) and its last MiB (at `back`) get 1/4 of the accesses each; its second MiB
 * is mapped, read, unmapped, mapped again and read again at `again`, which makes two objects with 1/4 in all; a page of
 * shared memory without a file (`memory`) gets the last 1/4. */
#include "../example.h"
#include "walk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, ITEMS = MIB / sizeof(long) };

static const volatile long *need(void *mapped)
{
    example_need(mapped != MAP_FAILED, "mmap");
    return mapped;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 1200), total = 0;
    const char *path = argc > 1 && argv[1][0] != '-' ? argv[1] : "files.bin";
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), memory = memfd_create("shared", MFD_CLOEXEC);
    example_need(file >= 0 && ftruncate(file, 4 * MIB) == 0, path);
    example_need(memory >= 0 && ftruncate(memory, MIB) == 0, "memfd_create");
    const volatile long *front = need(mmap(NULL, MIB, PROT_READ, MAP_SHARED, file, 0)); /* site: front */
    const volatile long *back =
        need(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 3 * MIB)); /* site: back */
    const volatile long *shared =
        need(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)); /* site: memory */
    for (int turn = 0; turn < 2; turn++) {
        const volatile long *again = need(mmap(NULL, MIB, PROT_READ, MAP_SHARED, file, MIB)); /* site: again */
        for (long round = 0; round < rounds; round++) /* one by one: what else the machine does meets all alike */
            total += walk(front, ITEMS, 1) + walk(back, ITEMS, 1) + walk(again, ITEMS, 1) + walk(shared, ITEMS, 1);
        munmap((void *)again, MIB);
    }
    unlink(path);
    printf("total %ld\n", total);
    return 0;
}
