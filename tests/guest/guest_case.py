"""What every test in a guest does: skip where there is no guest to be had, boot it with a script, judge what comes back."""
import pathlib
import subprocess
import tempfile

import guest_build
import guest_machine
from guest_results import Results
from guest_tap import Tap

RUN = pathlib.Path(__file__).parent / "run"


def main(judge, kind=guest_machine.X86_64):
    """judge(tap, build folder, an empty folder), with a guest of that kind at hand. Returns the exit status."""
    tap = Tap()
    try:
        guest_machine.kernel(kind)
        build = guest_build.build(kind)
        guest_machine.busybox(kind)
    except guest_machine.Unavailable as reason:
        return tap.skip_all(reason)
    with tempfile.TemporaryDirectory() as folder:
        judge(tap, build, folder)
    return tap.end()


def boot(tap, folder, script, *words, name="guest"):
    """Boots a guest with these words of `run` and the script's text; what the script left in out/."""
    path = guest_build.scratch(script, folder)
    out = f"{folder}/{name}"
    done = subprocess.run([RUN, *words, "--get", out, "--put", f"{path}:script", "--", "sh", "script"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not tap.is_equal(f"the {name} runs to its end", done.returncode, 0):
        tap.note(done.stdout)
    results = Results(out)
    tap.note("uptime after each step: " + " ".join(results.text("uptime").split()))
    return results
