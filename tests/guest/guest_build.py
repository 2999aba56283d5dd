"""The build for the guest and how it gets into the guest: at the paths it has here, because tests have them compiled in."""
import json
import pathlib
import re
import subprocess

from guest_image import is_elf
from guest_machine import PROJECT, X86_64, Unavailable

NOT_NEEDED = re.compile(r".*\.(a|o|d|p|h|ninja|json|log|dat)$|.*/meson-(private|logs|info)/")
NATIVE = PROJECT / "build"  # this machine's own
PROGRAMS = ("src/cli", "src/agent", "src/executor", "examples")  # what `run --build` puts into a guest


def build(kind=X86_64, parts=()):
    """The build folder, brought up to date on a machine that must cross-build; of it, these folders and programs or everything."""
    words = [f"{part}/" if (PROJECT / part).is_dir() else part for part in parts]
    done = subprocess.run([PROJECT / "scripts" / "cross", kind.arch, "--quick", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 77:
        raise Unavailable(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise RuntimeError(f"the {kind.arch} build failed:\n" + done.stderr[-4000:])
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


def files(folder):
    """Programs, libraries and data below a folder of the build, or the program itself."""
    return [folder] if folder.is_file() else [
        path for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not NOT_NEEDED.match(str(path))
        and (path.suffix == ".dwo" or not any(part.endswith(".p") for part in path.parts))]


def puts(build_folder, *parts):
    """--put arguments for these folders and programs of the build."""
    words = []
    for part in parts:
        for path in files(build_folder / part):
            words += ["--put", f"{path}:{path}"]
    return words


def unit_tests(build_folder):
    """Meson's tests that are programs: (room, name, command, environment, folder)."""
    known = json.loads((build_folder / "meson-info" / "intro-tests.json").read_text())
    found = []
    for test in known:
        command = [str(pathlib.Path(word).resolve()) if "/" in word and pathlib.Path(word).exists() else word
                   for word in test["cmd"]]
        if test["suite"] != ["numalens:guest"] and pathlib.Path(command[0]).is_file() and is_elf(command[0]) \
                and pathlib.Path(command[0]).is_relative_to(build_folder.resolve()):
            found.append((test["suite"][0].split(":")[1], test["name"], command, test["env"],
                          test["workdir"] or str(build_folder)))
    return found


def quote(word):
    return "'" + str(word).replace("'", "'\\''") + "'"


def scratch(text, folder):
    """A script for the guest."""
    path = pathlib.Path(folder) / "script"
    path.write_text(text)
    return path
