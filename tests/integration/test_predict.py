#!/usr/bin/env python3
"""numalens predict: a row for each machine and placement with its interval; what it refuses, and that it says why. The model
itself is held against arithmetic in tests/predict."""
import json
import os

import nlens
from nlens import Folder, check, note, record, report, run
from traffic_truth import recorded

PLACEMENTS = ["as-is", "interleave", "first-touch-by-users", "replicate", "cluster"]
BAD_MODEL = "title A machine\nsource a test\ntopology numa:2 core:2\nlatency 0 90 140\nlatency 1 140 90\nread 0 100 0\n"


def predict(*arguments, folder=None):
    return run([nlens.NUMALENS, "predict", *arguments], folder=folder)


def refused(ended, status, *words):
    text = ended.err.decode()
    assert ended.status == status and not ended.out, ended
    assert all(word in text for word in words), ended
    return text


@check("a stream that was recorded with its traffic has a row for each machine and placement")
def _():
    with Folder() as folder:
        ended, traffic = recorded(folder, "triad", "256", "2", ["--machine", "generic-2"])
        shown = predict("--machine", "generic-2,generic-4", "--json", ended.trace)
        assert shown.status == 0, shown
        one = predict("--machine", "generic-2", "--placements", "as-is,replicate:b", "--json", ended.trace)
        assert one.status == 0 and json.loads(one.out)["rows"][1]["placement"] == "replicate:b", one
        text = refused(predict("--machine", "generic-2", "--placements", "replicate:nothing", ended.trace), 1, "'nothing'")
        assert text.count("\n") == 1, text
        text = predict("--machine", "generic-2", "--placements", "interleave,as-is", ended.trace)
        assert text.status == 0, text
        own = predict("--json", "--placements", "as-is", ended.trace)
        own_text = predict("--placements", "as-is", ended.trace)
        reported = report(ended.trace)
    answer = json.loads(shown.out)
    rows = answer["rows"]
    assert [(row["machine"], row["placement"]) for row in rows] == [
        (machine, placement) for machine in ("generic-2", "generic-4") for placement in PLACEMENTS], rows
    for row in rows:
        note(row)
        assert 0 < row["low"] <= row["time_s"] <= row["high"] and row["bottleneck"], row
    assert answer["best"] in rows and answer["best"]["time_s"] == min(row["time_s"] for row in rows), answer["best"]
    by_name = {row["machine"] + " " + row["placement"]: row for row in rows}
    assert abs(by_name["generic-2 interleave"]["remote_share"] - 0.5) < 0.001, by_name
    assert abs(by_name["generic-4 interleave"]["remote_share"] - 0.75) < 0.001, by_name
    assert [machine["machine"] for machine in answer["machines"]] == ["generic-2", "generic-4"], answer["machines"]
    machine, = json.loads(own.out)["machines"]  # without --machine: the one that the recording carries
    assert own.status == 0 and (machine["machine"], machine["from"]) == ("generic-2", "recording"), own
    assert b"\ngeneric-2 is the machine that the recording was made for" in own_text.out, own_text
    # The verdict comes first, and is the one of the report where that has the same machine.
    first = " ".join(own_text.out.decode().partition("generic-2 is the machine")[0].split())
    verdict = machine["verdict"]
    assert first == verdict["text"] and reported["verdict"]["text"].startswith(first), (first, reported["verdict"])
    assert all(verdict[name] == reported["verdict"][name] for name in ("matters", "grade", "bottleneck")), (verdict, reported["verdict"])
    assert json.loads(own.out)["experimental"] is True
    assert {machine["from"] for machine in answer["machines"]} == {"named"}, answer["machines"]
    placed = sum(pair["bytes_s"] for pair in traffic["pairs"])
    remote = sum(pair["bytes_s"] for pair in traffic["pairs"] if pair["from"] != pair["to"])
    share = reported["verdict"]["remote_bytes_share"]  # the headline is of the bytes from memory whose homes are known
    assert placed > traffic["unplaced_bytes_s"] and abs(share - remote / placed) < 0.001, (share, traffic["pairs"])
    lines = text.out.decode().splitlines()
    assert any(line.startswith("generic-2: ") for line in lines) and sum("generic-2  " in line for line in lines) == 2, text


@check("a recording without traffic is refused, with what to do")
def _():
    with Folder() as folder:
        ended = record(folder, ["true"], ["--no-traffic"])
        assert ended.status == 0, ended
        for machine in (["--machine", "generic-2"], []):
            refused(predict(*machine, ended.trace), 1, "no memory traffic", "--no-traffic")


@check("a machine or placement that is not there, a bad model, a missing file: one line says what is wrong")
def _():
    with Folder() as folder:
        model = os.path.join(folder, "bad.machine")
        with open(model, "w") as stream:
            stream.write(BAD_MODEL)
        cases = [(["--machine", "no-such"], 1, ["no-such", "generic-4"]),
                 (["--machine", "generic-2,,generic-4"], 1, ["generic-4"]),
                 (["--machine", model], 1, ["bad.machine:6"]),
                 (["--machine", "generic-2", "no-such.data"], 1, ["no-such.data"]),
                 (["--machine", "generic-2", "--placements", "as-is,elsewhere"], 2, ["elsewhere", "first-touch-by-users"])]
        for arguments, status, words in cases:
            text = refused(predict(*arguments, folder=folder), status, *words)
            assert text.count("\n") == 1, text
        refused(predict(folder=folder), 1, "numalens.data")


nlens.main()
