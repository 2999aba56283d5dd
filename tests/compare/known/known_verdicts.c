/* known_verdicts.c - the first line on a model of a machine, from made-up recordings. */
#include "known.h"
#include "../../predict/workers.h"

#include "analysis/traffic/traffic.h"
#include "predict/predict.h"

static void answer(struct run run, char text[ANSWER])
{
    static const char *const kinds[] = {"undecided", "not", "slows"};
    run.latency = run.latency ? run.latency : FAST;
    run.distance = WORD;
    run.traffic = true;
    struct judged judged = judge(run);
    const struct findings *findings = judged.findings;
    snprintf(text, ANSWER, "%s, %s%s%s", kinds[findings->matters], findings->grade ? findings->grade : "unknown",
             strstr(findings->verdict, "Too few") ? ", too few" : "",
             strstr(findings->verdict, "Sampling took") ? ", dear" : "");
    judged_free(&judged);
}

/* A second of 32 workers that work for a hundredth of it each. */
static void a_burst_each(char text[ANSWER])
{
    answer((struct run){.rounds = 1}, text);
}

/* A program of five seconds: a long burst comes once a second. */
static void five_seconds(char text[ANSWER])
{
    answer((struct run){.rounds = 5}, text);
}

/* Streams that ask node 0 for 40% more than it can deliver: whatever the cores are, and the estimate is off by, it is too much. */
static void two_fifths_more(char text[ANSWER])
{
    answer((struct run){.rounds = 8, .speed = 2.65}, text);
}

/* ... for half of it: it may be so much that latency rises. */
static void a_half(char text[ANSWER])
{
    answer((struct run){.rounds = 8, .speed = 0.96}, text);
}

/* Half of the time streams, half from caches; of eight long bursts six are of the streams, by chance. Samples say that it is half: 21.6
 * GB/s are asked for, of 60. */
static void unlucky_bursts(char text[ANSWER])
{
    answer((struct run){.rounds = 8, .shared = true, .unlucky = true, .speed = 1.35}, text);
}

/* Sampling takes a ninth of the time. */
static void dear_sampling(char text[ANSWER])
{
    answer((struct run){.rounds = 8, .handler_ns = 111000000}, text);
}

/* 2% was allowed, and a long burst at the end of a short run made it 3.3%. */
static void over_budget(char text[ANSWER])
{
    answer((struct run){.rounds = 8, .handler_ns = 33000000, .budget_ppm = "20000"}, text);
}

/* Distance takes 2.3% of its time: as little as pays for a change. */
static void a_small_gain(char text[ANSWER])
{
    struct judged judged = judge(
        (struct run){.rounds = 40, .speed = 0.3, .latency = FAST, .seldom = 11, .distance = WORD, .traffic = true});
    const struct findings *findings = judged.findings;
    snprintf(text, ANSWER, "%s",
             findings->items.count == 0              ? "none"
             : findings->items.items[0].advice.count ? "a change"
                                                     : "no change");
    judged_free(&judged);
}

/* A loop that goes through a file by a buffer: one line in 1,100 accesses is new. */
static void a_buffer(char text[ANSWER])
{
    enum { ACCESSES = 65536, NEW = ACCESSES / 1100 };
    struct feeding f = feeding_new("numa:4 core:8", ASSIGN_ROUND_ROBIN);
    uint64_t frames[] = {0x400000, 0x500000};
    feeding_record(&f);
    feed_start(&f, PID, 1, false);
    feed_stack(&f, CHAIN, 2, frames);
    feed_alloc(&f, HEAP, 16ul * PART, CHAIN); /* the cache holds a part of it */
    feed_touches(&f, 0, HEAP, PART_PAGES);
    for (uint32_t i = 0; i < 10; i++) {
        struct long_of burst = {.number = i, .size = ACCESSES * WORD};
        f.time += 10 * MS;
        feed_burst(&f, (struct burst_of){.addr = HEAP, .step = WORD, .latency = FAST, .stack = CHAIN});
        feed_reuse(&f, &burst, HEAP, 1, ACCESSES - NEW, 0);
        feed_reuse(&f, &burst, HEAP, ACCESSES / 2, NEW, REUSE_AT_LEAST);
        feed(&f, (struct event){.kind = EVENT_LONG_BURST,
                                .tid = PID,
                                .long_burst = {.accesses = ACCESSES,
                                               .counted = 1000000,
                                               .counted_ns = 1000000,
                                               .process_ns = (i + 1) * 10ul * MS,
                                               .took_ns = ACCESSES,
                                               .burst = i}});
    }
    feeding_build(&f);
    struct traffic *traffic = traffic_make(f.flow, 1 << 20);
    snprintf(text, ANSWER, "%s", traffic_state_name(traffic->objects.items[0].bytes.state));
    traffic_free(traffic);
    feeding_free(&f);
}

/* A machine of which nobody measured what a core can fetch, and one that streams 10.5 GB/s from memory at 90 ns. */
static void a_core_alone(char text[ANSWER])
{
    struct model *machine = four_nodes();
    struct demand *demand = mem_zalloc(sizeof *demand);
    char limit[LIMIT_TEXT];
    machine->core = 0;
    demand->node_count = NODES;
    demand->phase_count = demand->object_count = demand->part_count = 1;
    demand->cpu_s = mem_zalloc(sizeof *demand->cpu_s);
    demand->cpu_s[0] = 1;
    array_push(&demand->threads, (struct demand_thread){.tid = 100});
    array_push(&demand->cells, (struct demand_cell){.bytes = 10.5e9});
    struct prediction prediction = predict(machine, demand, PLACING_AS_IS);
    snprintf(text, ANSWER, "%s", limit_text(&prediction.limit, limit));
    demand_free(demand);
    model_free(machine);
}

const struct known known_verdicts[] = {
    {"a burst each", "undecided, unknown", a_burst_each, "fewest_bursts"},
    {"five seconds", "slows, over", five_seconds, "long_bursts"},
    {"two fifths more", "slows, over", two_fifths_more},
    {"a half", "undecided, near", a_half, "off_by core_speed"},
    {"unlucky bursts", "not, under", unlucky_bursts, "near by_samples"},
    {"over budget", "slows, over, dear", over_budget, "over_budget"},
    {"dear sampling", "slows, over, dear", dear_sampling},
    {"a small gain", "a change", a_small_gain, "worth_changing"},
    {"a buffer", "cached", a_buffer, "cached_lines"},
    {"a core alone", "compute (thread 100)", a_core_alone, "core_lines"},
    {0},
};
