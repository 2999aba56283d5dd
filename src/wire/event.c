#include "wire/custom.h"
#include "wire/event.h"

#define NAME_OF(table, index) ((index) < sizeof(table) / sizeof *(table) && (table)[index] ? (table)[index] : "unknown")

static const char *const loss_names[LOSS_CAUSES] = {
    [LOSS_RING_FULL] = "ring_full",
    [LOSS_SAMPLE_FULL] = "sample_full",
    [LOSS_NO_RING] = "no_ring",
    [LOSS_PERF] = "perf_lost",
    [LOSS_THROTTLED] = "throttled",
    [LOSS_TICK_MASKED] = "tick_masked",
    [LOSS_TICK_BUSY] = "tick_busy",
    [LOSS_TICK_BUDGET] = "tick_budget",
    [LOSS_TICK_UNSTEPPED] = "tick_unstepped",
    [LOSS_TICK_NO_ACCESS] = "tick_no_access",
    [LOSS_STACK_TABLE] = "stack_table",
    [LOSS_HOME_UNKNOWN] = "home_unknown",
    [LOSS_DISK] = "disk",
    [LOSS_MEMORY] = "memory",
    [LOSS_CHILD_UNTRACKED] = "child_untracked",
    [LOSS_HEAP_UNSEEN] = "heap_unseen",
    [LOSS_FN_MISSING] = "fn_missing",
    [LOSS_FN_REFUSED] = "fn_refused",
    [LOSS_FN_NESTED] = "fn_nested",
    [LOSS_AUX_FULL] = "aux_full",
    [LOSS_COLLISION] = "collision",
    [LOSS_CHILD_PRELOAD] = "child_preload",
    [LOSS_THREAD_ENDED] = "thread_ended",
    [LOSS_NO_KEY] = "no_key",
    [LOSS_UNREACHABLE] = "unreachable",
    [LOSS_PAUSED] = "recorder_paused",
    [LOSS_RESTRICTED] = "restricted",
    [LOSS_NO_COUNTER] = "no_counter",
    [LOSS_NO_TICK] = "no_tick",
    [LOSS_SANITIZED] = "sanitized",
    [LOSS_TRACED] = "traced",
};

static const char *const loss_texts[LOSS_CAUSES] = {
    [LOSS_RING_FULL] = "allocations or releases not recorded: ring full",
    [LOSS_SAMPLE_FULL] = "samples not recorded: ring full",
    [LOSS_NO_RING] = "events of threads that found no free ring",
    [LOSS_PERF] = "kernel events lost",
    [LOSS_THROTTLED] = "times throttled by the kernel",
    [LOSS_TICK_MASKED] = "ticks skipped: thread blocks signals",
    [LOSS_TICK_BUSY] = "ticks skipped: thread was inside the agent",
    [LOSS_TICK_BUDGET] = "ticks skipped to stay inside the overhead budget",
    [LOSS_TICK_UNSTEPPED] = "bursts ended by an instruction that cannot be stepped",
    [LOSS_TICK_NO_ACCESS] = "bursts without a memory access",
    [LOSS_STACK_TABLE] = "call chains not kept: table full",
    [LOSS_HOME_UNKNOWN] = "pages whose home node the kernel did not return",
    [LOSS_DISK] = "events not written: disk full or write error",
    [LOSS_MEMORY] = "events not kept: memory bound of the recorder",
    [LOSS_CHILD_UNTRACKED] = "child programs that could not be followed",
    [LOSS_HEAP_UNSEEN] = "programs with a malloc of their own inside the executable: allocations not seen",
    [LOSS_FN_MISSING] = "named functions that were never found",
    [LOSS_FN_REFUSED] = "named functions that could not be hooked",
    [LOSS_FN_NESTED] = "calls of named functions skipped: too many unfinished ones",
    [LOSS_AUX_FULL] = "stretches of hardware samples cut: buffer full",
    [LOSS_COLLISION] = "stretches in which hardware samples collided",
    [LOSS_CHILD_PRELOAD] =
        "child programs started without the agent: LD_PRELOAD was emptied for them; record them directly",
    [LOSS_THREAD_ENDED] = "allocations or releases of threads that were ending",
    [LOSS_NO_KEY] = "processes not recorded: the program's libraries hold all of the first 32 pthread keys",
    [LOSS_UNREACHABLE] = "programs not recorded: in a network namespace of their own, without the recorder's /proc",
    [LOSS_PAUSED] = "pauses of the recorder (stopped, suspended or starved): events of that time may be missing",
    [LOSS_RESTRICTED] = "processes not recorded once their system calls were restricted (seccomp)",
    [LOSS_NO_COUNTER] = "processes not recorded once the processor's counter was forbidden to them (prctl PR_SET_TSC)",
    [LOSS_NO_TICK] = "threads not sampled: no ticks (seccomp, ulimit -i) or no executable memory; try --source outside",
    [LOSS_SANITIZED] = "programs not recorded: built with -fsanitize=address, thread, memory or leak; build without it",
    [LOSS_TRACED] = "programs not recorded: under a debugger, a tracer or valgrind; record without it",
};

