"""A recording of a newer perf as an older one would have written it, so that the perf that is installed can be asked."""
import struct

HEAD = 104  # of the file
FIELDS = 16  # in it: the size of an entry, then where the entries are and where the records are
ATTR = 128  # bytes that Linux 5.13 to 6.2 describe an event with; a newer one has more
COMPRESSED, COMPRESSED2 = 81, 83  # the newer kind says how long it is, and is filled up to eight bytes


def entries(data, size, at, length):
    """Events, without the fields that older ones lack: none of them is in use."""
    for entry in range(at, at + length, size):
        assert not any(data[entry + ATTR:entry + size - 16]), "an event that older ones cannot describe"
        kind = struct.unpack_from("<I", data, entry)[0]
        yield struct.pack("<2I", kind, ATTR) + data[entry + 8:entry + ATTR] + data[entry + size - 16:entry + size]


def records(data, at, length):
    end = at + length
    while at < end:
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        body = data[at + 8:at + size]
        if kind == COMPRESSED2:
            kind, body = COMPRESSED, body[8:8 + struct.unpack_from("<Q", body)[0]]
        yield struct.pack("<IHH", kind, misc, 8 + len(body)) + body
        at += size


def as_older(data):
    """Places of other parts stay as they are: what is new comes behind them."""
    size, attrs, attrs_length, start, length = struct.unpack_from("<5Q", data, FIELDS)
    described = b"".join(entries(data, size, attrs, attrs_length))
    reported = b"".join(records(data, start, length))
    head = bytearray(data[:HEAD])
    struct.pack_into("<5Q", head, FIELDS, ATTR + 16, len(data), len(described), len(data) + len(described), len(reported))
    return bytes(head) + data[HEAD:] + described + reported + data[start + length:]
