"""What a guest brought back: for each command it ran, files NAME.out, NAME.err and NAME.status."""
import json
import pathlib


class Results:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def text(self, name):
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def status(self, name):
        return int(self.text(f"{name}.status") or -1)

    def json(self, name, kind="out"):
        """What the command said in JSON, or None when it is none."""
        try:
            return json.loads(self.text(f"{name}.{kind}"))
        except ValueError:
            return None

    def notes(self, *names):
        return [note for name in names for note in
                (f"{name}: status {self.status(name)}", self.text(f"{name}.out")[-1500:], self.text(f"{name}.err")[-2500:])]
