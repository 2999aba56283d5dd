/* A file is there whole or not at all, whatever was there before. */
#include "base/mem.h"
#include "base/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { LARGE = 100000 };

static char folder[64], path[96];

static int fill_small(FILE *out, const void *context, struct error *err)
{
    (void)err;
    fputs(context, out);
    return 0;
}

static int fill_failing(FILE *out, const void *context, struct error *err)
{
    fputs(context, out);
    return error_set(err, -ENODATA, "there is nothing to write");
}

static int fill_large(FILE *out, const void *context, struct error *err)
{
    (void)context, (void)err;
    for (int i = 0; i < LARGE; i++)
        fputc('x', out);
    return 0;
}

static void holds(const char *file, const char *text)
{
    char read[64] = {0};
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    assert_int_equal(fread(read, 1, sizeof read - 1, in), strlen(text));
    fclose(in);
    assert_string_equal(read, text);
}

static unsigned files_there(void)
{
    unsigned count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/numalens-replace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/page.html", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    char *link = mem_format("%s/link", folder);
    unlink(link);
    free(link);
    return rmdir(folder);
}

static void a_new_file_has_the_usual_mode(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat file;
    mode_t old = umask(027);
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_small, "one", &err), 0);
    umask(old);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    holds(path, "one");
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_small, "two", &err), 0);
    holds(path, "two");
    assert_int_equal(files_there(), 1);
}

static void what_is_the_owners_stays_so_and_a_mode_that_was_chosen_stays_too(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat file;
    mode_t old = umask(0);
    assert_int_equal(replace_file(path, REPLACE_FOR_OWNER, fill_small, "one", &err), 0);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(replace_file(path, REPLACE_FOR_OWNER, fill_small, "two", &err), 0);
    umask(old);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0644);
    holds(path, "two");
}

/* A limit on the size of files fails as a full disk does. */
static void a_full_disk_leaves_the_old_one(void **state)
{
    (void)state;
    struct error err = {0};
    struct rlimit old, little;
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_small, "old", &err), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    little = (struct rlimit){LARGE / 2, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    int failed = replace_file(path, REPLACE_BY_UMASK, fill_large, NULL, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(failed, -EFBIG);
    assert_non_null(strstr(err.text, path));
    holds(path, "old");
    assert_int_equal(files_there(), 1);
}

/* What was written up to a failure of the writer's own takes nothing's place. */
static void a_writer_that_fails_leaves_the_old_one(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_failing, "half", &err), -ENODATA);
    assert_string_equal(err.text, "there is nothing to write");
    assert_int_equal(files_there(), 0);
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_small, "old", &err), 0);
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_failing, "half", &err), -ENODATA);
    holds(path, "old");
    assert_int_equal(files_there(), 1);
    assert_int_equal(replace_file("/dev/null", REPLACE_BY_UMASK, fill_failing, "half", &err), -ENODATA);
}

static void folders_and_nowhere_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(replace_file(folder, REPLACE_BY_UMASK, fill_small, "one", &err), -EISDIR);
    char *nowhere = mem_format("%s/none/page.html", folder);
    assert_int_equal(replace_file(nowhere, REPLACE_BY_UMASK, fill_small, "one", &err), -ENOENT);
    assert_non_null(strstr(err.text, nowhere));
    free(nowhere);
    assert_int_equal(files_there(), 0);
}

static void links_and_devices_stay_what_they_are(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat file;
    char *link = mem_format("%s/link", folder);
    assert_int_equal(replace_file(path, REPLACE_BY_UMASK, fill_small, "old", &err), 0);
    assert_int_equal(symlink("page.html", link), 0);
    assert_int_equal(replace_file(link, REPLACE_BY_UMASK, fill_small, "new", &err), 0);
    assert_int_equal(lstat(link, &file), 0);
    assert_true(S_ISLNK(file.st_mode));
    holds(path, "new");
    free(link);
    assert_int_equal(replace_file("/dev/null", REPLACE_BY_UMASK, fill_small, "new", &err), 0);
    assert_int_equal(stat("/dev/null", &file), 0);
    assert_true(S_ISCHR(file.st_mode));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(replace_file("/dev/full", REPLACE_BY_UMASK, fill_large, NULL, &err), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_file_has_the_usual_mode, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_the_owners_stays_so_and_a_mode_that_was_chosen_stays_too, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_one, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_writer_that_fails_leaves_the_old_one, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(folders_and_nowhere_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(links_and_devices_stay_what_they_are, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("replace", tests, NULL, NULL);
}
