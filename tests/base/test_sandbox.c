/* What is given up stays given up, and the rest goes on. Each test in a child, since there is no way back. */
#include "../skip.h"

#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOT_HERE = 77 };

/* The line of source where `trial` failed in a child, 0, or NOT_HERE. */
static int in_child(int (*trial)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(trial());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define REFUSES(call)                                                                                                  \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        if ((call) >= 0 || errno != EPERM)                                                                             \
            return __LINE__;                                                                                           \
    } while (0)

static void *run_thread(void *word)
{
    *(int *)word = socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM;
    return NULL;
}

static int refuses_the_common(void)
{
    char *none[] = {NULL};
    REFUSES(execve("/bin/true", none, none));
    REFUSES(socket(AF_INET, SOCK_STREAM, 0));
    REFUSES(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    REFUSES(mount("none", "/", "tmpfs", 0, NULL));
    REFUSES(setuid(getuid()));
    REFUSES(syscall(SYS_unshare, 0));
    /* What nobody knows does not kill. */
    if (syscall(9999) >= 0 || errno != ENOSYS)
        return __LINE__;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return __LINE__;
    int file = open("/proc/self/status", O_RDONLY);
    return file < 0 || close(file) < 0 ? __LINE__ : 0;
}

static int server(void)
{
    pthread_t thread;
    int refused = 0;
    if (sandbox_enter(SANDBOX_SERVER) < 0)
        return NOT_HERE;
    int line = refuses_the_common();
    if (line)
        return line;
    REFUSES(fork());
    if (pthread_create(&thread, NULL, run_thread, &refused) != 0 || pthread_join(thread, NULL) != 0 || !refused)
        return __LINE__;
    return 0;
}

static int reader(void)
{
    if (sandbox_enter(SANDBOX_READER) < 0)
        return NOT_HERE;
    int line = refuses_the_common();
    pid_t child = line ? -1 : fork();
    if (child == 0)
        _exit(0);
    return line ? line : child < 0 ? __LINE__ : 0;
}

static volatile bool entered;

/* A thread that was there before the filter. */
static void *wait_and_try(void *word)
{
    while (!entered)
        usleep(1000);
    return run_thread(word);
}

static int threads(void)
{
    pthread_t thread;
    int refused = 0;
    if (pthread_create(&thread, NULL, wait_and_try, &refused) != 0)
        return __LINE__;
    int code = sandbox_enter(SANDBOX_SERVER);
    entered = true;
    pthread_join(thread, NULL);
    return code < 0 ? NOT_HERE : refused ? 0 : __LINE__;
}

static int capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct before[2] = {0}, after[2] = {0};
    syscall(SYS_capget, &head, before);
    sandbox_drop_capabilities();
    syscall(SYS_capget, &head, after);
    uint32_t dropped = 1u << CAP_SETUID | 1u << CAP_SYS_MODULE | 1u << CAP_NET_ADMIN | 1u << CAP_CHOWN;
    if (after[0].effective & dropped || after[0].permitted & dropped || after[0].inheritable)
        return __LINE__;
    uint32_t kept = 1u << CAP_SYS_PTRACE | 1u << CAP_KILL;
    return (after[0].effective & kept) == (before[0].effective & kept) ? 0 : __LINE__;
}

static void check(int (*trial)(void))
{
    int line = in_child(trial);
#if defined(__SANITIZE_ADDRESS__)
    if (line == NOT_HERE)
        skip_test("a sanitized build restricts nothing: its search for leaks traces");
#endif
    if (line == NOT_HERE)
        skip_test("filters of system calls are refused here");
    if (line)
        fail_msg("line %d (of 256)", line);
}

static void a_server_starts_and_reaches_nobody(void **state)
{
    (void)state;
    check(server);
}

static void a_reader_starts_and_reaches_nobody(void **state)
{
    (void)state;
    check(reader);
}

static void threads_that_run_already_follow(void **state)
{
    (void)state;
    check(threads);
}

static void rights_that_recording_does_not_take_are_dropped(void **state)
{
    (void)state;
    check(capabilities);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_starts_and_reaches_nobody),
        cmocka_unit_test(a_reader_starts_and_reaches_nobody),
        cmocka_unit_test(threads_that_run_already_follow),
        cmocka_unit_test(rights_that_recording_does_not_take_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
