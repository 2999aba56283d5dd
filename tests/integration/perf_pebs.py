"""A recording of Intel's PEBS as `perf mem record` leaves it, of a machine with two nodes: two threads, one on each node, that load from a
file each; every sample has a period of its own, and a source."""
import struct

EVENT, STORES, PID = 77, 78, 4000
ATTR, HEAD = 128, 104
IP, TID, TIME, ADDR, ON_CPU, PERIOD, WEIGHT, DATA_SRC, IDENTIFIER = 1, 2, 4, 8, 128, 256, 1 << 14, 1 << 15, 1 << 16
FREQUENCY, SAMPLE_ID_ALL, RAW = 1 << 10, 1 << 18, 4
MMAP, COMM, SAMPLE, ROUND, DATA_MAPPING = 1, 3, 9, 68, 0x2002
CPUID, EVENT_DESC, NUMA_TOPOLOGY = 9, 12, 14
FILES = ("/data/first.bin", "/data/second.bin")
ARRAYS = (0x7f0000000000, 0x7f1000000000)
LENGTH = 1 << 24
MS = 1000000
# mem_op, mem_lvl_num and mem_remote of the kernel's perf_mem_data_src
LOAD, STORE, REMOTE = 2, 4, 1 << 37
L1, L3, LFB, RAM = (number << 33 for number in (1, 3, 12, 13))
UNKNOWN = 15 << 33


def accesses():
    """(thread, period, data source), one each millisecond: of the first thread every fourth load is from its own node's memory,
    of the second every other one from the other's."""
    for number in range(400):
        period = 1000 + 7 * number
        yield 0, period, LOAD | (RAM if number % 4 == 0 else L1 if number % 4 == 1 else LFB if number % 4 == 2 else L3)
        yield 1, 2 * period, LOAD | (RAM | REMOTE if number % 2 == 0 else UNKNOWN)
        if number % 8 == 0:
            yield 0, 100 * period, STORE | L1


def text(words):
    words = words.encode() + b"\0"
    words += b"\0" * (-len(words) % 8)
    return struct.pack("<I", len(words)) + words


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def who(thread, time):
    return struct.pack("<2IQ2IQ", PID, PID + thread, time, thread, 0, EVENT)


def sample(number, thread, period, source):
    time, event = (1000 + number) * MS, EVENT if source & LOAD else STORES
    body = struct.pack("<2Q2I2Q2I", event, 0x401000 + thread, PID, PID + thread, time, ARRAYS[thread] + 64 * number, thread, 0)
    return record(SAMPLE, body + struct.pack("<3Q", period, 200, source))


def attr_of(config, frequency):
    kinds = IP | TID | TIME | ADDR | ON_CPU | PERIOD | WEIGHT | DATA_SRC | IDENTIFIER
    attr = struct.pack("<2I5Q", RAW, ATTR, config, frequency, kinds, 0, FREQUENCY | SAMPLE_ID_ALL)
    return attr + b"\0" * (ATTR - len(attr))


def recording():
    events = ((EVENT, attr_of(0x1cd, 4000), "cpu/mem-loads,ldlat=30/P"), (STORES, attr_of(0x82d0, 4000), "cpu/mem-stores/P"))
    records = b""
    for thread in (0, 1):
        records += record(COMM, struct.pack("<2I8s", PID, PID + thread, b"it") + who(thread, 999 * MS))
        name = FILES[thread].encode()
        mapping = struct.pack("<2I3Q", PID, PID + thread, ARRAYS[thread], LENGTH, 0) + name + b"\0" * (8 - len(name) % 8)
        records += record(MMAP, mapping + who(thread, 999 * MS), DATA_MAPPING)
    for number, access in enumerate(accesses()):
        records += sample(number, *access)
    records += record(ROUND, b"")
    attrs, ids = b"", b""
    for place, (event, attr, _) in enumerate(events):
        attrs += attr + struct.pack("<2Q", HEAD + len(events) * (ATTR + 16) + 8 * place, 8)
        ids += struct.pack("<Q", event)
    described = struct.pack("<2I", len(events), ATTR)
    described += b"".join(attr + struct.pack("<I", 1) + text(name) + struct.pack("<Q", event) for event, attr, name in events)
    nodes = struct.pack("<I", 2) + b"".join(struct.pack("<I2Q", node, 1 << 20, 0) + text(str(node)) for node in (0, 1))
    features = ((CPUID, text("GenuineIntel-6-85-7")), (EVENT_DESC, described), (NUMA_TOPOLOGY, nodes))
    begin = HEAD + len(attrs) + len(ids)
    bits = sum(1 << feature for feature, _ in features)
    head = struct.pack("<8s12Q", b"PERFILE2", HEAD, ATTR + 16, HEAD, len(attrs), begin, len(records), 0, 0, bits, 0, 0, 0)
    at, table, bodies = begin + len(records) + 16 * len(features), b"", b""
    for _, body in features:
        table += struct.pack("<2Q", at + len(bodies), len(body))
        bodies += body
    return head + attrs + ids + records + table + bodies
