/* early_late.c - allocation before constructors have run and after destructors have.
 * Truth: the blocks allocated early can be freed late, and vice versa. */
#include "../example.h"

#include <unistd.h>

static char *early, *early_freed;

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(9);
}

static void before_constructors(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    early = malloc(1000);
    early_freed = malloc(100000);
    memset(early, 1, 1000);
    free(early_freed);
    say("before constructors\n");
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = before_constructors;

__attribute__((constructor(101))) static void first_constructor(void)
{
    early = realloc(early, 5000);
    say("first constructor\n");
}

__attribute__((destructor(101))) static void last_destructor(void)
{
    char *late = calloc(1, 3000);
    late[5] = early[999];
    free(early);
    late = realloc(late, 300000);
    say(late[5] == 1 ? "last destructor\n" : "the early block is lost\n");
    free(late);
}

static void at_exit(void)
{
    free(malloc(77));
    say("at exit\n");
}

int main(void)
{
    atexit(at_exit);
    say("main\n");
    return 5;
}
