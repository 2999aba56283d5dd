#include "wire/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* They stand behind a count: "1 burst without a memory access". */
static void one_loss_is_not_many(void **state)
{
    (void)state;
    for (unsigned cause = 0; cause < LOSS_CAUSES; cause++) {
        assert_non_null(loss_text(cause, 1));
        assert_non_null(loss_text(cause, 2));
        assert_string_not_equal(loss_text(cause, 1), loss_text(cause, 2));
        assert_string_equal(loss_text(cause, 0), loss_text(cause, 2));
    }
    assert_string_equal(loss_text(LOSS_TICK_NO_ACCESS, 1), "burst without a memory access");
    assert_string_equal(loss_text(LOSS_TICK_NO_ACCESS, 7), "bursts without a memory access");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_loss_is_not_many)};
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
