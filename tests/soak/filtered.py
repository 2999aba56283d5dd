"""Starts a program under a seccomp filter that kills for what programs do not do and the agent may: python3 filtered.py PROGRAM..."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
import nlens  # noqa: E402

nlens.refuse("perf_event_open", "timer_create", "ptrace", "userfaultfd", "process_vm_readv", kill=True)()
os.execvp(sys.argv[1], sys.argv[1:])
