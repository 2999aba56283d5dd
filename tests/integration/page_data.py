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


def check_totals(tables):
    """No row of any table would print a percentage below 0 or above 100, and parts make no more than their whole."""
    rows = 0

    def visit(value, whole, path):
        nonlocal rows
        if isinstance(value, list):
            for inner in value:
                visit(inner, whole, path)
        elif isinstance(value, dict):
            if "home_known" in value:
                rows += 1
                assert value["samples"] <= whole["samples"], (path, value)
                # An atomic update reads and writes.
                assert max(value["reads"], value["writes"]) <= value["samples"] <= value["reads"] + value["writes"], (path, value)
                assert 0 <= value["remote"] <= value["home_known"] <= value["samples"], (path, value)
                assert value["remote"] <= whole["remote"] and 0 <= value["latency_count"] <= value["samples"], (path, value)
                whole = value
            for key, inner in value.items():
                if key.endswith(("_share", "confidence")) or key.startswith("share_of"):
                    assert inner is None or 0 <= inner <= 1, (path, key, inner)
                visit(inner, whole, path + "." + key)

    totals = tables["totals"]
    visit({key: value for key, value in tables.items() if key != "columns"}, totals, "")
    assert rows > 4
    assert sum(map(sum, tables["matrix"])) == totals["home_known"], (tables["matrix"], totals)
    for name in ("threads", "processes", "functions", "lines", "objects"):
        known = sum(row["samples"] for row in tables[name])
        assert known <= totals["samples"], (name, known, totals)
    assert sum(row["samples"] for row in tables["threads"]) == totals["samples"]
    for row in tables["objects"]:
        assert sum(row["homes"]) <= row["home_known"], row
