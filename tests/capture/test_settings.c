/* What was changed is put back however the process that changed it ends. */
#include "../scratch_file.h"
#include "capture/faults/settings.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BEFORE = 4, CHANGED = 7 };

/* A file in place of a setting of the kernel's. */
static void open_file(struct settings *settings)
{
    int file = open(scratch_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    *settings = (struct settings){.count = 1, .files = {file}, .before = {BEFORE}, .now = {BEFORE}};
}

static int value_there(void)
{
    char digit = 0;
    int file = open(scratch_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(file, &digit, 1), 1);
    close(file);
    return digit - '0';
}

static void it_is_put_back_at_the_end(void **state)
{
    (void)state;
    struct settings settings, other;
    struct error err = {0};
    open_file(&settings);
    open_file(&other);
    assert_true(settings_set(&settings, SETTING_BALANCING, CHANGED) < 0); /* nobody would put it back */
    assert_int_equal(settings_hold(&settings, &err), 0);
    assert_int_equal(settings_set(&settings, SETTING_BALANCING, CHANGED), 0);
    assert_int_equal(value_there(), CHANGED);
    assert_true(settings_hold(&other, &err) < 0); /* one run at a time */
    settings_close(&settings);
    assert_int_equal(value_there(), BEFORE);
    assert_int_equal(settings_hold(&other, &err), 0);
    settings_close(&other);
}

static void it_is_put_back_when_the_process_is_killed(void **state)
{
    (void)state;
    struct settings settings;
    int changed[2], keeper[2];
    char byte;
    assert_int_equal(pipe(changed), 0);
    assert_int_equal(pipe(keeper), 0); /* whose writing end the keeper has too: it ends when the keeper has ended */
    pid_t child = fork();
    if (child == 0) {
        struct error err = {0};
        close(keeper[0]);
        open_file(&settings);
        if (settings_hold(&settings, &err) < 0 || settings_set(&settings, SETTING_BALANCING, CHANGED) < 0 ||
            write(changed[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(keeper[1]);
    assert_int_equal(read(changed[0], &byte, 1), 1);
    assert_int_equal(value_there(), CHANGED);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(keeper[0], &byte, 1), 0);
    assert_int_equal(value_there(), BEFORE);
    close(keeper[0]);
    close(changed[0]);
    close(changed[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_put_back_at_the_end),
        cmocka_unit_test(it_is_put_back_when_the_process_is_killed),
    };
    return cmocka_run_group_tests_name("capture/settings", tests, scratch_make, scratch_remove);
}
