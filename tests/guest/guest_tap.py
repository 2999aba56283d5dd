"""TAP for the guest's tests: one line a check, the plan at the end, exit status 77 when all is skipped."""
import resource


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, name, good, *notes):
        self.count += 1
        if not good:
            self.failed += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}", flush=True)
        if not good:
            for note in notes:
                self.note(note)
        return good

    def note(self, text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def is_equal(self, name, got, wanted):
        return self.check(name, got == wanted, f"got    {got!r}", f"wanted {wanted!r}")

    def skip_all(self, reason):
        print(f"1..0 # SKIP {reason}")
        return 77

    def end(self):
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        self.note("CPU time: %.1f s" % sum(usage.ru_utime + usage.ru_stime for usage in spent))
        print(f"1..{self.count}")
        return 1 if self.failed else 0
