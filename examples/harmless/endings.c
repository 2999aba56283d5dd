/* endings.c - every way to end, with threads at work: the status must be the program's own.
 *     endings return|exit|_exit|abort|segv|kill|thread_exit|exit_group|exec|trap|term|wait */
#include "../example.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t at_work;

static void *work(void *argument)
{
    volatile long *numbers = argument;
    for (size_t i = 0;; i++) {
        if (i == 100000)
            pthread_barrier_wait(&at_work);
        free(malloc(i % 500));
        numbers[i % 10000] += 1;
    }
    return NULL;
}

static void *leave(void *argument)
{
    (void)argument;
    exit(13);
}

int main(int argc, char **argv)
{
    volatile int *volatile nowhere = NULL;
    const char *way = argc > 1 ? argv[1] : "return";
    long *numbers = calloc(10000, sizeof *numbers);
    example_need(numbers, "calloc");
    pthread_barrier_init(&at_work, NULL, 3);
    for (int i = 0; i < 2; i++)
        example_thread(work, numbers);
    pthread_barrier_wait(&at_work);
    puts("working");
    fflush(stdout);
    if (strcmp(way, "exit") == 0)
        exit(11);
    if (strcmp(way, "_exit") == 0)
        _exit(12);
    if (strcmp(way, "thread_exit") == 0) {
        example_thread(leave, NULL);
        for (;;)
            pause();
    }
    if (strcmp(way, "exit_group") == 0)
        syscall(SYS_exit_group, 14);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "segv") == 0)
        *nowhere = 1;
    if (strcmp(way, "trap") == 0)
        raise(SIGTRAP);
    if (strcmp(way, "term") == 0)
        raise(SIGTERM);
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "echo from the shell; exit 15", (char *)NULL);
    while (strcmp(way, "wait") == 0)
        pause(); /* until a signal ends it */
    return 10;
}
