"""A recording of Arm's SPE as perf leaves it, written packet by packet as the architecture lays them out: loads of two threads,
answered by each source that a Neoverse core names."""
import struct

PMU, EVENT, PID, CPU = 9, 77, 4000, 0
ATTR, HEAD = 128, 104
IP, TID, TIME, ADDR, ON_CPU, WEIGHT, DATA_SRC, IDENTIFIER = 1, 2, 4, 8, 128, 1 << 14, 1 << 15, 1 << 16
SAMPLE_ID_ALL = 1 << 18
COMM, AUX, INFO, AUXTRACE, TIME_CONV, ROUND = 3, 11, 70, 71, 79, 68
CPUID = 9  # the feature
NEOVERSE_N1 = b"0x00000000410fd0c0\0"
RETIRED, L1_ACCESS, L1_REFILL, TLB_ACCESS, TLB_WALK = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
SOURCES = (0x0, 0x8, 0x9, 0xa, 0xb, 0xc, 0xd, 0xe)


def packets(tid, addr, latency, events, source, ticks):
    new = struct.pack("<BQ", 0xb0, 0x401000 + addr % 4096)   # program counter, level 0
    new += struct.pack("<BI", 0x64, tid)                     # context
    new += struct.pack("<BB", 0x49, 0)                       # a load, of a general-purpose register
    new += struct.pack("<BH", 0x98, latency)                 # in all
    new += struct.pack("<BH", 0x52, events)
    new += struct.pack("<BB", 0x43, source)
    new += struct.pack("<BQ", 0xb2, addr)                    # virtual
    return new + struct.pack("<BQ", 0x71, ticks)


def accesses():
    """(tid, address, latency, events, source) of every kind."""
    for number in range(2 * len(SOURCES)):
        walk = TLB_WALK if number % 3 == 0 else 0
        yield (PID + number % 2, 0x7f0000000000 + 64 * number, 10 + number, RETIRED | L1_ACCESS | L1_REFILL | TLB_ACCESS | walk,
               SOURCES[number // 2])


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def who(tid, time):
    return struct.pack("<2IQ2IQ", PID, tid, time, CPU, 0, EVENT)


def recording():
    reported = b"".join(packets(*access, 100 + i) for i, access in enumerate(accesses()))
    reported += b"\0" * (-len(reported) % 8)  # padding packets
    records = record(INFO, struct.pack("<2I2Q", 4, 0, PMU, 1))
    records += record(TIME_CONV, struct.pack("<3Q", 0, 1, 0) + struct.pack("<2Q2B6x", 0, 0, 1, 1))
    for tid in (PID, PID + 1):
        records += record(COMM, struct.pack("<2I8s", PID, tid, b"it") + who(tid, 1))
    records += record(AUX, struct.pack("<3Q", 0, len(reported), 0) + who(PID, 5000))
    records += record(AUXTRACE, struct.pack("<3Q4I", len(reported), 0, 0, CPU, 0xffffffff, CPU, 0)) + reported
    records += record(ROUND, b"")
    attr = struct.pack("<2I5Q", PMU, ATTR, 0, 1000, IP | TID | TIME | ADDR | ON_CPU | WEIGHT | DATA_SRC | IDENTIFIER, 0, SAMPLE_ID_ALL)
    attr += b"\0" * (ATTR - len(attr)) + struct.pack("<2Q", HEAD + ATTR + 16, 8)
    ids = struct.pack("<Q", EVENT)
    begin = HEAD + len(attr) + len(ids)
    cpuid = struct.pack("<I", len(NEOVERSE_N1)) + NEOVERSE_N1
    features = begin + len(records)
    head = struct.pack("<8s12Q", b"PERFILE2", HEAD, ATTR + 16, HEAD, len(attr), begin, len(records), 0, 0, 1 << CPUID, 0, 0, 0)
    return head + attr + ids + records + struct.pack("<2Q", features + 16, len(cpuid)) + cpuid
