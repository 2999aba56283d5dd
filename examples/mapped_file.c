/* mapped_file.c - a file mapped into memory, read beside an anonymous mapping.
 *     mapped_file FILE [--rounds=N]        FILE is made, 1 MiB, and removed at the end
 * Truth: the file (kind file) gets 2/3 of the accesses, the anonymous map (kind map) 1/3. */
#include "example.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t count = 1 << 17, size = count * sizeof(long);
    long rounds = example_work(argc, argv, "rounds", 25000);
    const char *path = argc > 1 && argv[1][0] != '-' ? argv[1] : "mapped_file.bin";
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    example_need(file >= 0 && ftruncate(file, (off_t)size) == 0, "making the file");
    volatile long *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    volatile long *plain =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* site: plain */
    example_need(mapped != MAP_FAILED && plain != MAP_FAILED, "mmap");
    close(file);
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i += 2) {
            total += mapped[i] + mapped[i + 1];
            plain[i] = round;
        }
    }
    printf("total %ld\n", total);
    unlink(path);
    if (example_flag(argc, argv, "truth")) {
        example_truth("file", "mapped_file", count * (size_t)rounds, 0);
        example_truth("plain", "mapped_file", 0, count / 2 * (size_t)rounds);
    }
    return 0;
}
