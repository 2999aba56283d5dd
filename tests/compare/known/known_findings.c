/* known_findings.c - what is found on one object with made-up facts: bent as tests/analysis bends them, up to a bound. */
#include "known.h"
#include "../../analysis/made_facts.h"

#include "compare/check.h"

/* Patterns with how sure each is and what to do first, "for all" where that is a command for the whole program; the undecided; the verdict. */
static void answer(struct made *made, char text[ANSWER])
{
    static const char *const kinds[] = {"undecided", "not", "slows"};
    size_t used = 0;
    patterns(made);
    array_each (&made->findings->items, const struct finding, finding) {
        const struct advice *first = &finding->advice.items[0];
        used += (size_t)snprintf(text + used, ANSWER - used, "%s, %s: %s%s; ", pattern_name(finding->pattern),
                                 claim_word(finding->confidence), action_name(first->action),
                                 strstr(first->code, "numactl") ? " for all" : "");
    }
    snprintf(text + used, ANSWER - used, "%s%s", made->findings->undecided.count ? "one undecided; " : "",
             kinds[made->findings->matters]);
    made_free(made);
}

/* An object that has a tenth of a recording of a second, at 100 Hz. */
static void seldom_met(char text[ANSWER])
{
    struct made *made = make();
    made->object->bursts = 10;
    answer(made, text);
}

/* A program of which one access in 110 is remote, all of them on one object. */
static void hardly_remote(char text[ANSWER])
{
    struct made *made = make();
    made->object->totals.samples = made->object->totals.home_known = 100;
    made->facts.totals.remote = made->object->totals.remote = (SAMPLES + 2000) / 110;
    made->facts.remote_time = made->object->remote_time = 0.002;
    made->facts.remote_time_variance = 0.0001;
    answer(made, text);
}

/* One of 45 equal arrays, as LULESH has them. */
static void one_of_many_arrays(char text[ANSWER])
{
    struct made *made = make();
    made->object->totals.remote = made->facts.totals.remote / 45;
    made->object->totals.samples = made->object->totals.home_known = made->object->totals.remote * 4 / 3;
    answer(made, text);
}

/* Of five threads that use it, one is on another node than it. */
static void one_of_five_threads(char text[ANSWER])
{
    struct made *made = make();
    made->object->totals.remote = SAMPLES / 5;
    answer(made, text);
}

/* One of 18 arrays, and too few bursts to say what it is. */
static void worth_a_line(char text[ANSWER])
{
    struct made *made = make();
    made->object->bursts = 5;
    made->object->totals.remote = made->facts.totals.remote / 18;
    made->object->totals.samples = made->object->totals.home_known = made->object->totals.remote * 4 / 3;
    answer(made, text);
}

/* A worker's buffer that another thread looks into now and then. */
static void others_look_in(char text[ANSWER])
{
    struct made *made = make();
    put_users(made->object, 5, 1);
    made->object->main_user = 5;
    made->object->main_user_node = 2;
    made->object->users.items[0].samples = SAMPLES * 9 / 10;
    array_push(&made->object->users, (struct fact_user){.thread = 1, .node = 0, .samples = SAMPLES / 10});
    answer(made, text);
}

/* Two arrays of one size, each with half of the remote accesses: what is advised for one is no command for all of the program's memory
 * unless it has at least as much as everything else. */
static void two_equal_arrays(char text[ANSWER])
{
    struct made *made = make();
    made->facts.totals.samples *= 2;
    made->facts.totals.remote *= 2;
    answer(made, text);
}

/* 56 KiB of locks and counters that are hot: second-level caches hold them. */
static void small_and_hot(char text[ANSWER])
{
    struct made *made = make();
    made->object->pages = 14;
    made->object->slow_time = 0.001;
    answer(made, text);
}

/* Two pages whose misses take 0.45% of the time: a tenth of what matters is more. */
static void rarely_waited_for(char text[ANSWER])
{
    struct made *made = make();
    made->object->pages = 2;
    made->object->slow_time = 0.0045;
    answer(made, text);
}

