#!/usr/bin/env python3
"""Programs in other languages: functions and objects have the names that their source has."""
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nlens
from nlens import Folder, check, record, report, row_named, tool

JAVASCRIPT = """'use strict';
function gather(grid, index) {
    let sum = 0;
    for (let i = 0; i < index.length; i++)
        sum += grid[index[i]];
    return sum;
}
function make_grid(count) {
    return new Float64Array(count).fill(1);
}
const grid = make_grid(1000000), index = new Uint32Array(1000000);
for (let i = 0; i < index.length; i++)
    index[i] = i * 7919 % index.length;
let sum = 0;
for (let rounds = 0; rounds < ROUNDS; rounds++)
    sum += gather(grid, index);
console.log(sum);
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as stream:
        stream.write(text)
    return path


@check("code that node compiles has the names of its source, from a perf map and from a jitdump; typed arrays have their function's")
def javascript():
    for option, array in (("--perf-basic-prof --interpreted-frames-native-stack", "make_grid"), ("--perf-prof", "V8 array buffer")):
        with Folder() as folder:
            program = write(folder, "gather.js", JAVASCRIPT.replace("ROUNDS", "100 * (process.env.EXAMPLE_LONGER || 1)"))
            ended = record(folder, [tool("node"), *option.split(), program], ["-F", "1000", "--budget", "20"], bursts=200)
            assert ended.status == 0, ended
            for file in glob.glob("/tmp/perf-%d.map" % report(ended.trace, "processes")["processes"][0]["pid"]):
                os.unlink(file)
            functions = report(ended.trace, "functions")["functions"]
            row = row_named(functions, "gather", key="function")
            assert row["module"] == "[jit]" and row["share"] > 0.1, row
            assert row["file"].endswith("/gather.js") and row["line"] == 2 or option == "--perf-prof" and row["line"] in range(2, 8), row
            arrays = [r for r in report(ended.trace, "objects")["objects"] if r["size"] == 8000000]
            assert [r["name"].split(" (")[0] for r in arrays] == [array] and arrays[0]["share"] > 0.02, arrays
            assert not [r for r in functions if r["function"].startswith("?+") and r["share"] > 0.02], nlens.describe(functions)


PYTHON = """import ctypes
import threading

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.memset.restype = ctypes.c_void_p
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def make(size):
    return libc.malloc(size)

class World:
    def __init__(self):
        self.field = make(4 << 20)
        self.other = make(4 << 20)

    def fill(self):
        libc.memset(self.field, 1, 4 << 20)

def work(world):
    for i in range(ROUNDS):
        world.fill()
        sum(range(20000))

world = World()
threads = [threading.Thread(target=work, args=(world,)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
bytes(bytearray(1 << 20))
"""


@check("a Python program's blocks and samples have the lines of its source, between the native frames")
def python():
    with Folder() as folder:
        program = write(folder, "world.py", PYTHON.replace("ROUNDS", "200 * int(__import__('os').environ.get('EXAMPLE_LONGER', 1))"))
        ended = record(folder, ["/usr/bin/python3", program], ["-F", "1000", "--budget", "20"], bursts=150)
        assert ended.status == 0, ended
        functions = report(ended.trace, "functions")["functions"]
        work = row_named(functions, "work", key="function")
        assert work["module"] == "[python]" and work["file"] == program and work["line"] in range(20, 23), work
        sites = [row for row in report(ended.trace, "sites")["sites"] if row["file"] == program]
        # make() is called from two lines: each of them is a site.
        assert {row["line"] for row in sites if row["size"] >= 4 << 20} >= {13}, nlens.describe(sites)
        folded = nlens.run([nlens.NUMALENS, "export", "--format", "folded", "-o", "-", ended.trace])
        assert folded.status == 0 and b";work;World.fill;" in folded.out, folded
        # Deeper chains, as of imports, keep the interpreter's own frames at their outer end.
        own = [line for line in folded.out.splitlines() if b";work;" in line]
        assert not [line for line in own if b"_PyEval_EvalFrameDefault" in line], "frames of Python stand in its place"


ARRAYS = """import ctypes
import os
import signal

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.memset.restype = ctypes.c_void_p
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
keep = []

def words(*values):
    array = (ctypes.c_uint64 * (len(values) + 1))()
    keep.append(array)
    skip = ctypes.addressof(array) % 16 // 8
    array[skip:skip + len(values)] = values
    return ctypes.addressof(array) + 8 * skip

# As numpy has them when it allocates: a type with its name, items of 4 bytes, a shape with strides behind it, the array without its data.
name = ctypes.create_string_buffer(b"numpy.ndarray")
kind = words(1, 0, 0, ctypes.addressof(name))
shape = words(512, 256, 1024, 4)
first = words(1, kind, 0, 2, shape, shape + 16, 0, words(1, 0, 0, ord("f") | 11 << 32, 4 | 4 << 32, 7))
second = words(1, kind, 0, 2, shape, shape + 16, 0, words(1, 0, 0, ord("i") | 5 << 32, 1 << 40, 4))
# Of fields, in the places of numpy 1 and 2; of text.
fields = ("x", "mass")
small = words(64, 8, 128, 16)
third = words(1, kind, 0, 2, small, small + 16, 0, words(1, 0, 0, ord("V") | 20 << 32, 16 | 1 << 32, 0, 0, id(fields)))
fourth = words(1, kind, 0, 2, small, small + 16, 0, words(1, 0, 0, ord("V") | 20 << 32, 1 << 40, 16, 1, 0, 0, 0, 0, 0, 0, id(fields)))
fifth = words(1, kind, 0, 2, small, small + 16, 0, words(1, 0, 0, ord("U") | 19 << 32, 16 | 4 << 32))

def make(head, size):
    return libc.malloc(ctypes.c_size_t(size), *[ctypes.c_long(0)] * 7, *[ctypes.c_void_p(head)] * 4)

one = make(first, 512 * 256 * 4)
two = make(second, 512 * 256 * 4)
odd = make(first, 512 * 256 * 4 + 64)
particles = make(third, 8192)
newer = make(fourth, 8192)
words_of = make(fifth, 8192)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])  # a fault would end the program
held = make(second, 512 * 256 * 4)
wild = make(0x123456789ab0, 512 * 256 * 4)  # no memory is there
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGSEGV])
for i in range(3000 * int(os.environ.get("EXAMPLE_LONGER", "1"))):
    for block in (one, two, odd, held, wild):
        libc.memset(block, 1, 512 * 256 * 4)
    for block in (particles, newer, words_of) * 40:
        libc.memset(block, 1, 8192)
