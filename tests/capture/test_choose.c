/* test_choose.c - the events that are taken on machines of other people: sysfs trees as their kernels show them. */
#include "capture/hardware/choose.h"
#include "capture/hardware/sysfs.h"
#include "capture/hardware/known.h"
#include "wire/event.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct machine {
    char root[64], cpuid[64];
};

static void make_folders(char *path, size_t from)
{
    for (char *slash = path + from; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* Writes the tree that SYSFS/name.txt lists into a folder of its own. */
static struct machine expand(const char *name)
{
    struct machine machine = {.root = "/tmp/numalens-sysfs-XXXXXX"};
    char path[512], line[512], value[256], file[256];
    assert_non_null(mkdtemp(machine.root));
    snprintf(path, sizeof path, "%s/%s.txt", SYSFS, name);
    FILE *list = fopen(path, "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%255s = %255[^\n]", file, value), 2);
        if (strcmp(file, "cpuid") == 0) {
            snprintf(machine.cpuid, sizeof machine.cpuid, "%.63s", value);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", machine.root, file);
        make_folders(path, strlen(machine.root) + 1);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "%s\n", value);
        fclose(out);
    }
    fclose(list);
    return machine;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void drop(const struct machine *machine)
{
    nftw(machine->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct expected_event {
    const char *name, *cpus;
    uint32_t type;
    uint64_t config, config1, config2, leader;
    unsigned precise;
    uint8_t flags;
};

struct expectation {
    const char *machine;
    enum pmu_kind kind;
    size_t count;
    struct expected_event events[4];
    const char *how;
};

static const struct expectation expectations[] = {
    {"broadwell-ep",
     PMU_PEBS,
     2,
     {{"cpu/mem-loads/", "", 4, 0x1cd, 3, 0, 0, 3, SAMPLE_READ},
      {"cpu/mem-stores/", "", 4, 0x82d0, 0, 0, 0, 3, SAMPLE_WRITE}},
     "as the kernel names them"},
    {"skylake-sp",
     PMU_PEBS,
     2,
     {{"cpu/mem-loads/", "", 4, 0x1cd, 3, 0, 0, 3, SAMPLE_READ},
      {"cpu/mem-stores/", "", 4, 0x82d0, 0, 0, 0, 3, SAMPLE_WRITE}},
     "as the kernel names them"},
    {"sapphire-rapids",
     PMU_PEBS,
     2,
     {{"cpu/mem-loads/", "", 4, 0x1cd, 3, 0, 0x8203, 3, SAMPLE_READ},
      {"cpu/mem-stores/", "", 4, 0x2cd, 0, 0, 0, 3, SAMPLE_WRITE}},
     "as the kernel names them"},
    {"alder-lake",
     PMU_PEBS,
     4,
     {{"cpu_atom/mem-loads/", "16-23", 10, 0x5d0, 3, 0, 0, 3, SAMPLE_READ},
      {"cpu_atom/mem-stores/", "16-23", 10, 0x6d0, 0, 0, 0, 3, SAMPLE_WRITE},
      {"cpu_core/mem-loads/", "0-15", 4, 0x1cd, 3, 0, 0x8203, 3, SAMPLE_READ},
      {"cpu_core/mem-stores/", "0-15", 4, 0x2cd, 0, 0, 0, 3, SAMPLE_WRITE}},
     "cpu_core/mem-loads/"},
    {"unnamed-intel",
     PMU_PEBS,
     2,
     {{"cpu/load latency/", "", 4, 0x1cd, 3, 0, 0, 3, SAMPLE_READ},
      {"cpu/stores/", "", 4, 0x82d0, 0, 0, 0, 3, SAMPLE_WRITE}},
     "as a table has them"},
    {"zen2", PMU_IBS, 1, {{"ibs_op//", "", 9, 1 << 19, 0, 0, 0, 0, 0}}, "perf_event_paranoid 1"},
    {"zen4", PMU_IBS, 1, {{"ibs_op//", "", 9, 1 << 19, 0, 1, 0, 0, 0}}, "AMD IBS: ibs_op//"},
    {"zen5", PMU_IBS, 1, {{"ibs_op//", "", 9, 1 << 19, 0, 1, 0, 0, 0}}, "AMD IBS: ibs_op//"},
    {"graviton3", PMU_SPE, 1, {{"arm_spe_0//", "0-63", 9, 0x600010003, 0, 0, 0, 0, 0}}, "Arm SPE: arm_spe_0//"},
};

static const struct pmu_request usual = {.loads = true, .stores = true, .frequency = 1600};

static void check_event(const char *machine, const struct pmu_event *event, const struct expected_event *expected)
{
    const struct perf_event_attr *attr = &event->attr;
    if (strcmp(event->name, expected->name) || strcmp(event->cpus, expected->cpus) || attr->type != expected->type ||
        attr->config != expected->config || attr->config1 != expected->config1 || attr->config2 != expected->config2 ||
        event->has_leader != (expected->leader != 0) || event->leader.config != expected->leader ||
        attr->precise_ip != expected->precise || event->flags != expected->flags)
        fail_msg("%s: %s on '%s': type %u config %#llx %#llx %#llx leader %#llx precise %u flags %u", machine,
                 event->name, event->cpus, attr->type, attr->config, attr->config1, attr->config2, event->leader.config,
                 attr->precise_ip, event->flags);
    assert_true(attr->use_clockid && attr->disabled && attr->sample_id_all);
    assert_int_equal(attr->size, sizeof *attr);
}

static void test_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const struct expectation *expected = &expectations[i];
        struct machine machine = expand(expected->machine);
        struct pmu_choice choice;
        struct error err = {0};
        if (pmu_choose(&choice, machine.root, machine.cpuid, PMU_ANY, &usual, &err) < 0)
            fail_msg("%s: %s", expected->machine, err.text);
        assert_int_equal(choice.kind, expected->kind);
        assert_int_equal(choice.count, expected->count);
        for (size_t e = 0; e < choice.count; e++)
            check_event(expected->machine, &choice.events[e], &expected->events[e]);
        if (!strstr(choice.how, expected->how))
            fail_msg("%s: %s", expected->machine, choice.how);
        drop(&machine);
    }
}

static struct pmu_choice choose(const char *name, struct pmu_request request)
{
    struct machine machine = expand(name);
    struct pmu_choice choice;
    struct error err = {0};
    if (pmu_choose(&choice, machine.root, machine.cpuid, PMU_ANY, &request, &err) < 0)
        fail_msg("%s", err.text);
    drop(&machine);
    return choice;
}

static void test_wishes(void **state)
{
    (void)state;
    struct pmu_choice choice =
        choose("skylake-sp", (struct pmu_request){.loads = true, .latency = 150, .period = 10007});
    assert_int_equal(choice.count, 1);
    assert_int_equal(choice.events[0].attr.config1, 150);
    assert_int_equal(choice.events[0].attr.sample_period, 10007);
    assert_false(choice.events[0].attr.freq);
    choice = choose("skylake-sp", (struct pmu_request){.stores = true, .latency = 150, .frequency = 500});
    assert_int_equal(choice.count, 1);
    assert_int_equal(choice.events[0].attr.config, 0x82d0);
    assert_true(choice.events[0].attr.freq && choice.events[0].attr.sample_freq == 500);
    choice = choose("broadwell-ep", (struct pmu_request){.loads = true, .latency = 1 << 20, .frequency = 1});
    assert_int_equal(choice.events[0].attr.config1, 65535);

    choice = choose("zen5", (struct pmu_request){.loads = true, .stores = true, .latency = 300, .period = 100001});
    assert_int_equal(choice.events[0].attr.config1, 256); /* in steps of 128 */
    assert_int_equal(choice.events[0].attr.sample_period, 100000);
    assert_true(choice.events[0].attr.exclude_kernel);
    choice = choose("zen2", usual);
    assert_false(choice.events[0].attr.exclude_kernel); /* it would be refused */
    assert_true(choice.events[0].attr.sample_type & PERF_SAMPLE_RAW);

    choice = choose("graviton3", (struct pmu_request){.loads = true, .latency = 100, .frequency = 1000});
    assert_int_equal(choice.events[0].attr.config, 0x200010003); /* loads alone */
    assert_int_equal(choice.events[0].optional, 2);
    assert_int_equal(choice.events[0].attr.config2, 100);
    assert_false(choice.events[0].attr.freq);
    assert_int_equal(choice.events[0].attr.sample_period, 2500000);
    choice = choose("graviton3", (struct pmu_request){.loads = true, .period = 5});
    assert_int_equal(choice.events[0].attr.sample_period, 256); /* no less than the hardware can */
    assert_true(choice.events[0].aux);
}

static void test_none(void **state)
{
    (void)state;
    struct machine none = expand("no-pmu"), zen = expand("zen4"), damaged = expand("damaged");
    struct pmu_choice choice;
    struct error err = {0};
    for (enum pmu_kind kind = PMU_ANY; kind <= PMU_SPE; kind++) {
        assert_int_equal(pmu_choose(&choice, none.root, none.cpuid, kind, &usual, &err), -ENODEV);
        assert_non_null(strstr(err.text, "no PMU"));
        assert_non_null(strstr(err.text, "--source soft"));
        assert_null(strchr(err.text, '\n'));
    }
    assert_int_equal(pmu_choose(&choice, zen.root, zen.cpuid, PMU_PEBS, &usual, &err), -ENODEV);
    assert_non_null(strstr(err.text, "AMD IBS"));
    assert_int_equal(pmu_choose(&choice, damaged.root, damaged.cpuid, PMU_ANY, &usual, &err), -ENODEV);
    assert_int_equal(pmu_choose(&choice, "/nonexistent", "", PMU_ANY, &usual, &err), -ENODEV);
    /* The kernel names what this machine's loads are called and nothing for stores: then there is nothing for them, though
     * the table has an event for this model. */
    struct machine loads = expand("skylake-sp");
    char stores[256];
    snprintf(stores, sizeof stores, "%s/bus/event_source/devices/cpu/events/mem-stores", loads.root);
    assert_int_equal(unlink(stores), 0);
    const struct pmu_request writes = {.stores = true, .frequency = 1600};
    assert_int_equal(pmu_choose(&choice, loads.root, loads.cpuid, PMU_PEBS, &writes, &err), -ENODEV);
    assert_int_equal(pmu_choose(&choice, loads.root, loads.cpuid, PMU_PEBS, &usual, &err), 0);
    assert_int_equal(choice.count, 1);
    drop(&none), drop(&zen), drop(&damaged), drop(&loads);
}

static void test_fields(void **state)
{
    (void)state;
    struct machine machine = expand("zen2");
    struct pmu_device device;
    struct perf_event_attr attr = {0};
    assert_true(pmu_device_open(&device, machine.root, "cpu"));
    assert_true(pmu_device_set(&device, "event", 0x187, &attr)); /* twelve bits in two places */
    assert_int_equal(attr.config, 0x100000087);
    assert_true(pmu_device_set(&device, "event", 0x3, &attr)); /* in place of what was there */
    assert_int_equal(attr.config, 0x3);
    assert_false(pmu_device_set(&device, "ldlat", 1, &attr));
    assert_false(pmu_device_open(&device, machine.root, "arm_spe_0"));
    drop(&machine);
    machine = expand("graviton3");
    assert_int_equal(pmu_midr(machine.root, 0), 0x411fd401);
    assert_int_equal(pmu_midr(machine.root, 1), 0);
    drop(&machine);
}

static void test_table(void **state)
{
    (void)state;
    struct pmu_known known;
    assert_true(pmu_known_table(&known, "GenuineIntel-6-26-5")); /* Nehalem: no stores */
    assert_true(known.loads == 0x100b && known.stores == 0);
    assert_true(pmu_known_table(&known, "GenuineIntel-6-45-7")); /* Sandy Bridge */
    assert_true(known.loads == 0x1cd && known.stores == 0x2cd && known.leader == 0);
    assert_true(pmu_known_table(&known, "GenuineIntel-6-143-8"));
    assert_int_equal(known.leader, 0x8203);
    assert_false(pmu_known_table(&known, "GenuineIntel-6-1-1"));
    assert_false(pmu_known_table(&known, "GenuineIntel-15-45-1"));
    assert_false(pmu_known_table(&known, "AuthenticAMD-25-1-1"));
    char cpuid[64];
    pmu_cpuid(cpuid, sizeof cpuid);
    struct pmu_known ours;
    if (pmu_known_pfm(&known)) { /* an Intel processor: libpfm4 and the table must agree */
        if (pmu_known_table(&ours, cpuid))
            assert_int_equal(known.loads & 0xffff, ours.loads);
    } else {
        assert_int_equal(known.loads, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_machines), cmocka_unit_test(test_wishes),
                                       cmocka_unit_test(test_none), cmocka_unit_test(test_fields),
                                       cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