/* A grid of 1 MiB. */
static void a_mebibyte(char text[ANSWER])
{
    struct made *made = make();
    made->object->pages = 256;
    answer(made, text);
}

/* A counter for each thread beside three words that are only read. */
static void every_fourth_access(char text[ANSWER])
{
    struct made *made = make();
    made->object->false_sharing = SAMPLES / 4;
    answer(made, text);
}

/* 8 MiB that threads use in turns of 90 ms: they are moved in a tenth of that. */
static void turns_of_90_ms(char text[ANSWER])
{
    struct made *made = make();
    put_turns(made->object);
    made->object->switch_ns = 90000000;
    answer(made, text);
}

/* Neighbours in it are of one node a bit less often than where each has its part: 60 bursts are a hint, 160 make it likely. */
static void neighbours(struct made *made, uint64_t bursts, char text[ANSWER])
{
    made->object->parts.near_agree = 230; /* of 400; halfway is 250 */
    made->object->parts.bursts = bursts;
    answer(made, text);
}

static void a_hint(char text[ANSWER])
{
    neighbours(make(), 60, text);
}

static void likely(char text[ANSWER])
{
    neighbours(make(), 160, text);
}

/* Two recordings of one program, on an idle machine and on one that others use too: they must not contradict each other. */
static void cost(double share, char text[ANSWER])
{
    struct made *made = make();
    made->facts.bursts = 100000;
    made->facts.remote_time = made->object->remote_time = share;
    answer(made, text);
}

static void on_an_idle_machine(char text[ANSWER])
{
    cost(0.04, text);
}

static void on_a_busy_machine(char text[ANSWER])
{
    cost(0.07, text);
}

/* A recording of a second, at 100 Hz, of a program whose memory is where it is used. */
static void a_second(char text[ANSWER])
{
    struct made *made = make();
    struct profile profile = {.bursts = 100};
    made->facts.totals.remote = made->object->totals.remote = 0;
    patterns(made);
    struct check *check =
        check_make(&(struct check_request){.wanted[CHECK_NO_FINDINGS] = true}, &profile, made->findings);
    snprintf(text, ANSWER, "%s", check_outcome_name(check->outcome));
    check_free(check);
    made_free(made);
}

#define INTERLEAVED "concurrent-remote, certain: interleave"
const struct known known_findings[] = {
    {"seldom met", "one undecided; slows", seldom_met, "bursts"},
    {"hardly remote", "not", hardly_remote, "of_all"},
    {"one of many arrays", INTERLEAVED "; slows", one_of_many_arrays, "of_remote"},
    {"one of five threads", INTERLEAVED "; slows", one_of_five_threads, "remote"},
    {"worth a line", "one undecided; slows", worth_a_line, "worth_saying"},
    {"others look in", "remote-after-allocation, certain: allocate-near; slows", others_look_in, "mostly"},
    {"two equal arrays", INTERLEAVED " for all; slows", two_equal_arrays, "majority"},
    {"small and hot", "slows", small_and_hot, "cached_bytes"},
    {"rarely waited for", "slows", rarely_waited_for, "cached_time"},
    {"a mebibyte", INTERLEAVED " for all; slows", a_mebibyte, "large_bytes"},
    {"every fourth access", INTERLEAVED " for all; false-sharing, certain: pad; slows", every_fourth_access,
     "shared_lines"},
    {"turns of 90 ms", "alternate-remote, certain: migrate; slows", turns_of_90_ms, "part move_bytes_ns"},
    {"a hint", "concurrent-remote, a hint: interleave for all; slows", a_hint, "doubt_hint halfway"},
    {"likely", "concurrent-remote, likely: interleave for all; slows", likely, "doubt_likely"},
    {"on an idle machine", INTERLEAVED " for all; undecided", on_an_idle_machine},
    {"on a busy machine", INTERLEAVED " for all; undecided", on_a_busy_machine, "run_to_run remote_time"},
    {"a second", "holds", a_second, "enough"},
    {0},
};
