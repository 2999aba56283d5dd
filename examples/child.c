/* child.c - a child process does the work.
 *     child --fork | --exec | --spawn        how the child comes about
 * Truth: `array` gets all samples and belongs to the child; the parent waits. */
#include "example.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int work(long rounds)
{
    size_t count = 65536;
    volatile long *array = malloc(count * sizeof *array); /* site: array */
    example_need(array, "malloc");
    long total = 0;
    for (size_t i = 0; i < count; i++)
        array[i] = (long)i;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            total += array[i];
    }
    printf("total %ld\n", total);
    fflush(stdout);
    free((void *)array);
    return 7;
}

int main(int argc, char **argv)
{
    long rounds = example_work(argc, argv, "rounds", 35000);
    if (example_flag(argc, argv, "work"))
        return work(rounds);
    char wish[32];
    snprintf(wish, sizeof wish, "--rounds=%ld", example_option(argc, argv, "rounds", 35000));
    char self[] = "/proc/self/exe", flag[] = "--work";
    char *arguments[] = {argv[0], flag, wish, NULL};
    pid_t child = -1;
    if (example_flag(argc, argv, "spawn")) {
        example_need(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0, "posix_spawn");
    } else {
        child = fork();
        example_need(child >= 0, "fork");
        if (child == 0) {
            if (example_flag(argc, argv, "exec")) {
                execv(self, arguments);
                _exit(98);
            }
            return work(rounds);
        }
    }
    int status = 0;
    example_need(waitpid(child, &status, 0) == child, "waitpid");
    printf("child ended with %d\n", WEXITSTATUS(status));
    return WEXITSTATUS(status) == 7 ? 0 : 1;
}
