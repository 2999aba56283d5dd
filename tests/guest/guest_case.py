"""What every test in a guest does: skip where there is no guest to be had, boot it with a script, judge what comes back."""
import pathlib
import subprocess
import tempfile

import guest_build
import guest_machine
from guest_results import Results
from guest_tap import Tap

# Seconds of this machine until a guest is given up, and of the guest until a program is: nothing waits for them, and a loaded
# machine may take ten times as long as an idle one.
PATIENCE, LIMIT = 3000, 1500
LONGEST = 16  # times the usual work; what has no samples then has none for another reason
# What the kernel still does after its boot shares the CPU with the program, and its clock counts that. Where the clock counts
# instructions, waiting for the end of it takes none.
SETTLE = "sleep 30\n"
RUN = pathlib.Path(__file__).parent / "run"


def main(judge, kind=guest_machine.X86_64, parts=()):
    """judge(tap, build folder, an empty folder), with a guest of that kind at hand, and these parts of the build or all of it.
    Returns the exit status."""
    tap = Tap()
    try:
        guest_machine.kernel(kind)
        build = guest_build.build(kind, parts)
        guest_machine.busybox(kind)
    except guest_machine.Unavailable as reason:
        return tap.skip_all(reason)
    with tempfile.TemporaryDirectory() as folder:
        try:
            judge(tap, build, folder)
        except guest_machine.Unavailable as reason:  # what this test alone needs; before its first check
            return tap.skip_all(reason)
    return tap.end()


def record_lines(name, numalens, options, program, samples):
    """Lines of a script that record a program of examples/ until the trace has so many samples, each time with twice the work
    (EXAMPLE_LONGER). How long that takes is up to the emulator, what is judged is not. out/NAME.longer has how much it was;
    the trace, out/NAME.data, is for reported()."""
    quoted = [" ".join(map(guest_build.quote, words)) for words in (options, program)]
    command = f"{guest_build.quote(numalens)} record {quoted[0]} -o /root/out/{name}.data -- {quoted[1]}"
    count = f"sed -n 's/^numalens record: \\([0-9,]*\\) samples.*/\\1/p' /root/out/{name}.err | tr -dc 0-9"
    return ["longer=1; while :; do",
            f"EXAMPLE_LONGER=$longer timeout {LIMIT} {command} >/root/out/{name}.out 2>/root/out/{name}.err",
            f"echo $? >/root/out/{name}.status",
            f"echo $longer >/root/out/{name}.longer; found=$({count})",
            f'if [ "${{found:-0}}" -ge {samples} ] || [ $longer -ge {LONGEST} ]; then break; fi',
            "longer=$((longer * 2)); done"]


def reported(results, name, *words):
    """report WORDS --json of out/NAME.data, made on this machine, where it takes a fiftieth of the time: what is not about the
    report itself asks for it so. None when it fails; then out/NAME.report.* have what it said."""
    done = subprocess.run([guest_build.NATIVE / "src/cli/numalens", "report", *words, "--json", results.folder / f"{name}.data"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for kind, text in (("out", done.stdout), ("err", done.stderr), ("status", f"{done.returncode}\n")):
        (results.folder / f"{name}.report.{kind}").write_text(text)
    return results.json(f"{name}.report")


def run_lines(name, *words):
    """Lines of a script that run a command and keep its output and status as out/NAME.*"""
    return [f"timeout {LIMIT} {' '.join(map(guest_build.quote, words))} >/root/out/{name}.out 2>/root/out/{name}.err",
            f"echo $? >/root/out/{name}.status"]


def boot(tap, folder, script, *words, name="guest"):
    """Boots a guest with these words of `run` and the script's text; what the script left in out/."""
    if "--count" in words:
        script = SETTLE + script
    path = guest_build.scratch(script, folder)
    out = f"{folder}/{name}"
    done = subprocess.run([RUN, "--timeout", str(PATIENCE), *words, "--get", out, "--put", f"{path}:script", "--", "sh", "script"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not tap.is_equal(f"the {name} runs to its end", done.returncode, 0):
        tap.note(done.stdout)
    results = Results(out)
    tap.note("uptime after each step: " + " ".join(results.text("uptime").split()))
    return results
