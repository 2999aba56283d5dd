#include "trace/event_rows.h"

#include "trace/event_code.h"
#include "trace/sample_code.h"

#define MEMBER(member)    (((struct event *)0)->member)
#define AT(member)        offsetof(struct event, member)
#define BITS_OF(member)   _Generic(MEMBER(member), bool : 1, default : 8 * sizeof MEMBER(member))
#define SIGNED_OF(member) _Generic(MEMBER(member), int32_t : true, int64_t : true, default : false)

/* One field: how it is coded, in which column, in which member. */
#define CODE(how, at, member, ...)                                                                                     \
    {                                                                                                                  \
        .code = (how), .column = (at), .name = #member, .offset = AT(member), __VA_ARGS__                              \
    }
#define BITS(member, width) .bytes = sizeof MEMBER(member), .bits = (width), .is_signed = SIGNED_OF(member)
#define VALUE(member)       BITS(member, BITS_OF(member))

#define NUMBER(at, member)       CODE(CODE_NUMBER, at, member, VALUE(member))
#define PART(member)             CODE(CODE_PART, 0, member, VALUE(member))
#define PART_BITS(member, width) CODE(CODE_PART, 0, member, BITS(member, width))
#define DIFFERENCE(at, member)   CODE(CODE_DIFFERENCE, at, member, VALUE(member))
#define REPEATED(at, member)     CODE(CODE_REPEATED, at, member, VALUE(member))
#define RELATIVE(at, member, to) CODE(CODE_RELATIVE, at, member, VALUE(member), .other = AT(to))
#define TEXT(at, member)         CODE(CODE_TEXT, at, member)
/* Of an address the lowest `zeroes` bits mostly are 0. */
#define ADDRESS(at, member, zeroes) CODE(CODE_ADDRESS, at, member, VALUE(member), .rotate = (zeroes))
/* Elements, and the member that has their count. */
#define BYTES(at, member, count)  CODE(CODE_BYTES, at, member, .other = AT(count), .most = sizeof MEMBER(member))
#define FRAMES(at, member, count) CODE(CODE_FRAMES, at, member, .other = AT(count), .most = TRACE_MAX_FRAMES)
#define MASK(at, member, count)   CODE(CODE_MASK, at, member, .other = AT(count), .most = TRACE_MAX_FRAMES)

#define FIELDS(of, ...) static const struct event_field of[] = {__VA_ARGS__}
/* A row that is known when it is compiled costs as little as code written for it. */
#define CODED(of, ...)                                                                                                 \
    FIELDS(of, __VA_ARGS__);                                                                                           \
    static void encode_##of(struct trace_run *run, const struct event *event)                                          \
    {                                                                                                                  \
        fields_encode(run, event, of, sizeof(of) / sizeof *(of));                                                      \
    }                                                                                                                  \
    static bool decode_##of(struct run_cursor *cursor, struct event *event)                                            \
    {                                                                                                                  \
        return fields_decode(cursor, event, of, sizeof(of) / sizeof *(of));                                            \
    }
#define HAS(of)       .field_count = sizeof(of) / sizeof *(of), .fields = (of)
#define BY_FIELDS(of) HAS(of), .encode = encode_##of, .decode = decode_##of

CODED(process_fields, NUMBER(1, process.forked), PART(process.parent), TEXT(2, process.exe), TEXT(2, process.command))
CODED(exit_fields, NUMBER(1, exit_status))
CODED(thread_fields, TEXT(1, thread.name), ADDRESS(2, thread.stack_low, 0), ADDRESS(3, thread.stack_high, 0),
      NUMBER(4, thread.entry))
CODED(module_fields, ADDRESS(1, module.bias, 0), ADDRESS(2, module.start, 0), RELATIVE(2, module.end, module.start),
      BYTES(3, module.build_id, module.build_id_size), TEXT(4, module.path))
CODED(map_fields, ADDRESS(1, map.addr, 0), NUMBER(2, map.size), NUMBER(3, map.offset), NUMBER(4, map.stack),
      NUMBER(5, map.prot), PART(map.map_kind), NUMBER(5, map.flags), TEXT(6, map.path))
CODED(stack_fields, DIFFERENCE(1, stack.id), NUMBER(2, stack.cut), FRAMES(3, stack.frames, stack.depth))
CODED(pool_fields, ADDRESS(1, pool.handle, 4), NUMBER(2, pool.parent), REPEATED(3, pool.change), PART(pool.fn))
CODED(alloc_fields, NUMBER(1, alloc.stack), NUMBER(2, alloc.size), ADDRESS(3, alloc.addr, 4), REPEATED(4, alloc.fn),
      PART(alloc.cpu))
CODED(free_fields, ADDRESS(1, free.addr, 4), REPEATED(2, free.fn), PART(free.cpu))
CODED(pool_alloc_fields, NUMBER(1, alloc.stack), NUMBER(2, alloc.size), ADDRESS(3, alloc.addr, 4),
      REPEATED(4, alloc.fn), PART(alloc.cpu), ADDRESS(5, alloc.pool, 0))