"""


@check("an array of numpy has its dtype and shape, and a block that is none of it has neither; also where a fault would end the program")
def arrays():
    with Folder() as folder:
        program = write(folder, "arrays.py", ARRAYS)
        ended = record(folder, ["/usr/bin/python3", program], ["-F", "1000"], bursts=400)
        assert ended.status == 0, ended
        rows = report(ended.trace, "objects", "--limit", "0")["objects"]
        types = {row["variable"]: row["type"] for row in rows if row["variable"] in
                 ("one", "two", "odd", "held", "wild", "particles", "newer", "words_of") and row["size"] >= 8192}
        of_ints, of_fields = "numpy.ndarray int32 (512, 256)", "numpy.ndarray {x, mass} of 16 B (64, 8)"
        assert types == {"one": "numpy.ndarray float32 (512, 256)", "two": of_ints, "odd": None, "held": of_ints, "wild": None, "particles": of_fields,
                         "newer": of_fields, "words_of": "numpy.ndarray U4 (64, 8)"}, types


RUST = """#[inline(never)]
fn gather(grid: &[f64], index: &[u32]) -> f64 {
    let mut sum = 0.0;
    for &i in index {
        sum += grid[i as usize];
    }
    sum
}

fn main() {
    let count: usize = 1_000_000;
    let longer: usize = std::env::var("EXAMPLE_LONGER").map_or(1, |text| text.parse().unwrap());
    let grid = vec![1.0f64; count];
    let index: Vec<u32> = (0..count).map(|i| (i * 7919 % count) as u32).collect();
    let sum: f64 = (0..100 * longer).map(|_| gather(&grid, &index)).sum();
    println!("{}", sum);
}
"""

JAVA = """public class Gather {
    static double gather(double[] grid, int[] index) {
        double sum = 0;
        for (int i : index)
            sum += grid[i];
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        String longer = System.getenv("EXAMPLE_LONGER");
        int passes = 100 * (longer == null ? 1 : Integer.parseInt(longer));
        double[] grid = new double[1000000];
        int[] index = new int[1000000];
        for (int i = 0; i < index.length; i++)
            index[i] = (int)(i * 7919L % index.length);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                double sum = 0;
                for (int pass = 0; pass < passes; pass++)
                    sum += gather(grid, index);
                System.out.println(sum);
            }, "gatherer " + i);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
    }
}
"""


# What only `make soak` installs is checked where it is there.
def rust():
    with Folder() as folder:
        source, program = write(folder, "main.rs", RUST), os.path.join(folder, "main")
        built = nlens.run(["rustc", "-O", "-g", "-o", program, source])
        assert built.status == 0, built
        ended = record(folder, [program], ["-F", "1000", "--budget", "20"], bursts=100)
        assert ended.status == 0, ended
        gather = row_named(report(ended.trace, "functions")["functions"], "main::gather", key="function")
        assert gather["share"] > 0.5 and gather["file"] == source and gather["line"] in range(4, 7), gather
        rows = {row["variable"]: row for row in report(ended.trace, "objects")["objects"] if row["kind"] == "heap" and row["share"] > 0.2}
        assert {(name, row["size"], row["line"]) for name, row in rows.items()} == {("grid", 8000000, 13), ("index", 4000000, 14)}, rows


def java():
    with Folder() as folder:
        built = nlens.run([tool("javac"), "-d", folder, write(folder, "Gather.java", JAVA)])
        assert built.status == 0, built
        ended = record(folder, [tool("java"), "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-cp", folder, "Gather"],
                       ["-F", "1000", "--budget", "20"], bursts=400)
        assert ended.status == 0, ended
        for file in glob.glob("/tmp/perf-%d.map" % report(ended.trace, "processes")["processes"][0]["pid"]):
            os.unlink(file)
        gather = row_named(report(ended.trace, "functions")["functions"], "double Gather.gather(double[], int[])", key="function")
        assert gather["share"] > 0.3 and gather["module"] == "[jit]", gather
        heap = sum(row["share"] for row in report(ended.trace, "objects")["objects"] if row["name"] == "Java heap")
        threads = [row for row in report(ended.trace)["threads"] if row["name"].startswith("gatherer ")]
        nlens.note("gather %.2f, Java heap %.2f" % (gather["share"], heap))
        assert heap > 0.3 and len(threads) == 2, (heap, threads)


if shutil.which("rustc"):
    check("a Rust program: functions, lines, and vectors by variable and line")(rust)
if shutil.which("javac"):
    check("a JVM's threads, its heap, and code that it has compiled by class, method and types")(java)

nlens.main()
