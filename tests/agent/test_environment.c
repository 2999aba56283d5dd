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
    char *good[] = {"A=1", "NUMALENS_REGION=12:3:18446744073709551615", NULL};
    assert_true(environment_read(good, &found));
    assert_int_equal(found.pid, 12);
    assert_int_equal(found.fd, 3);
    assert_true(found.nonce == UINT64_MAX);
    static char *const wrong[] = {"NUMALENS_REGION=",       "NUMALENS_REGION=1:2",
                                  "NUMALENS_REGION=1:2:",   "NUMALENS_REGION=1:2:3x",
                                  "NUMALENS_REGION=-1:2:3", "NUMALENS_REGION=1:2:18446744073709551616",
                                  "NUMALENS_REGIONS=1:2:3", "NUMALENS_REGION= 1:2:3"};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_region_is_read),
        cmocka_unit_test(only_our_entry_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
