/* fork_threads.c - threads that fork, while other threads allocate. Each child allocates, computes and ends.
 * Truth: all children end with the status their number gives. */
#include "../example.h"

#include <sys/wait.h>
#include <unistd.h>

static volatile bool stop;

static void *allocate(void *argument)
{
    (void)argument;
    while (!stop) {
        char *block = malloc(100);
        block[0] = 1;
        block = realloc(block, 3000);
        free(block);
    }
    return NULL;
}

static void *multiply(void *argument)
{
    size_t number = (size_t)argument;
    long good = 0;
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        example_need(child >= 0, "fork");
        if (child == 0) {
            volatile long *numbers = calloc(5000, sizeof *numbers);
            long total = 0;
            for (long i = 0; i < 5000; i++) {
                numbers[i] = i;
                total += numbers[i];
            }
            free((void *)numbers);
            _exit(total == 12497500 ? (int)number + 10 : 1);
        }
        int status;
        example_need(waitpid(child, &status, 0) == child, "waitpid");
        good += WIFEXITED(status) && WEXITSTATUS(status) == (int)number + 10;
    }
    return (void *)good;
}

int main(void)
{
    pthread_t allocators[2], forkers[3];
    for (size_t i = 0; i < 2; i++)
        allocators[i] = example_thread(allocate, NULL);
    for (size_t i = 0; i < 3; i++)
        forkers[i] = example_thread(multiply, (void *)i);
    long good = 0;
    for (size_t i = 0; i < 3; i++) {
        void *result;
        pthread_join(forkers[i], &result);
        good += (long)result;
    }
    stop = true;
    for (size_t i = 0; i < 2; i++)
        pthread_join(allocators[i], NULL);
    printf("good children %ld\n", good);
    return good == 120 ? 0 : 1;
}
