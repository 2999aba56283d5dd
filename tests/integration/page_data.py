"""page_data - reads what `report --html` and `view` carry, as the page does (docs/view.md)."""
import base64
import json
import re
import struct
import zlib

import nlens

ELEMENT = re.compile(rb'<script type="text/plain" class="numalens-data" data-encoding="deflate">([^<]*)</script>')
LETTERS = {"u8": "B", "u16": "H", "u32": "I", "f32": "f", "f64": "d"}
NONE = 0xffffffff


class Data:
    """A container: `tables` is its JSON, columns come by name as tuples."""

    def __init__(self, content):
        magic, version, size, zero = struct.unpack_from("<4sIII", content)
        assert (magic, version, zero) == (b"NLPG", 1, 0), (magic, version, zero)
        self.tables = json.loads(content[16:16 + size])
        area = 16 + (size + 7) // 8 * 8
        self.columns = {}
        for name, column in self.tables["columns"].items():
            assert column["offset"] % 8 == 0, name
            self.columns[name] = struct.unpack_from("<%d%s" % (column["count"], LETTERS[column["type"]]), content,
                                                    area + column["offset"])

    def __getitem__(self, name):
        return self.columns[name]


def elements(page):
    """The containers in a page, in order."""
    return [Data(zlib.decompress(base64.b64decode(found[1], validate=True))) for found in ELEMENT.finditer(page)]


def write(trace, out, *options, **rest):
    """numalens report --html OUT OPTIONS TRACE; skips in a build without the page."""
    ended = nlens.run([nlens.NUMALENS, "report", "--html", out, *options, trace], **rest)
    if b"built without the page" in ended.err:
        raise nlens.Skip("there is no node here: this build has no page")
    return ended


def of(trace, out, *options):
    ended = write(trace, out, *options)
    assert ended.status == 0, ended
    with open(out, "rb") as stream:
        return elements(stream.read())
