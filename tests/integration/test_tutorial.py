#!/usr/bin/env python3
"""The tutorial as a reader follows it: every command of docs/tutorial.md that is for any machine, in order, in an empty folder."""
import os
import re
import subprocess
import tempfile

import nlens
from nlens import check


SEVERAL_NODES = "## 7. Faster without touching the source\n"  # tests/guest/test_plan.py goes through that part, on four nodes


def commands():
    """Those before the part for machines with several nodes: of indented blocks and those whose output is quoted."""
    with open(os.path.join(nlens.SOURCE, "docs", "tutorial.md")) as stream:
        text = stream.read()
        assert SEVERAL_NODES in text, "no such part: " + SEVERAL_NODES
        for line in text.partition(SEVERAL_NODES)[0].splitlines():
            found = re.match(r"    (\S.*)|\$ (?!cat )(.*)", line)
            # Quoted outputs are indented too: commands begin with one of these words.
            command = found and (found[1] or found[2])
            if command and re.match(r"(mkdir|cp|cd|cc|patch|numalens) ", command):
                yield command


@check("every command of the tutorial works, finds the mistake and proves the fix")
def follow():
    with tempfile.TemporaryDirectory() as folder:
        script = "set -e\n" + "\n".join(commands()).replace("/tmp/tutorial", folder).replace("examples/", nlens.SOURCE + "/examples/")
        environment = {**nlens.ENVIRONMENT, "PATH": os.path.dirname(nlens.NUMALENS) + ":" + os.environ["PATH"]}
        ran = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=nlens.PATIENCE)
        assert ran.returncode == 0, ran.stderr + ran.stdout[-2000:]
        for words in ("far-initialised table(store.c:", "Let each thread initialise the part it uses", "All findings went away",
                      "holds: after.data"):
            assert words in ran.stdout, words + " is not in:\n" + ran.stdout


nlens.main()
