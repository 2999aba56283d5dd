/* Asking the kernel what is mapped where, with this very process as the one that is asked. */
#include "capture/process/proc.h"
#include "capture/process/process_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 16, SECOND = 1000000000 };

static struct reported {
    uint64_t addr, size, time;
    uint8_t kind;
    char path[64];
} reported[MOST];
static unsigned count;

static void see(void *context, const struct event *event)
{
    (void)context;
    assert_int_equal(event->kind, EVENT_MAP);
    assert_int_equal(event->pid, getpid());
    assert_int_equal(event->map.stack, 0);
    assert_true(count < MOST);
    struct reported *place = &reported[count++];
    *place = (struct reported){event->map.addr, event->map.size, event->time, event->map.map_kind, ""};
    strncpy(place->path, event->map.path, sizeof place->path - 1);
}

static void a_map_is_reported_once_when_it_is_sampled(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sink sink = {.tap = see};
    struct process_table processes = {0};
    struct capture_maps *maps = capture_maps_new(&sink, &processes, 1 << 20);
    uint32_t pid = (uint32_t)getpid();
    char *first = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count = 0;
    capture_maps_sample(maps, pid, (uint64_t)first, SECOND);
    capture_maps_sample(maps, pid, (uint64_t)first + 2 * page, SECOND + 1);
    assert_int_equal(count, 1);
    assert_int_equal(reported[0].time, SECOND);
    assert_true(reported[0].addr <= (uint64_t)first &&
                reported[0].addr + reported[0].size >= (uint64_t)first + 4 * page);
    assert_string_equal(reported[0].path, "/dev/zero (deleted)");

    /* The stack is its thread's to report; nothing is at 16. */
    capture_maps_sample(maps, pid, (uint64_t)__builtin_frame_address(0), SECOND + 2);
    capture_maps_sample(maps, pid, 16, SECOND + 3);
    assert_int_equal(count, 1);

    /* What is new is seen at the next look, and looks are rare. */
    char *second = mmap(NULL, 8 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    capture_maps_sample(maps, pid, (uint64_t)second + 7 * page, SECOND + 4);
    capture_maps_sample(maps, pid, (uint64_t)second + 7 * page, 2ul * SECOND);
    assert_int_equal(count, 2);
    assert_true(reported[1].addr + reported[1].size >= (uint64_t)second + 8 * page);
    munmap(first, 4 * page);
    munmap(second, 8 * page);
    capture_maps_free(maps);
}

static void a_process_that_is_gone_does_no_harm(void **state)
{
    (void)state;
    struct sink sink = {.tap = see};
    struct process_table processes = {0};
    struct capture_maps *maps = capture_maps_new(&sink, &processes, 1 << 20);
    count = 0;
    capture_maps_sample(maps, 0x7ffffffe, 0x1000, SECOND);
    capture_maps_sample(maps, 0x7ffffffe, 0x1000, 2ul * SECOND);
    assert_int_equal(count, 0);
    capture_maps_free(maps);
    /* No room for a single line: nothing is reported, and nothing breaks. */
    maps = capture_maps_new(&sink, &processes, 0);
    capture_maps_sample(maps, (uint32_t)getpid(), (uint64_t)&sink, SECOND);
    capture_maps_sample(maps, (uint32_t)getpid(), (uint64_t)see, 2ul * SECOND);
    assert_int_equal(count, 0);
    capture_maps_free(maps);
}

static void parsed(const char *text, bool is_java, const char *path, enum map_kind kind)
{
    char line[256];
    struct proc_map map;
    snprintf(line, sizeof line, "%s", text);
    assert_true(proc_map_parse(line, &map));
    proc_map_name(&map, is_java);
    assert_string_equal(map.path, path);
    assert_int_equal(proc_map_kind(map.path, map.flags), kind);
}

/* Heaps of runtimes are known by their addresses, also what is only reserved yet; other memory there is not. */
static void heaps_of_runtimes(void **state)
{
    (void)state;
    parsed("c000000000-c000600000 rw-p 00000000 00:00 0 \n", false, "[Go heap]", MAP_KIND_OTHER);
    parsed("c000600000-c004000000 ---p 00000000 00:00 0 \n", false, "[Go heap]", MAP_KIND_OTHER);
    parsed("c004000000-c004001000 rwxp 00000000 00:00 0 \n", false, "", MAP_KIND_ANONYMOUS);
    parsed("c000000000-c000600000 rw-p 00000000 fe:00 31 /tmp/x\n", false, "/tmp/x", MAP_KIND_FILE);
    parsed("687400000-729400000 rw-p 00000000 00:00 0 \n", true, "[Java heap]", MAP_KIND_OTHER);
    parsed("687400000-729400000 rw-p 00000000 00:00 0 \n", false, "", MAP_KIND_ANONYMOUS);
    parsed("7f63f4000000-7f63f42fe000 rw-p 00000000 00:00 0 \n", true, "", MAP_KIND_ANONYMOUS);
}

static bool is_device(const char *text)
{
    char line[256];
    struct proc_map map;
    snprintf(line, sizeof line, "10000-20000 %s", text);
    assert_true(proc_map_parse(line, &map));
    return proc_map_is_device((uint32_t)getpid(), &map);
}

static void memory_of_devices(void **state)
{
    (void)state;
    assert_true(is_device("rw-s 00000000 00:05 1 /dev/null\n"));
    assert_true(is_device("rw-p 00000000 00:05 1 /dev/no-such-device\n"));
    assert_true(is_device("rw-s 00000000 00:16 1 /sys/devices/pci0000:00/0000:00:02.0/resource0\n"));
    assert_true(is_device("rw-s 00000000 00:0e 1 anon_inode:[vfio-device]\n"));
    assert_false(is_device("rw-p 00000000 00:00 0 [heap]\n"));
    assert_false(is_device("rw-p 00000000 00:00 0 \n"));
    assert_false(is_device("rw-s 00000000 00:01 1 /dev/zero (deleted)\n"));
    assert_false(is_device("rw-s 00000000 00:05 1 /dev/zero\n"));
    assert_false(is_device("rw-s 00000000 00:1a 1 /dev/shm/ended (deleted)\n"));
    assert_false(is_device("rw-s 00000000 00:01 1 /memfd:any (deleted)\n"));
    assert_false(is_device("rw-s 00000000 08:01 1 /proc-or-not\n"));
    assert_false(is_device("r--p 00000000 08:01 1 /usr/lib/libc.so.6\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_reported_once_when_it_is_sampled),
        cmocka_unit_test(a_process_that_is_gone_does_no_harm),
        cmocka_unit_test(heaps_of_runtimes),
        cmocka_unit_test(memory_of_devices),
    };
    return cmocka_run_group_tests_name("process_maps", tests, NULL, NULL);
}
