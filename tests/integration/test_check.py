#!/usr/bin/env python3
"""check: the example of docs/compare.md, a commit that makes `plate` remote; rules that cannot be decided; JUnit and SARIF as their
readers want them."""
import functools
import json
import os
import re
import tempfile
import xml.etree.ElementTree

import nlens
from nlens import check, note

FOUR = ["--topology", "numa:4 core:2"]
# Remote are 8% of the accesses before and 60% after; with so many bursts the first is called below the limit unless it is
# seven standard deviations off, when a burst counts once.
BURSTS = 600
LIMIT = "20%"

# What the schema of SARIF 2.1.0 requires, and all that it knows, of the objects that are written here.
SARIF = {
    "log": ({"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"}),
    "run": ({"tool"}, {"invocations", "conversion", "language", "versionControlProvenance", "originalUriBaseIds", "artifacts",
                       "logicalLocations", "graphs", "results", "automationDetails", "runAggregates", "baselineGuid",
                       "redactionTokens", "defaultEncoding", "defaultSourceLanguage", "newlineSequences", "columnKind",
                       "externalPropertyFileReferences", "threadFlowLocations", "taxonomies", "addresses", "translations",
                       "policies", "webRequests", "webResponses", "specialLocations", "properties"}),
    "driver": ({"name"}, {"guid", "organization", "product", "productSuite", "shortDescription", "fullDescription", "fullName",
                          "version", "semanticVersion", "dottedQuadFileVersion", "releaseDateUtc", "downloadUri",
                          "informationUri", "globalMessageStrings", "notifications", "rules", "taxa", "locations", "language",
                          "contents", "isComprehensive", "properties"}),
    "rule": ({"id"}, {"deprecatedIds", "guid", "deprecatedGuids", "name", "deprecatedNames", "shortDescription",
                      "fullDescription", "messageStrings", "defaultConfiguration", "helpUri", "help", "relationships",
                      "properties"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "rule", "kind", "level", "analysisTarget", "locations", "guid",
                             "correlationGuid", "occurrenceCount", "partialFingerprints", "fingerprints", "stacks",
                             "codeFlows", "graphs", "graphTraversals", "relatedLocations", "suppressions", "baselineState",
                             "rank", "attachments", "hostedViewerUri", "workItemUris", "provenance", "fixes", "taxa",
                             "webRequest", "webResponse", "properties"}),
    "invocation": ({"executionSuccessful"}, {"commandLine", "arguments", "responseFiles", "startTimeUtc", "endTimeUtc",
                                             "exitCode", "ruleConfigurationOverrides", "notificationConfigurationOverrides",
                                             "toolExecutionNotifications", "toolConfigurationNotifications",
                                             "exitCodeDescription", "exitSignalName", "exitSignalNumber",
                                             "processStartFailureMessage", "machine", "account", "processId",
                                             "executableLocation", "workingDirectory", "environmentVariables", "stdin",
                                             "stdout", "stderr", "stdoutStderr", "properties"}),
    "notification": ({"message"}, {"locations", "level", "threadId", "timeUtc", "exception", "descriptor", "associatedRule",
                                   "properties"}),
}
# A reference of RFC 3986: no byte in it that would have to be escaped.
URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+")


def shape(name, value):
    required, known = SARIF[name]
    assert required <= set(value) <= required | known, (name, sorted(value))
    return value


def message(value):
    assert set(value) == {"text"} and isinstance(value["text"], str) and value["text"], value