/* When there was one of them. */
static const char *const loss_texts_of_one[LOSS_CAUSES] = {
    [LOSS_RING_FULL] = "allocation or release not recorded: ring full",
    [LOSS_SAMPLE_FULL] = "sample not recorded: ring full",
    [LOSS_NO_RING] = "event of a thread that found no free ring",
    [LOSS_PERF] = "kernel event lost",
    [LOSS_THROTTLED] = "time throttled by the kernel",
    [LOSS_TICK_MASKED] = "tick skipped: thread blocks signals",
    [LOSS_TICK_BUSY] = "tick skipped: thread was inside the agent",
    [LOSS_TICK_BUDGET] = "tick skipped to stay inside the overhead budget",
    [LOSS_TICK_UNSTEPPED] = "burst ended by an instruction that cannot be stepped",
    [LOSS_TICK_NO_ACCESS] = "burst without a memory access",
    [LOSS_STACK_TABLE] = "call chain not kept: table full",
    [LOSS_HOME_UNKNOWN] = "page whose home node the kernel did not return",
    [LOSS_DISK] = "event not written: disk full or write error",
    [LOSS_MEMORY] = "event not kept: memory bound of the recorder",
    [LOSS_CHILD_UNTRACKED] = "child program that could not be followed",
    [LOSS_HEAP_UNSEEN] = "program with a malloc of its own inside the executable: allocations not seen",
    [LOSS_FN_MISSING] = "named function that was never found",
    [LOSS_FN_REFUSED] = "named function that could not be hooked",
    [LOSS_FN_NESTED] = "call of a named function skipped: too many unfinished ones",
    [LOSS_AUX_FULL] = "stretch of hardware samples cut: buffer full",
    [LOSS_COLLISION] = "stretch in which hardware samples collided",
    [LOSS_CHILD_PRELOAD] = "child program started without the agent: LD_PRELOAD was emptied for it; record it directly",
    [LOSS_THREAD_ENDED] = "allocation or release of a thread that was ending",
    [LOSS_NO_KEY] = "process not recorded: the program's libraries hold all of the first 32 pthread keys",
    [LOSS_UNREACHABLE] = "program not recorded: in a network namespace of its own, without the recorder's /proc",
    [LOSS_PAUSED] = "pause of the recorder (stopped, suspended or starved): events of that time may be missing",
    [LOSS_RESTRICTED] = "process not recorded once its system calls were restricted (seccomp)",
    [LOSS_NO_COUNTER] = "process not recorded once the processor's counter was forbidden to it (prctl PR_SET_TSC)",
    [LOSS_NO_TICK] = "thread not sampled: no ticks (seccomp, ulimit -i) or no executable memory; try --source outside",
    [LOSS_SANITIZED] = "program not recorded: built with -fsanitize=address, thread, memory or leak; build without it",
    [LOSS_TRACED] = "program not recorded: under a debugger, a tracer or valgrind; record without it",
};

static const char *const alloc_names[ALLOC_FNS] = {
#define ALLOC_FN(NAME, name) [ALLOC_##NAME] = name,
    ALLOC_FN_LIST(ALLOC_FN)
#undef ALLOC_FN
};

static const char *const refusal_texts[CUSTOM_REFUSALS] = {
    [CUSTOM_TOO_SHORT] = "too short",
    [CUSTOM_BRANCH_INSIDE] = "a branch leads into its first bytes",
    [CUSTOM_NOT_MOVABLE] = "its first instructions cannot be moved",
    [CUSTOM_NO_ROOM] = "no free memory near it",
    [CUSTOM_NOT_WRITABLE] = "the system does not let its code be changed",
    [CUSTOM_THREADS_RUN] = "other threads were running already",
    [CUSTOM_CODE_DIFFERS] = "its code is not that of its file",
    [CUSTOM_INDIRECT] = "its address is chosen at run time (IFUNC)",
    [CUSTOM_SHADOW_STACK] = "the processor guards return addresses",
};

static const char *const source_names[] = {
    [SOURCE_SOFT] = "soft", [SOURCE_PEBS] = "pebs",     [SOURCE_IBS] = "ibs",
    [SOURCE_SPE] = "spe",   [SOURCE_FAULTS] = "faults",
};

static const char *const level_names[] = {
    [LEVEL_UNKNOWN] = "unknown",
    [LEVEL_L1] = "l1",
    [LEVEL_LFB] = "lfb",
    [LEVEL_L2] = "l2",
    [LEVEL_L3] = "l3",
    [LEVEL_RAM] = "ram",
    [LEVEL_REMOTE_CACHE] = "remote-cache",
    [LEVEL_REMOTE_RAM] = "remote-ram",
    [LEVEL_IO] = "io",
    [LEVEL_UNCACHED] = "uncached",
};

static const char *const mechanism_names[PAGE_MECHANISMS] = {
    [PAGE_FIRST_TOUCH] = "first-touch", [PAGE_NUMA_HINT] = "numa-hint", [PAGE_SOFT_DIRTY] = "soft-dirty",
    [PAGE_UFFD_WP] = "uffd-wp",         [PAGE_IMPORTED] = "imported",
};

const char *loss_name(unsigned cause)
{
    return NAME_OF(loss_names, cause);
}

const char *loss_text(unsigned cause, uint64_t count)
{
    return count == 1 ? NAME_OF(loss_texts_of_one, cause) : NAME_OF(loss_texts, cause);
}

const char *alloc_fn_name(unsigned fn)
{
    return NAME_OF(alloc_names, fn);
}

const char *sample_source_name(unsigned source)
{
    return NAME_OF(source_names, source);
}

const char *sample_level_name(unsigned level)
{
    return NAME_OF(level_names, level);
}

const char *page_mechanism_name(unsigned mechanism)
{
    return NAME_OF(mechanism_names, mechanism);
}

const char *custom_refusal_text(unsigned refusal)
{
    return NAME_OF(refusal_texts, refusal);
}