CODED(touch_fields, ADDRESS(1, touch.addr, 0), ADDRESS(2, touch.ip, 0), REPEATED(3, touch.write), PART(touch.cpu))
CODED(home_fields, ADDRESS(1, home.page, 12), REPEATED(2, home.size), REPEATED(3, home.node))
CODED(frame_fields, ADDRESS(1, frame.page, 12), ADDRESS(2, frame.physical, 12))
CODED(loss_fields, NUMBER(1, loss.cause), NUMBER(2, loss.count))
CODED(barrier_fields, NUMBER(1, barrier.waited))
CODED(page_fields, ADDRESS(1, page.page, 12), REPEATED(2, page.size), DIFFERENCE(3, page.until), ADDRESS(4, page.ip, 0),
      NUMBER(5, page.reads), NUMBER(5, page.writes), NUMBER(5, page.mechanism), PART(page.unknown),
      ADDRESS(6, page.physical, 12), MASK(7, page.cpus, page.cpu_words))
CODED(reuse_fields, ADDRESS(1, reuse.pc, 0), ADDRESS(2, reuse.addr, 0), NUMBER(3, reuse.count), NUMBER(4, reuse.bin),
      PART(reuse.flags), DIFFERENCE(5, reuse.burst))
CODED(long_burst_fields, NUMBER(1, long_burst.accesses), NUMBER(1, long_burst.lost), NUMBER(2, long_burst.counted),
      NUMBER(2, long_burst.counted_ns), NUMBER(3, long_burst.process_ns), NUMBER(3, long_burst.took_ns),
      DIFFERENCE(4, long_burst.burst), NUMBER(5, long_burst.rows), PART(long_burst.end))

CODED(code_fields, ADDRESS(1, code.addr, 0), NUMBER(2, code.size), DIFFERENCE(3, code.since), NUMBER(4, code.line),
      TEXT(5, code.name), TEXT(6, code.file))

/* Most of what is written. Coded by functions of their own, which trace/run_append.h calls: the fields are for copies and text. */
FIELDS(sample_fields, DIFFERENCE(1, sample.stack), ADDRESS(2, sample.addr, 0), NUMBER(3, sample.latency),
       REPEATED(4, sample.source), PART(sample.cpu), NUMBER(5, sample.flags), PART(sample.size), PART(sample.level),
       PART_BITS(sample.period, 31), ADDRESS(6, sample.physical, 0));

static bool decode_sample(struct run_cursor *cursor, struct event *event)
{
    return get_sample(cursor, &event->sample);
}

const struct event_row event_rows[EVENT_KINDS] = {
    [EVENT_PROCESS_START] = {"process", CARRY_LIVE, 3, BY_FIELDS(process_fields)},
    [EVENT_PROCESS_EXIT] = {"process_exit", CARRY_LIVE, 2, BY_FIELDS(exit_fields)},
    [EVENT_THREAD_START] = {"thread", CARRY_LIVE, 5, BY_FIELDS(thread_fields)},
    [EVENT_THREAD_NAME] = {"thread_name", CARRY_LIVE, 5, BY_FIELDS(thread_fields)},
    [EVENT_THREAD_EXIT] = {"thread_exit", CARRY_LIVE, 5, BY_FIELDS(thread_fields)},
    [EVENT_MODULE_LOAD] = {"module", CARRY_LIVE, 5, BY_FIELDS(module_fields)},
    [EVENT_MODULE_UNLOAD] = {"module_unload", CARRY_LIVE, 5, BY_FIELDS(module_fields)},
    [EVENT_MAP] = {"map", CARRY_LIVE, 7, BY_FIELDS(map_fields)},
    [EVENT_UNMAP] = {"unmap", CARRY_LIVE, 7, BY_FIELDS(map_fields)},
    [EVENT_STACK] = {"stack", CARRY_ALL, 5, BY_FIELDS(stack_fields)},
    [EVENT_FREE] = {"free", CARRY_LIVE, 3, BY_FIELDS(free_fields)},
    [EVENT_ALLOC] = {"alloc", CARRY_LIVE, 5, BY_FIELDS(alloc_fields)},
    [EVENT_SAMPLE] = {"sample", CARRY_NONE, 7, HAS(sample_fields), .decode = decode_sample},
    [EVENT_TOUCH] = {"touch", CARRY_LIVE, 4, BY_FIELDS(touch_fields)},
    [EVENT_HOME] = {"home", CARRY_LIVE, 4, BY_FIELDS(home_fields)},
    [EVENT_LOSS] = {"loss", CARRY_NONE, 3, BY_FIELDS(loss_fields)},
    [EVENT_POOL] = {"pool", CARRY_LIVE, 4, BY_FIELDS(pool_fields)},
    [EVENT_POOL_ALLOC] = {"pool_alloc", CARRY_LIVE, 6, BY_FIELDS(pool_alloc_fields)},
    [EVENT_PAGE] = {"page", CARRY_NONE, 8, BY_FIELDS(page_fields)},
    [EVENT_FRAME] = {"frame", CARRY_LIVE, 3, BY_FIELDS(frame_fields)},
    [EVENT_BARRIER] = {"barrier", CARRY_NONE, 2, BY_FIELDS(barrier_fields)},
    [EVENT_REUSE] = {"reuse", CARRY_NONE, 6, BY_FIELDS(reuse_fields), .ring_bytes = sizeof(struct event_reuse)},
    [EVENT_LONG_BURST] = {"long_burst", CARRY_NONE, 6, BY_FIELDS(long_burst_fields),
                          .ring_bytes = sizeof(struct event_long_burst)},
    [EVENT_RUNTIME_CODE] = {"code", CARRY_ALL, 7, BY_FIELDS(code_fields)},
};

bool event_keeps_words(unsigned kind)
{
    const struct event_row *row = event_row(kind);
    for (unsigned i = 0; row && i < row->field_count; i++)
        if (event_field_has_words(&row->fields[i]))
            return true;
    return false;
}
