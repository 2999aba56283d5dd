/* Files that outlive a killed run. */
#include "capture/faults/rundir.h"
#include "capture/faults/settings.h"
#include "capture/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char place[64], directory[80];

static int make_place(void **state)
{
    (void)state;
    strcpy(place, "/tmp/numalens-test-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(directory, sizeof directory, "%s/run", place);
    return setenv("NUMALENS_RUN_DIR", directory, 1);
}

static int clean_place(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", place);
    return system(command);
}

static void test_files(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat info;
    char text[64], path[128];
    assert_true(rundir_read("note", text, sizeof text) < 0);
    assert_int_equal(rundir_write("note", "one", 3, &err), 0);
    assert_int_equal(rundir_write("note", "other", 5, &err), 0);
    assert_int_equal(rundir_read("note", text, sizeof text), 5);
    assert_string_equal(text, "other");
    snprintf(path, sizeof path, "%s/note", directory);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(stat(directory, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    rundir_remove("note");
    assert_true(rundir_read("note", text, sizeof text) < 0);
}

static void test_strangers(void **state)
{
    (void)state;
    struct error err = {0};
    char text[64], path[128];
    assert_int_equal(rundir_write("note", "x", 1, &err), 0);
    assert_int_equal(chmod(directory, 0777), 0); /* anyone may have put something there */
    assert_true(rundir_read("note", text, sizeof text) < 0);
    assert_true(rundir_write("note", "y", 1, &err) < 0);
    assert_int_equal(chmod(directory, 0700), 0);
    rundir_remove("note");
    snprintf(path, sizeof path, "%s/note", directory);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_true(rundir_read("note", text, sizeof text) < 0);
    rundir_remove("note");
}

static void test_processes(void **state)
{
    (void)state;
    assert_true(procfs_start((uint32_t)getpid()) > 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(procfs_start((uint32_t)child), 0);
}

static void leave(const char *boot, uint32_t pid, uint64_t since, const char *rest)
{
    struct error err = {0};
    char text[512];
    int length =
        snprintf(text, sizeof text, "numalens 1\nboot %s\npid %u since %" PRIu64 "\n%s", boot, pid, since, rest);
    assert_int_equal(rundir_write("settings", text, (size_t)length, &err), 0);
}

/* What was left is put back only when it is of this boot, whole, and nobody's any more. None of these changes a setting. */
static void test_repair(void **state)
{
    (void)state;
    struct error err = {0};
    char what[256], boot[64], text[64];
    rundir_boot_id(boot, sizeof boot);
    assert_int_equal(settings_repair(what, sizeof what, &err), 0);
    leave("another", 1, 1, "kernel.numa_balancing 1\n");
    assert_int_equal(settings_repair(what, sizeof what, &err), 0);
    assert_true(rundir_read("settings", text, sizeof text) < 0); /* of no use any more */
    assert_int_equal(rundir_write("settings", "rubbish", 7, &err), 0);
    assert_int_equal(settings_repair(what, sizeof what, &err), 0);
    leave(boot, (uint32_t)getpid(), procfs_start((uint32_t)getpid()), "kernel.numa_balancing 1\n");
    assert_int_equal(settings_repair(what, sizeof what, &err), 0); /* its owner lives */
    assert_true(rundir_read("settings", text, sizeof text) > 0);
    leave(boot, (uint32_t)getpid(), 1, "no_such_setting 5\n"); /* the number is another process's by now */
    assert_int_equal(settings_repair(what, sizeof what, &err), 1);
    assert_true(rundir_read("settings", text, sizeof text) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_repair),
    };
    return cmocka_run_group_tests(tests, make_place, clean_place);
}
