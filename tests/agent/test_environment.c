#include "agent/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void the_region_is_read(void **state)
{
    (void)state;
    struct environment_region found;
    char *good[] = {"A=1", "NUMALENS_REGION=12:3:18446744073709551615:7", NULL};
    assert_true(environment_read(good, &found));
    assert_int_equal(found.pid, 12);
    assert_int_equal(found.fd, 3);
    assert_true(found.nonce == UINT64_MAX);
    assert_int_equal(found.filters, 7);
    static char *const wrong[] = {"NUMALENS_REGION=",         "NUMALENS_REGION=1:2:3",
                                  "NUMALENS_REGION=1:2:3:",   "NUMALENS_REGION=1:2:3:0x",
                                  "NUMALENS_REGION=-1:2:3:0", "NUMALENS_REGION=1:2:18446744073709551616:0",
                                  "NUMALENS_REGIONS=1:2:3:0", "NUMALENS_REGION= 1:2:3:0"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *environment[] = {wrong[i], NULL};
        assert_false(environment_read(environment, &found));
    }
}

static void strips_to(const char *before, const char *after)
{
    char preload[256], region[] = "NUMALENS_REGION=1:2:3", first[] = "A=LD_PRELOAD", last[] = "LD_PRELOADS=x";
    strcpy(preload, before);
    char *environment[] = {first, preload, region, last, NULL};
    environment_strip(environment);
    assert_string_equal(environment[0], "A=LD_PRELOAD");
    if (after)
        assert_string_equal(environment[1], after);
    assert_string_equal(environment[after ? 2 : 1], "LD_PRELOADS=x");
    assert_null(environment[after ? 3 : 2]);
}

static void only_our_entry_goes(void **state)
{
    (void)state;
    strips_to("LD_PRELOAD=/usr/lib/libnumalens-agent.so", NULL);
    strips_to("LD_PRELOAD=libnumalens-agent.so", NULL);
    strips_to("LD_PRELOAD=/a/libnumalens-agent.so:libx.so", "LD_PRELOAD=libx.so");
    strips_to("LD_PRELOAD=libx.so /a/libnumalens-agent.so", "LD_PRELOAD=libx.so");
    strips_to("LD_PRELOAD=libx.so:/a/libnumalens-agent.so:liby.so", "LD_PRELOAD=libx.so:liby.so");
    strips_to("LD_PRELOAD=libx.so:liby.so", "LD_PRELOAD=libx.so:liby.so");
    strips_to("LD_PRELOAD=/a/not-libnumalens-agent.so", "LD_PRELOAD=/a/not-libnumalens-agent.so");
    strips_to("LD_PRELOAD=", "LD_PRELOAD=");
}

static void the_agent_is_put_back_before_others(void **state)
{
    (void)state;
    char *own[] = {"A=1", "LD_PRELOAD=libx.so /a/libnumalens-agent.so:liby.so", NULL};
    char *kept[] = {"NUMALENS_REGION=1:2:3", "LD_PRELOAD=libx.so:/b/libnumalens-agent.so", NULL};
    char *others[] = {"A=1", "NUMALENS_REGION=1:2:3", "LD_PRELOAD=libx.so", "B=2", NULL};
    char *empty[] = {"NUMALENS_REGION=1:2:3", "LD_PRELOAD= :", NULL};
    char *none[] = {"NUMALENS_REGION=1:2:3", NULL};
    char *stranger[] = {"LD_PRELOAD=libx.so", NULL};
    assert_int_equal(environment_room(others), 0); /* nobody knows its path yet */
    environment_note(own);
    assert_int_equal(environment_preload(kept), PRELOAD_AGENT);
    assert_int_equal(environment_preload(stranger), PRELOAD_AGENT);
    assert_int_equal(environment_preload(empty), PRELOAD_NOTHING);
    assert_int_equal(environment_preload(none), PRELOAD_NOTHING);
    assert_int_equal(environment_preload(others), PRELOAD_OTHERS);
    char *room[32];
    assert_true(environment_room(others) <= sizeof room);
    char *const *copy = environment_put_back(others, room);
    assert_string_equal(copy[0], "A=1");
    assert_string_equal(copy[1], "NUMALENS_REGION=1:2:3");
    assert_string_equal(copy[2], "LD_PRELOAD=/a/libnumalens-agent.so:libx.so");
    assert_string_equal(copy[3], "B=2");
    assert_null(copy[4]);
    assert_string_equal(others[2], "LD_PRELOAD=libx.so");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_agent_is_put_back_before_others),
        cmocka_unit_test(the_region_is_read),
        cmocka_unit_test(only_our_entry_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
