/* When memory runs out, the process ends with one line that says so. */
#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void exhausted_memory_ends_the_process(void **state)
{
    (void)state;
    int ends[2], status = 0;
    char line[128] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL); /* cmocka's handler */
        dup2(ends[1], STDERR_FILENO);
        mem_exhausted(4711);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(ends[0], line, sizeof line - 1) > 0);
    close(ends[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    static const char said[] = "numalens: out of memory (4711 bytes wanted)\n";
    assert_memory_equal(line, said, sizeof said - 1); /* an emulator adds a line of its own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhausted_memory_ends_the_process),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
