/* The words of --alloc-fn, --free-fn and --pool-fn. */
#include "capture/agent/custom_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct wire_custom one(enum custom_option option, const char *text)
{
    static struct custom_specs specs;
    struct error err = {0};
    specs = (struct custom_specs){0};
    if (custom_spec_add(&specs, option, text, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(specs.count, 1);
    return specs.items[0];
}

static void test_allocations(void **state)
{
    (void)state;
    struct wire_custom spec = one(CUSTOM_ALLOC_FN, "apr_palloc:size=2,ret");
    assert_string_equal(spec.name, "apr_palloc");
    assert_int_equal(spec.role, CUSTOM_ALLOC);
    assert_int_equal(spec.size, 2);
    assert_int_equal(spec.count + spec.out + spec.pool + spec.pointer + spec.is_text, 0);
    spec = one(CUSTOM_ALLOC_FN, "f:count=1,size=2,pool=3,out=4,ok=nonzero,old=5");
    assert_int_equal(spec.count, 1);
    assert_int_equal(spec.size, 2);
    assert_int_equal(spec.pool, 3);
    assert_int_equal(spec.out, 4);
    assert_int_equal(spec.when, CUSTOM_WHEN_NOT_ZERO);
    assert_int_equal(spec.pointer, 5);
    spec = one(CUSTOM_ALLOC_FN, "f:size=3*8");
    assert_int_equal(spec.size, 3);
    assert_int_equal(spec.count, 8);
    assert_int_equal(one(CUSTOM_ALLOC_FN, "f:size=text").is_text, 1);
}

static void test_frees_and_pools(void **state)
{
    (void)state;
    struct wire_custom spec = one(CUSTOM_FREE_FN, "my_free:ptr=1");
    assert_int_equal(spec.role, CUSTOM_FREE);
    assert_int_equal(spec.pointer, 1);
    spec = one(CUSTOM_POOL_FN, "p:create,out=1,ok=0,parent=2");
    assert_int_equal(spec.role, CUSTOM_POOL_CREATE);
    assert_int_equal(spec.out, 1);
    assert_int_equal(spec.when, CUSTOM_WHEN_ZERO);
    assert_int_equal(spec.parent, 2);
    assert_int_equal(one(CUSTOM_POOL_FN, "p:create,ret").role, CUSTOM_POOL_CREATE);
    assert_int_equal(one(CUSTOM_POOL_FN, "p:create").out, 0);
    assert_int_equal(one(CUSTOM_POOL_FN, "p:clear,pool=8").pool, 8);
    assert_int_equal(one(CUSTOM_POOL_FN, "p:destroy,pool=1").role, CUSTOM_POOL_DESTROY);
    spec = one(CUSTOM_POOL_FN, "p:alloc,pool=1,size=2");
    assert_int_equal(spec.role, CUSTOM_ALLOC);
    assert_int_equal(spec.pool, 1);
    /* A name may have colons: C++ */
    assert_string_equal(one(CUSTOM_FREE_FN, "a::b(int):ptr=1").name, "a::b(int)");
}

static void test_ready_set(void **state)
{
    (void)state;
    struct custom_specs specs = {0};
    struct error err = {0};
    assert_int_equal(custom_spec_add(&specs, CUSTOM_POOL_FN, "apr", &err), 0);
    assert_true(specs.count >= 6);
    char *names = custom_spec_names(specs.items, specs.count);
    assert_non_null(strstr(names, "apr_palloc "));
    assert_non_null(strstr(names, "apr_pool_destroy"));
    free(names);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        enum custom_option option;
        const char *text, *says;
    } bad[] = {
        {CUSTOM_ALLOC_FN, "", "NAME:WORDS"},
        {CUSTOM_ALLOC_FN, "f", "NAME:WORDS"},
        {CUSTOM_ALLOC_FN, ":size=1", "NAME:WORDS"},
        {CUSTOM_ALLOC_FN, "f:", "empty word"},
        {CUSTOM_ALLOC_FN, "f:ret", "size=N is missing"},
        {CUSTOM_ALLOC_FN, "f:size=0", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=9", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=-1", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=1x", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=1*", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=99999999999999999999", "from 1 to 8"},
        {CUSTOM_ALLOC_FN, "f:size=1,size=2", "twice"},
        {CUSTOM_ALLOC_FN, "f:size=1*2,count=3", "twice"},
        {CUSTOM_ALLOC_FN, "f:size=text,count=3", "no count"},
        {CUSTOM_ALLOC_FN, "f:size=1,,ret", "empty word"},
        {CUSTOM_ALLOC_FN, "f:size=1,ret,out=2", "exclude"},
        {CUSTOM_ALLOC_FN, "f:size=1,ok=0", "out="},
        {CUSTOM_ALLOC_FN, "f:size=1,out=2,ok=1", "ok=0 or ok=nonzero"},
        {CUSTOM_ALLOC_FN, "f:size=1,colour=2", "not understood"},
        {CUSTOM_ALLOC_FN, "f:size=1,ptr=2", "not understood"},
        {CUSTOM_ALLOC_FN, "f g:size=1", "no blanks"},
        {CUSTOM_FREE_FN, "f:size=1", "not understood"},
        {CUSTOM_FREE_FN, "f:ret", "not understood"},
        {CUSTOM_POOL_FN, "nothing", "ready set"},
        {CUSTOM_POOL_FN, "f:pool=1", "first word"},
        {CUSTOM_POOL_FN, "f:clear", "pool=N is missing"},
        {CUSTOM_POOL_FN, "f:clear,size=1", "not understood"},
        {CUSTOM_POOL_FN, "f:create,pool=1", "not understood"},
        {CUSTOM_POOL_FN, "f:alloc,pool=1", "size=N is missing"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct custom_specs specs = {0};
        struct error err = {0};
        assert_int_equal(custom_spec_add(&specs, bad[i].option, bad[i].text, &err), -EINVAL);
        assert_int_equal(specs.count, 0);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' says: %s", bad[i].text, err.text);
    }
}

static void test_too_many(void **state)
{
    (void)state;
    struct custom_specs specs = {0};
    struct error err = {0};
    char text[WIRE_CUSTOM_NAME + 32];
    for (unsigned i = 0; i < WIRE_CUSTOM_MOST; i++) {
        snprintf(text, sizeof text, "f%u:ptr=1", i);
        assert_int_equal(custom_spec_add(&specs, CUSTOM_FREE_FN, text, &err), 0);
    }
    assert_int_equal(custom_spec_add(&specs, CUSTOM_FREE_FN, "g:ptr=1", &err), -EINVAL);
    specs.count = 1;
    assert_int_equal(custom_spec_add(&specs, CUSTOM_ALLOC_FN, "f0:size=1", &err), -EINVAL);
    memset(text, 'x', sizeof text);
    strcpy(text + WIRE_CUSTOM_NAME, ":ptr=1");
    assert_int_equal(custom_spec_add(&specs, CUSTOM_FREE_FN, text, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations), cmocka_unit_test(test_frees_and_pools), cmocka_unit_test(test_ready_set),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
