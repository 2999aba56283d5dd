#!/usr/bin/env python3
"""Types and fields: programs whose loops use known fields, by two compilers in several ways. Every object's type is right, and so is every field."""
import json
import os
import shutil

import nlens
import page_data
from nlens import check, note

OFTEN = ["-q", "-F", "3000", "--burst", "8", "--budget", "100"]
BURSTS = 300  # a field's loop has a sixth or more of them, by CPU time: it has dozens of samples, or none
# CPU time in ms of main and of each of two threads: twice the bursts that are needed.
SHORT = ["100", "50"]
# Whether threads take turns is looked at every 10 ms. Of 100 looks half find the other thread, by chance a quarter or less once in a million times.
LONG = ["400", "1000"]

C = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
struct vec { double x, y, z; };
struct entry { long key; char name[40]; long hits; double weight; };
struct body { struct vec at, speed; long id; };
typedef struct { int low; int high; } span;
struct counters { long first, second; };
typedef struct { long hits, misses; } slot;
static slot slots[2] __attribute__((aligned(64)));
static struct entry *entries;
static struct { struct body *all; } world;
static span spans[4096];
static struct counters *counters;
enum { COUNT = 1 << 14, TURN_MS = 10 };
static pthread_barrier_t together; /* after each turn: else one may have ended before the other begins */
static long turns;
static int worked(double ms) /* CPU time: what is counted here may be slow or quick */
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6 >= ms;
}
static void *count(void *which)
{
    volatile long *mine = which ? &counters->first : &counters->second;
    for (long turn = 0; turn < turns; turn++) {
        pthread_barrier_wait(&together);
        while (!worked((turn + 1) * TURN_MS))
            for (long i = 0; i < 10000; i++) {
                *mine += 1;
                *(volatile long *)&slots[which != NULL].hits += 1;
            }
    }
    return NULL;
}
int main(int argc, char **argv) /* ms of main's work, and of each thread's */
{
    double sum = 0;
    pthread_t threads[2];
    long longer = getenv("EXAMPLE_LONGER") ? atol(getenv("EXAMPLE_LONGER")) : 1;
    turns = longer * (argc > 2 ? atol(argv[2]) : 0) / TURN_MS;
    entries = calloc(COUNT, sizeof *entries);
    world.all = malloc(COUNT * sizeof(struct body));
    counters = (struct counters *)calloc(1, sizeof(struct counters));
    for (long i = 0; i < COUNT; i++)
        world.all[i] = (struct body){.id = i};
    while (!worked(longer * (argc > 1 ? atol(argv[1]) : 0)))
        for (long i = 0; i < COUNT; i++) {
            sum += *(volatile long *)&entries[i].key;
            sum += *(volatile double *)&entries[i].weight;
            sum += *(volatile double *)&world.all[i].speed.y;
            sum += *(volatile int *)&spans[i % 4096].high;
        }
    pthread_barrier_init(&together, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, (void *)i);
    for (long i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return sum == 1;
}
"""
C_FIELDS = {"struct entry": {"key", "weight"}, "struct body": {"y"}, "span": {"high"}, "struct counters": {"first", "second"}, "slot": {"hits"}}

CXX = r"""
#include <cstdlib>
#include <memory>
#include <vector>
namespace sim {
struct Particle { double mass; float position[3]; int kind; };
struct Cell { long count; Particle *first; };
class World {
public:
    World(size_t n) : particles(n), cells(new Cell[n]), others(new Particle[n]) {}
    std::vector<Particle> particles;
    Cell *cells;
    std::unique_ptr<Particle[]> others;
    long total = 0;
};
}
enum { COUNT = 1 << 14, ROUNDS = 3000 };
int main()
{
    double longer = getenv("EXAMPLE_LONGER") ? atof(getenv("EXAMPLE_LONGER")) : 1;
    sim::World *made = new sim::World(COUNT);
    sim::World &world = *made;
    double sum = 0;
    for (int round = 0; round < ROUNDS * longer; round++)
        for (long i = 0; i < COUNT; i++) {
            sum += *(volatile int *)&world.particles[i].kind;
            sum += *(volatile long *)&world.cells[i].count;
            sum += *(volatile double *)&world.others[i].mass;
            *(volatile long *)&world.total += 1;
        }
    return sum == 1;
}
"""
CXX_FIELDS = {"Particle": {"kind", "mass"}, "Cell": {"count"}, "World": {"total"}}
RUST = r"""
use std::ptr::{read_volatile, write_volatile};
#[derive(Clone, Copy)]
struct Vec3 { x: f64, y: f64, z: f64 }
#[derive(Clone, Copy)]
struct Particle { at: Vec3, mass: f64, kind: i32 }
enum Shape { Empty, Circle { radius: f64 }, Box(f64, f64, u32) }
struct Cell { flag: u8, count: u64, first: u32 } // in memory: count, first, flag
struct World { particles: Vec<Particle>, cells: Box<[Cell]>, shapes: Vec<Shape>, one: Box<Vec3> }
impl World {
    fn new(n: usize) -> World {
        World {
            particles: vec![Particle { at: Vec3 { x: 0.0, y: 0.0, z: 0.0 }, mass: 1.0, kind: 3 }; n],
            cells: (0..n).map(|i| Cell { flag: 1, count: i as u64, first: 2 }).collect::<Vec<_>>().into_boxed_slice(),
            shapes: (0..n).map(|i| if i > 0 { Shape::Circle { radius: i as f64 } } else { Shape::Box(1.0, 2.0, 3) }).collect(),
            one: Box::new(Vec3 { x: 1.0, y: 2.0, z: n as f64 }),
        }
    }
}
fn main() {
    let (n, longer) = (1 << 14, std::env::var("EXAMPLE_LONGER").map_or(1.0, |text| text.parse::<f64>().unwrap()));
    let mut world = World::new(n);
    let mut sum = if n == 1 { if let Shape::Empty = Shape::Empty { 1.0 } else { 0.0 } } else { 0.0 };
    for _ in 0..(1500.0 * longer) as usize {
        for i in 0..n {
            unsafe {
                sum += read_volatile(&world.particles[i].mass);
                sum += read_volatile(&world.cells[i].count) as f64 + read_volatile(&world.cells[i].first) as f64;
                sum += read_volatile(&world.one.y);
                write_volatile(&mut world.particles[i].kind, 2);
                if let Shape::Circle { ref radius } = world.shapes[i] { sum += read_volatile(radius); }
            }
        }
    }
    std::process::exit((sum == 1.0) as i32);
}
"""
RUST_FIELDS = {"Particle": {"mass", "kind"}, "Cell": {"count", "first"}, "Vec3": {"y"}}
GO = r"""
package main

import (
	"os"
	"strconv"
)

type Vec struct{ X, Y, Z float64 }
type Particle struct {
	At   Vec
	Mass float64
	Kind int32
}

var table [16384]Particle

func main() {
	longer, _ := strconv.ParseFloat(os.Getenv("EXAMPLE_LONGER"), 64)
	if longer == 0 {
		longer = 1
	}
	sum := 0.0
	for round := 0; round < int(3000*longer); round++ {
		for i := range table {
			sum += table[i].Mass + table[i].At.Y
			table[i].Kind = 2
		}
	}
	if sum == 1 {
		os.Exit(1)
	}
}
"""
GO_FIELDS = {"main.Particle": {"Y", "Mass", "Kind"}}
# What differs is the debug information: that of two compilers, and of code that is linked as a whole.
WAYS = [("gcc", ["-O2", "-pthread"]), ("clang", ["-O3", "-pthread"]), ("gcc", ["-O2", "-pthread", "-flto"]),
        ("gcc", ["-O2", "-pthread", "-fdebug-types-section"])]


def build(folder, name, text, compiler, options):
    source, program = os.path.join(folder, name), os.path.join(folder, "program")
    with open(source, "w") as file:
        file.write(text)
    if name.endswith(".cpp"):
        compiler = {"gcc": "g++", "clang": "clang++"}[compiler]
    command = [compiler, "-g", *options]
    if compiler == "go":
        command = ["env", "GO111MODULE=off", "GOCACHE=" + os.path.join(folder, "cache"), "go", "build", *options]
    ended = nlens.run([*command, "-o", program, source])
    return program if ended.status == 0 else None


def judge(name, text, expected, *texts, ways=WAYS):
    right = wrong = 0
    for compiler, options in ways:
        with nlens.Folder() as folder:
            program = build(folder, name, text, compiler, options) if shutil.which(compiler) else None
            if not program:
                assert (compiler, options) != ways[0]
                note("%s %s does not build here" % (compiler, " ".join(options)))
                continue
            trace = nlens.record(folder, [program, *SHORT], OFTEN, bursts=BURSTS).trace
            for type_name, fields in expected.items():
                found = nlens.report(trace, "type", type_name)["types"]
                assert len(found) == 1, (compiler, options, type_name, found)
                most = max(field["samples"] for field in found[0]["fields"])
                hot = {field["field"] for field in found[0]["fields"] if field["samples"] > most / 5 and field["field"] not in ("speed", "at", "At")}
                right += len(hot & fields)
                wrong += len(hot ^ fields)
                assert hot == fields, "%s %s %s: %s" % (compiler, options, type_name, hot)
            for type_name, line in texts:
                printed = nlens.run([nlens.NUMALENS, "report", "type", type_name, "-i", trace]).out.decode()
                assert line in printed, (compiler, options, printed)
                narrow = nlens.run([nlens.NUMALENS, "report", "type", type_name, "-i", trace, "--width", "80"]).out.decode()
                assert line.split()[-1] in narrow and max(map(len, narrow.split("\n"))) <= 80, narrow
    note("%d fields right, %d wrong" % (right, wrong))


@check("C: arrays of structs, nested ones, statics and typedefs have their fields")
def c_types():
    judge("types.c", C, C_FIELDS)


@check("C++: a vector, new[] and a smart pointer of structs have their fields; containers are one field each")
def cxx_types():
    judge("types.cpp", CXX, CXX_FIELDS, ("World", "  std::vector<sim::Particle> particles;\n"))


# What not every machine has installed is checked where it is there.
def go_types():
    judge("types.go", GO, GO_FIELDS, ways=[("go", [])])


def rust_types():
    judge("types.rs", RUST, RUST_FIELDS, ("Shape", "Shape: 24 B"), ways=[("rustc", ["-O"])])


if shutil.which("rustc"):
    check("Rust: vectors, boxed slices and boxes by what they are of, in the fields' order in memory; an enum by its size")(rust_types)
if shutil.which("go"):
    check("Go: package variables have their fields")(go_types)


@check("fields that threads share falsely and cold ones are named, and the struct is printed as it should be")
def advice():
    with nlens.Folder() as folder:
        program = build(folder, "types.c", C, *WAYS[0])
        trace = nlens.record(folder, [program, *LONG], ["-q", "-F", "1000", "--burst", "8", "--budget", "100", "--topology", "numa:2 core:1"],
                             bursts=1200).trace
        counters = nlens.report(trace, "type", "counters")["types"][0]
        assert set(counters["falsely_shared"]) == {"first", "second"}, counters
        code = counters["advice"][0]["code"]
        entry = nlens.report(trace, "type", "entry")["types"][0]
        split = entry["advice"][0]["code"]
        items = nlens.report(trace, "type", "slot")["types"][0]["advice"][0]
        assert "neighbouring items of slot" in items["text"] and "by their hits" in items["text"], items
        assert "struct entry_hot {\n    long int key;\n    double weight;\n};" in split and "char name[40];" in split, split
        test = os.path.join(folder, "advised.c")
        with open(test, "w") as file:
            file.write("#include <stdalign.h>\n%s\n%s\n%s\n_Static_assert(sizeof(struct counters) == 128, \"\");\n"
                       "_Static_assert(sizeof(struct slot) == 64, \"\");\n"
                       "_Static_assert(sizeof(struct entry_hot) == 16, \"\");\n" % (code, items["code"], split))
        ended = nlens.run(["cc", "-std=c11", "-c", "-o", os.path.join(folder, "advised.o"), test])
        assert ended.status == 0, ended
        with open(test, "w") as file:
            file.write("%s\n%s\n%s\nstatic_assert(sizeof(counters) == 128 && sizeof(slot) == 64 && sizeof(entry_hot) == 16);\n" % (code, items["code"], split))
        ended = nlens.run(["c++", "-std=c++17", "-x", "c++", "-fsyntax-only", test])
        assert ended.status == 0, ended
        text = nlens.run([nlens.NUMALENS, "report", "type", "body", "-i", trace, "--width", "80"]).out.decode()
        assert "struct vec speed {" in text and "double y;" in text and max(map(len, text.split("\n"))) <= 80, text
        data, = page_data.of(trace, os.path.join(folder, "page.html"))
        page_data.check_totals(data.tables)
        types = {row["id"]: row for row in data.tables["types"]}
        shown = {types[row["type"]]["name"] for row in data.tables["objects"] if row["type"] >= 0}
        assert {"struct entry", "struct body", "span", "struct counters"} <= shown, shown
        fields = [row for row in types.values() if row["name"] == "struct counters"][0]["fields"]
        assert [(row["text"], row["offset"], row["falsely"]) for row in fields] == [("long int first", 0, True), ("long int second", 8, True)], fields
        ended = nlens.run([nlens.NUMALENS, "report", "type", "nothing", "-i", trace])
        assert ended.status == 1 and b"no sampled object is of a type 'nothing'" in ended.err, ended
        listed = json.loads(nlens.run([nlens.NUMALENS, "report", "types", "--json", "-i", trace]).out)["types"]
        assert {"struct entry", "struct body", "span", "struct counters"} <= {row["type"] for row in listed}, listed


@check("a source with a relative name is found where the compiler ran, wherever program and reader are")
def relative_source():
    with nlens.Folder() as folder, nlens.Folder() as away:
        os.mkdir(os.path.join(folder, "sub"))
        with open(os.path.join(folder, "sub", "types.c"), "w") as file:
            file.write(C)
        program = os.path.join(away, "program")
        ended = nlens.run(["gcc", "-g", "-O2", "-pthread", "-o", program, "sub/types.c"], folder=folder)
        assert ended.status == 0, ended
        trace = nlens.record(away, [program, *SHORT], OFTEN, bursts=BURSTS).trace
        text = nlens.run([nlens.NUMALENS, "report", "annotate", "types.c", "-i", trace], folder="/").out.decode()
        assert text.startswith("sub/types.c: ") and "sum += *(volatile long *)&entries[i].key;" in text, text


nlens.main()
