/* test_python_find.c - an interpreter of Python is one whose structures are known. This program has the symbols of one itself. */
#include "agent/script/python.h"
#include "agent/unwind/stack.h"
#include "base/python_frames.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

/* What an interpreter exports. */
extern uint64_t _PyRuntime[64], PyCode_Type, Py_Version;
extern char _PyEval_EvalFrameDefault(void);
uint64_t _PyRuntime[64], PyCode_Type = 1, Py_Version;
char _PyEval_EvalFrameDefault(void)
{
    return 1;
}

/* The rest of the agent, as far as script/python_find.c needs it. */
unsigned (*stack_script)(struct agent_thread *self, struct script_thread *thread, struct script_frame *frames,
                         bool may_wait);
uint64_t (*stack_script_array)(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                               uint64_t high, bool may_wait);
static unsigned starts;

bool python_read_own(void *context, uint64_t from, void *to, size_t bytes)
{
    (void)context;
    memcpy(to, (const void *)from, bytes);
    return true;
}

void python_start(const struct python_where *found)
{
    assert_int_equal(found->runtime, _PyRuntime);
    starts++;
}

uint64_t numpy_array(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                     uint64_t high, bool may_wait)
{
    (void)self, (void)thread, (void)bytes, (void)sp, (void)high, (void)may_wait;
    return 0;
}

static int own_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1; /* the program comes first */
}

static unsigned starts_of(uint64_t version)
{
    char path[4096];
    uint64_t bias = 0;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    dl_iterate_phdr(own_bias, &bias);
    Py_Version = version;
    stack_script_array = NULL;
    starts = 0;
    python_module_added(path, bias);
    assert_int_equal(stack_script_array != NULL, starts);
    return starts;
}

static void only_what_is_known_is_followed(void **state)
{
    (void)state;
    assert_int_equal(starts_of(0x030b02f0), 1);
    assert_int_equal(starts_of(0x030e00f0), 0); /* nobody knows its structures yet */
    assert_int_equal(starts_of(0x030d00f0), 0); /* its own description is missing; */
    memcpy(_PyRuntime, "xdebugpy", 8);
    _PyRuntime[1] = 0x030d00f0;
    for (unsigned i = 3; i < 64; i++)
        _PyRuntime[i] = PYTHON_CODE_FROM;
    assert_int_equal(starts_of(0x030d00f0), 1);
    _PyRuntime[35] = 4096; /* or has something where it is not looked for */
    assert_int_equal(starts_of(0x030d00f0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_is_known_is_followed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
