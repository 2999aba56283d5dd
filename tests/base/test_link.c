/* Links are followed as far as they can be trusted. */
#include "../skip.h"

#include "base/link.h"

#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[64];

static char *in_folder(const char *name)
{
    return mem_format("%s/%s", folder, name);
}

static void lay(const char *text, const char *name)
{
    char *path = in_folder(name);
    assert_int_equal(symlink(text, path), 0);
    free(path);
}

static void leads_to(const char *name, const char *target)
{
    struct error err = {0};
    char *path = in_folder(name), *found = link_follow(path, &err), *expected = in_folder(target);
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(path);
    free(found);
    free(expected);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/numalens-link-XXXXXX");
    char *sub;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(mkdir(sub = in_folder("sub"), 0700), 0);
    free(sub);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char *command = mem_format("rm -rf %s", folder);
    int failed = system(command);
    free(command);
    return failed;
}

static void own_links_are_followed(void **state)
{
    (void)state;
    lay("file", "one");
    lay("one", "two");
    lay("sub", "way");
    lay("sub/../file", "around");
    leads_to("file", "file");
    leads_to("two", "file");
    leads_to("way/new", "sub/new");
    leads_to("missing", "missing");
    leads_to("around", "sub/../file");
    assert_int_equal(chmod(folder, 01777), 0);
    leads_to("two", "file");
    struct error err = {0};
    char *plain = link_follow("numalens.data", &err);
    assert_string_equal(plain, "numalens.data");
    free(plain);
}

static void circles_end(void **state)
{
    (void)state;
    struct error err = {0};
    lay("right", "left");
    lay("left", "right");
    char *path = in_folder("left");
    assert_null(link_follow(path, &err));
    assert_int_equal(err.code, -ELOOP);
    free(path);
}

static void others_links_in_shared_directories_are_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_test("only root can make a link that is another's");
    const char *names[] = {"one", "way", "way/new"};
    char *one = in_folder("one"), *way = in_folder("way");
    assert_int_equal(lchown(one, 65534, 65534), 0);
    assert_int_equal(lchown(way, 65534, 65534), 0);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct error err = {0};
        char *path = in_folder(names[i]);
        assert_null(link_follow(path, &err));
        assert_int_equal(err.code, -EACCES);
        assert_non_null(strstr(err.text, "symbolic link of user 65534"));
        free(path);
    }
    assert_int_equal(chmod(folder, 0755), 0); /* nobody but us can have put it there */
    leads_to("one", "file");
    assert_int_equal(chmod(folder, 01777), 0); /* the directory's owner could put anything there anyway */
    assert_int_equal(chown(folder, 65534, 65534), 0);
    leads_to("one", "file");
    free(one);
    free(way);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_links_are_followed),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(others_links_in_shared_directories_are_refused),
    };
    return cmocka_run_group_tests_name("link", tests, make_folder, remove_folder);
}
