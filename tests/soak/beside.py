"""Runs a program with numalens beside it: beside.py NUMALENS COMMAND... FILE -- PROGRAM...: what the COMMAND, which gets the process's
number behind it, prints is in FILE. Ends as the program does."""
import os
import signal
import subprocess
import sys

numalens, *words = sys.argv[1:]
split = words.index("--")
command, path, program = words[:split - 1], words[split - 1], words[split + 1:]
target = subprocess.Popen(program)
with open(path, "wb") as out:
    beside = subprocess.Popen([numalens, *command, str(target.pid)], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
status = target.wait()
beside.wait()
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