def sarif_results(path):
    """The results of a SARIF log, after it was held against the schema."""
    with open(path, encoding="utf-8") as stream:
        log = shape("log", json.load(stream))
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    run = shape("run", log["runs"][0])
    assert set(run["tool"]) == {"driver"} and run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = shape("driver", run["tool"]["driver"])
    ids = [shape("rule", rule)["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids) and driver["name"] == "numalens"
    for rule in driver["rules"]:
        message(rule["shortDescription"])
        message(rule["help"])
        assert rule["defaultConfiguration"] in ({"level": "warning"}, {"level": "error"}), rule
    for invocation in run["invocations"]:
        shape("invocation", invocation)
        for notification in invocation["toolExecutionNotifications"]:
            message(shape("notification", notification)["message"])
    for result in run["results"]:
        message(shape("result", result)["message"])
        assert ids[result["ruleIndex"]] == result["ruleId"] and result["level"] in ("none", "note", "warning", "error")
        assert result.get("baselineState", "new") in ("new", "unchanged", "updated", "absent")
        assert all(isinstance(text, str) for text in result.get("partialFingerprints", {}).values())
        for location in result["locations"]:
            place, = location.values()
            assert set(location) == {"physicalLocation"} and set(place) == {"artifactLocation", "region"}, location
            assert URI.fullmatch(place["artifactLocation"]["uri"]), place
            assert place["region"]["startLine"] >= 1
    return run["results"], run["invocations"][0]


def junit_cases(path):
    """{name: None or the failure or error} of a JUnit report."""
    suites = xml.etree.ElementTree.parse(path).getroot()
    assert suites.tag == "testsuites"
    suite, = suites
    cases = {case.get("name"): next((part for part in case if part.tag in ("failure", "error")), None) for case in suite}
    for kind in ("failure", "error"):
        assert int(suite.get(kind + "s")) == sum(part is not None and part.tag == kind for part in cases.values())
    assert int(suite.get("tests")) == len(cases) == len(suite)
    return cases


def judge(*words, status, **rest):
    ended = nlens.run([nlens.NUMALENS, "check", *words], **rest)
    assert ended.status == status, ended
    return ended


@functools.lru_cache(maxsize=None)
def commits():
    """Recordings of the program before the commit, of the same once more, and after it."""
    folder = tempfile.TemporaryDirectory(prefix="numalens-")
    traces = [folder]
    for name, words in (("before", ["--first-touch"]), ("again", ["--first-touch"]), ("after", [])):
        ended = nlens.record(os.path.realpath(folder.name), [nlens.example("demo"), *words],
                             ["-q", "-F", "1000", "--budget", "100", *FOUR], name=name + ".data", bursts=BURSTS, longer=1 / 4)
        assert ended.status == 0, ended
        traces.append(ended.trace)
    return traces


@check("a commit that makes `plate` remote fails, the one before it passes")
def ci():
    _, before, again, after = commits()
    with nlens.Folder() as folder:
        rules = ["--max-remote", LIMIT, "--no-new-findings", before, "--junit", "numa.xml", "--sarif", "numa.sarif"]
        ended = judge(*rules, again, status=0, folder=folder)
        assert ended.out.startswith(b"holds: ") and ended.err == b"", ended
        assert junit_cases(os.path.join(folder, "numa.xml")) == {"max-remote 20%": None, "no-new-findings": None}
        results, invocation = sarif_results(os.path.join(folder, "numa.sarif"))
        assert {result["level"] for result in results} <= {"warning"} and invocation["exitCode"] == 0, results
        assert judge("-q", *rules, again, status=0, folder=folder).out == b""

        ended = judge(*rules, after, status=1, folder=folder)
        note(ended.out.decode())
        assert ended.out.startswith(b"does not hold: ") and b"simulation->plate(demo.c:" in ended.out, ended
        cases = junit_cases(os.path.join(folder, "numa.xml"))
        assert [part.tag for part in cases.values()] == ["failure", "failure"], cases
        assert "simulation->plate" in cases["no-new-findings"].text
        results, invocation = sarif_results(os.path.join(folder, "numa.sarif"))
        assert invocation["executionSuccessful"] and invocation["exitCode"] == 1
        assert results[0]["ruleId"] == "max-remote" and results[0]["level"] == "error"
        plate = [result for result in results if "simulation->plate(" in result["message"]["text"]]
        assert len(plate) == 1, results
        place = plate[0]["locations"][0]["physicalLocation"]
        assert plate[0]["ruleId"] == "far-initialised" and plate[0]["level"] == "error", plate
        assert plate[0]["baselineState"] == "new" and place["region"]["startLine"] == nlens.site_line("demo.c", "plate")


@check("source files below the root have relative names")
def relative():
    _, _, _, after = commits()
    with nlens.Folder() as folder:
        path = os.path.join(folder, "numa.sarif")
        for words, wanted in ((["--source-root", nlens.SOURCE], "examples/demo.c"), (["--source-root", folder], None)):
            judge("--no-findings", "--sarif", path, *words, after, status=1)
            places = {location["physicalLocation"]["artifactLocation"]["uri"] for result in sarif_results(path)[0]
                      for location in result["locations"]}
            assert len(places) == 1, places
            place, = places
            assert place == wanted if wanted else place.startswith("file:///") and place.endswith("/examples/demo.c"), place


@check("each rule by itself: what holds, what fails, what JSON says of it")
def rules():
    _, before, again, after = commits()
    said = json.loads(judge("--json", "--max-remote", LIMIT, "--max-cost", "99%", "--no-findings", after, status=1).out)
    assert said["outcome"] == "fails" and said["exit_status"] == 1 and said["before"] is None
    remote, cost, findings = said["rules"]
    assert (remote["rule"], remote["outcome"], cost["outcome"], findings["outcome"]) == ("max-remote", "fails", "holds", "fails")
    assert remote["limit"] == 0.2 and remote["low"] < remote["value"] < remote["high"] and remote["needed"] is None, remote
    assert remote["value"] == nlens.report(after)["remote_ratio"]
    assert [row["name"] for row in said["findings"]] == \
        [row["name"] for row in nlens.report(after, "patterns")["patterns"]]
    assert all(row["fails"] and row["fate"] is None for row in said["findings"])
    said = json.loads(judge("--json", "--no-new-findings", after, again, status=0).out)
    assert not any(row["fails"] for row in said["findings"]) and said["before"] == after
    judge("--no-new-findings", before, before, status=0)


@check("--not-slowed is the verdict of the report, though waiting costs next to nothing")
def verdict():
    for name, outcome, tag in (("traffic", "fails", "failure"), ("after", "holds", None), ("facerec", "undecided", "error")):
        trace, status = nlens.committed(name), int(outcome != "holds")
        first_line = nlens.report(trace)["verdict"]
        assert first_line["matters"] is {"fails": True, "holds": False, "undecided": None}[outcome], first_line
        with nlens.Folder() as folder:
            ended = judge("--not-slowed", "--max-cost", "5%", "--junit", "numa.xml", "--sarif", "numa.sarif", "--width", "0", trace,
                          status=status, folder=folder)
            cost, rule = [line.split() for line in ended.out.decode().splitlines()[1:3]]
            assert cost[:2] == ["holds", "max-cost"] and rule[:2] == [outcome, "not-slowed:"], ended
            assert first_line["text"].startswith(" ".join(rule[2:]) + "."), (rule, first_line)
            part = junit_cases(os.path.join(folder, "numa.xml"))["not-slowed"]
            assert (part.tag if part is not None else None) == tag, ended
            results, invocation = sarif_results(os.path.join(folder, "numa.sarif"))
            assert [row["ruleId"] for row in results if row["level"] == "error"] == ["not-slowed"] * (outcome == "fails"), results
            assert len(invocation["toolExecutionNotifications"]) == (outcome == "undecided"), invocation
        said = json.loads(judge("--json", "--not-slowed", trace, status=status).out)
        row, = said["rules"]
        assert (said["outcome"], row["rule"], row["outcome"]) == (outcome, "not-slowed", outcome) and row["limit"] is row["value"] is None, said


@check("too few bursts: status 1, how many are needed, and what records them")
def undecided():
    _, before, _, after = commits()
    with nlens.Folder() as folder:
        short = nlens.record(folder, [nlens.example("demo"), "--steps=1"], ["-q", "--stop-after", "1ns", *FOUR]).trace
        every = ["--max-remote", LIMIT, "--max-cost", "5%", "--not-slowed", "--no-findings", "--no-new-findings"]
        ended = judge(*every, before, short, "--junit", "numa.xml", "--sarif", "numa.sarif", "--width", "0", status=1,
                      folder=folder)
        assert ended.out.startswith(b"cannot be decided: "), ended
        said = re.findall(rb"cannot be decided: (\d+) bursts?, (\d+) needed; record ([^\n]+)", ended.out)
        assert len(said) == 5 and all(int(has) < int(needed) for has, needed, _ in said), ended
        commands = [words for _, _, words in said if words.startswith(b"it with numalens record ")]
        assert all(b"--topology 'numa:4 core:2' -- " in command for command in commands), ended
        assert all(words == b"longer" or words.endswith(b" times as long") for _, _, words in said if words not in commands), ended
        assert [part.tag for part in junit_cases(os.path.join(folder, "numa.xml")).values()] == ["error"] * 5
        results, invocation = sarif_results(os.path.join(folder, "numa.sarif"))
        assert not results and not invocation["executionSuccessful"]
        assert len(invocation["toolExecutionNotifications"]) == 5
        ended = judge("--no-new-findings", short, after, "--width", "0", status=1)
        assert re.search(rb"numalens.data has \d+ bursts?, 100 needed", ended.out), ended
        untimed = nlens.record(folder, [nlens.example("demo")], ["-q", "-F", "1000", "--budget", "100", "--no-latency", *FOUR],
                               name="untimed.data", bursts=100, longer=1 / 16).trace
        ended = judge("--max-cost", "5%", untimed, "--width", "0", status=1)
        assert b"cannot be decided: no latency was recorded" in ended.out, ended
        # A rule that fails is more than one that is not decided.
        said = json.loads(judge("--json", "--max-remote", LIMIT, "--no-new-findings", short, after, status=1).out)
        assert said["outcome"] == "fails" and [rule["outcome"] for rule in said["rules"]] == ["fails", "undecided"], said


@check("where nothing can be remote, nothing is promised; machines that differ are not compared")
def machines():
    _, before, again, after = commits()
    ended = judge("--max-remote", LIMIT, "--max-cost", "5%", "--not-slowed", "--no-new-findings", after, "--topology", "numa:1 core:4", before,
                  "--width", "0", status=1)
    assert ended.out.count(b"there is one memory node") == 4, ended
    # The same recording on another simulated machine.
    ended = judge("--max-remote", "99%", "--topology", "numa:2 core:4", "--homes", "bind:0", after, status=0)
    assert b"holds" in ended.out, ended
    with nlens.Folder() as folder:
        other = nlens.record(folder, [nlens.example("demo"), "--first-touch"],
                             ["-q", "-F", "1000", "--budget", "100", "--topology", "numa:2 core:4"], bursts=BURSTS, longer=1 / 4).trace
        ended = judge("--no-new-findings", other, again, "--width", "0", status=1)
        assert b"undecided" in ended.out and b"The machines differ" in ended.out, ended


@check("wrong usage is status 2; what cannot be read or written is status 1")
def usage():
    _, before, _, after = commits()
    with nlens.Folder() as folder:
        none = os.path.join(folder, "none")
        for words in ([], [after], ["--max-remote", "20", after], ["--max-remote", "0%", after], ["--max-remote", "100%", after],
                      ["--max-remote", "x%", after], ["--max-cost", "nan%", after],
                      ["--no-findings", "--junit", "-", "--sarif", "-", after], ["--no-findings", "--json", "--sarif", "-", after],
                      ["--no-findings", "--assign", "packed", after], ["--no-findings", "--topology", "nonsense", after],
                      ["--no-findings", "--source-root", none, after], ["--no-findings", "--color", "red", after],
                      ["--nonsense"]):
            ended = judge(*words, status=2)
            assert ended.out == b"" and ended.err.startswith(b"numalens check: "), ended
        for words in ([none], [folder], [after, before], ["--no-new-findings", none, after], ["--junit", os.path.join(none, "x"), after],
                      ["--sarif", folder, after], ["--sarif", "/dev/full", after]):
            ended = judge("--no-findings", *words, status=1)
            assert ended.err.count(b"\n") == 1 and ended.err.startswith(b"numalens check: "), (words, ended)
        document = judge("--no-findings", "--sarif", "-", after, status=1).out
        assert json.loads(document)["version"] == "2.1.0"
        document = judge("--no-findings", "--junit", "-", after, status=1).out
        assert xml.etree.ElementTree.fromstring(document).tag == "testsuites"


nlens.main()
