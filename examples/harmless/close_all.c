/* close_all.c - what a daemon does first: closes every descriptor but the standard ones, and uses the freed numbers.
 * Truth: descriptor 3 is the next one to be had, and stays the program's own. */
#include "../example.h"

#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    for (int number = 3; number < 1024; number++)
        close(number);
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    printf("descriptor %d\n", file);
    char *buffer = malloc(1 << 20);
    example_need(buffer, "malloc");
    long total = 0;
    for (int round = 0; round < 3000; round++) {
        memset(buffer, 1, 1 << 20);
        if (read(file, buffer, 1 << 19) != 1 << 19)
            total = -1000;
        for (size_t i = 0; i < 1 << 20; i += 64)
            total += ((volatile char *)buffer)[i];
        closefrom(3);
        file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        example_need(file == 3, "getting descriptor 3 again");
    }
    printf("total %ld\n", total);
    free(buffer);
    return 0;
}
