"""A recording of perf as a machine of the other byte order would have written it. Only what memory recordings consist of: other
records and features are dropped."""
import struct

HEAD, FIELDS, SECTION = 104, "<7Q", 16
ATTR = "2I4Q8B2I4QIi"  # of struct perf_event_attr, as far as it is used here; its flags are bits, from the other end
STRINGS, NUMBERS, COMMAND, NODES = {3, 4, 5, 6, 8, 9}, {7: "2I", 10: "Q"}, 11, 14  # features
MMAP, COMM, EXIT, FORK, SAMPLE, MMAP2 = 1, 3, 4, 7, 9, 10
BODIES = {MMAP: "2I3Q", COMM: "2I", EXIT: "4IQ", FORK: "4IQ", MMAP2: "2I3Q2I2Q2I"}
NAMED = {MMAP, COMM, MMAP2}  # a name stands between the body and who, when, which event
TRAILER = "2I2Q"  # TID, TIME, ID
IP, TID, TIME, ADDR, ID, PERIOD, WEIGHT, DATA_SRC = 1, 2, 4, 8, 64, 256, 1 << 14, 1 << 15
LAYOUT = ((IP, "Q"), (TID, "2I"), (TIME, "Q"), (ADDR, "Q"), (ID, "Q"), (PERIOD, "Q"), (WEIGHT, "Q"), (DATA_SRC, "Q"))


def turned(shape, data, at=0):
    """The same numbers in the other order."""
    return struct.pack(">" + shape, *struct.unpack_from("<" + shape, data, at))


def turned_attr(data, at, size):
    fields = list(struct.unpack_from("<" + ATTR, data, at))
    fields[6:14] = [int("{:08b}".format(byte)[::-1], 2) for byte in fields[6:14]]
    there = struct.calcsize("<" + ATTR)
    rest = size - there
    return struct.pack(">" + ATTR, *fields) + turned("%dQ" % (rest // 8), data, at + there)


def turned_record(data, at, sample):
    kind, misc, size = struct.unpack_from("<IHH", data, at)
    body = at + 8
    if kind == SAMPLE:
        new = turned(sample, data, body)
    elif kind in BODIES:
        shape = BODIES[kind]
        end = at + size - struct.calcsize("<" + TRAILER)
        name = data[body + struct.calcsize("<" + shape):end] if kind in NAMED else b""
        new = turned(shape, data, body) + name + turned(TRAILER, data, end)
    else:
        return b""
    assert len(new) == size - 8, "a record of kind %d has another layout" % kind
    return struct.pack(">IHH", kind, misc, size) + new


def turned_strings(data, at, count):
    new = b""
    for _ in range(count):
        length = struct.unpack_from("<I", data, at)[0]
        new += struct.pack(">I", length) + data[at + 4:at + 4 + length]
        at += 4 + length
    return new, at


def turned_feature(number, data, at):
    if number in STRINGS:
        return turned_strings(data, at, 1)[0]
    if number in NUMBERS:
        return turned(NUMBERS[number], data, at)
    count = struct.unpack_from("<I", data, at)[0]
    new, at = struct.pack(">I", count), at + 4
    if number == COMMAND:
        return new + turned_strings(data, at, count)[0]
    for _ in range(count):  # of NODES
        name, end = turned_strings(data, at + 20, 1)
        new, at = new + turned("IQQ", data, at) + name, end
    return new


def as_swapped(data):
    magic, _, entry, attrs, attrs_size, start, size = struct.unpack_from(FIELDS, data)
    new_attrs, ids, sample = b"", b"", ""
    count = attrs_size // entry
    for i in range(count):
        at = attrs + i * entry
        kind = struct.unpack_from("<Q", data, at + 24)[0]
        sample = "".join(shape for bit, shape in LAYOUT if kind & bit)
        assert kind == sum(bit for bit, _ in LAYOUT if kind & bit), "fields that are not known here"
        where, length = struct.unpack_from("<2Q", data, at + entry - SECTION)
        new_attrs += turned_attr(data, at, entry - SECTION) + struct.pack(">2Q", HEAD + count * entry + len(ids), length)
        ids += turned("%dQ" % (length // 8), data, where)
    records, at = b"", start
    while at < start + size:
        records += turned_record(data, at, sample)
        at += struct.unpack_from("<H", data, at + 6)[0]
    bitmap = struct.unpack_from("<4Q", data, 72)
    has = [bit for bit in range(256) if bitmap[bit // 64] >> bit % 64 & 1]
    kept = [bit for bit in has if bit in STRINGS or bit in NUMBERS or bit in (COMMAND, NODES)]
    begin = HEAD + len(new_attrs) + len(ids)
    at, table, features = begin + len(records) + len(kept) * SECTION, b"", b""
    for bit in kept:
        new = turned_feature(bit, data, struct.unpack_from("<Q", data, start + size + has.index(bit) * SECTION)[0])
        table += struct.pack(">2Q", at + len(features), len(new))
        features += new
    head = struct.pack(">13Q", magic, HEAD, entry, HEAD, len(new_attrs), begin, len(records), 0, 0,
                       sum(1 << bit for bit in kept), 0, 0, 0)
    return head + new_attrs + ids + records + table + features
