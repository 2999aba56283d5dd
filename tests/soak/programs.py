"""The programs of the matrix: each prints the same whenever it runs, and ends with a status that is known. Those compiled here
and the scripts run long enough to be sampled."""
import os
import shutil
import signal
import socket
import subprocess

import nlens

C = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *argument)
{
    long sum = 0;
    for (int i = 0; i < 200000; i++) {
        int *volatile block = malloc(sizeof *block * (size_t)(i % 50 + 1));
        *block = i;
        sum += *block % 7;
        free(block);
    }
    *(long *)argument = sum;
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    long sums[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        printf("%ld\\n", sums[i]);
    }
    fflush(stdout);
    return raise(SIGUSR1); /* and dies of it */
}
"""

LOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "load.py")
PREPARED = {
    "fortran": ("f90", ["gfortran", "-fopenmp", "-O1"], """
program plate
  implicit none
  real(8) :: a(200, 200), s
  integer :: i, j, k
  a = 1.0d0
  do k = 1, 1000
    !$omp parallel do
    do j = 1, 200
      do i = 1, 200
        a(i, j) = a(i, j) * 1.0001d0 + dble(i + j) * 1.0d-6
      end do
    end do
  end do
  s = sum(a)
  print '(F12.4)', s
end program
"""),
    "c++": ("cpp", ["g++", "-O1", "-pthread"], """
#include <iostream>
#include <map>
#include <thread>
#include <vector>
int main()
{
    std::vector<std::thread> threads;
    std::vector<long> sums(4);
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&sums, t] {
            std::map<int, std::vector<int>> kept;
            for (int i = 0; i < 1000000; i++)
                kept[i % 97].push_back(i);
            for (auto &entry : kept)
                for (int value : entry.second)
                    sums[t] += value % (t + 2);
        });
    for (auto &thread : threads)
        thread.join();
    for (long sum : sums)
        std::cout << sum << "\\n";
    return 7;
}
"""),
    "rust": ("rs", ["rustc", "-O"], """
use std::collections::HashMap;
use std::thread;
fn main() {
    let workers: Vec<_> = (0..4u64).map(|t| thread::spawn(move || {
        let mut kept: HashMap<u64, Vec<u64>> = HashMap::new();
        for i in 0..500000u64 { kept.entry(i % 97).or_default().push(i * (t + 1)); }
        kept.values().map(|v| v.iter().sum::<u64>()).sum::<u64>()
    })).collect();
    for worker in workers { println!("{}", worker.join().unwrap()); }
}
"""),
    "c": ("c", ["cc", "-O1", "-pthread"], C),
    "strict": ("c", ["cc", "-O1"], """
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    volatile long sum = 0;
    for (long i = 0; i < 100000000; i++)
        sum += i;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 1;
    for (long i = 0; i < 100000000; i++)
        sum += i;
    write(1, "strict\\n", 7);
    syscall(SYS_exit, 3);
}
"""),
    "filter": ("c", ["cc", "-O1"], """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
/* Only what it needs itself; anything else kills. */
int main(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    volatile long sum = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (long i = 0; i < 100000000; i++)
        sum += i;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    for (long i = 0; i < 100000000; i++)
        sum += i;
    puts("filtered");
    return 4;
}
"""),
}

PREPARED.update({
    "openmp": ("c", ["gcc", "-O1", "-fopenmp"], """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    enum { N = 1 << 20 };
    double *a = malloc(N * sizeof *a), sum = 0;
    for (int turn = 0; turn < 40; turn++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            a[i] = turn ? a[i] + i % 7 : i;
    }
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += a[i];
    printf("%.0f\\n", sum);
    free(a);
    return 2;
}
"""),
    "tbb": ("cpp", ["g++", "-O1", "-Wl,--no-as-needed", "-ltbb"], """
#include <iostream>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/blocked_range.h>
#include <vector>
int main()
{
    std::vector<long> values(1 << 20, 3);
    long sum = 0;
    for (int turn = 0; turn < 100; turn++)
        sum += oneapi::tbb::parallel_reduce(
            oneapi::tbb::blocked_range<size_t>(0, values.size()), 0L,
            [&](const oneapi::tbb::blocked_range<size_t> &range, long part) {
                for (size_t i = range.begin(); i < range.end(); i++)
                    part += values[i] * (long)(i % 5);
                return part;
            },
            [](long one, long other) { return one + other; });
    std::cout << sum << "\\n";
}
"""),
    "mpi": ("c", ["mpicc", "-O1"], """
#include <mpi.h>
#include <stdio.h>
static double values[1 << 16];
int main(int count, char **words)
{
    int rank;
    double sum = 0, all = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 500; turn++)
        for (int i = 0; i < 1 << 16; i++)
            sum += values[i] += rank + i % 3;
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.0f\\n", all);
    MPI_Finalize();
    return 0;
}
"""),
    "go": ("go", ["go", "build"], """
package main
import "C" // with which it is linked dynamically
import ("fmt"; "sync")
func main() {
	var group sync.WaitGroup
	sums := make([]int, 4)
	for t := range sums {
		group.Add(1)
		go func(t int) {
			defer group.Done()
			kept := map[int][]int{}
			for i := 0; i < 500000; i++ { kept[i%97] = append(kept[i%97], i*(t+1)) }
			for _, v := range kept { for _, x := range v { sums[t] += x } }
		}(t)
	}
	group.Wait()
	fmt.Println(sums)
}
"""),
    "ocaml": ("ml", ["ocamlopt"], """
let () =
  let table = Hashtbl.create 1000 in
  for i = 0 to 2000000 do Hashtbl.replace table (i mod 1000) (i :: (if i mod 50000 < 1000 then [] else [i])) done;
  Printf.printf "%d\\n" (Hashtbl.fold (fun _ v sum -> sum + List.length v) table 0);
  exit 6
"""),
    "haskell": ("hs", ["ghc", "-v0", "-O1", "-threaded", "-rtsopts", "-with-rtsopts=-N2"], """
import qualified Data.Map.Strict as Map
import Control.Concurrent
import System.Exit
main :: IO ()
main = do
  places <- mapM (const newEmptyMVar) [1 .. 3 :: Int]
  mapM_ (\\(n, place) -> forkIO (putMVar place $! Map.foldl' (+) 0 (Map.fromListWith (+) [(i `mod` 997, i * n) | i <- [1 .. 300000 :: Int]])))
    (zip [1 ..] places)
  mapM takeMVar places >>= print
  exitWith (ExitFailure 4)
"""),
})
# Runtimes that are libraries of their own, and runtimes that are linked in.
SANITIZED = {"asan-gcc": "gcc -fsanitize=address", "tsan-gcc": "gcc -fsanitize=thread", "lsan-gcc": "gcc -fsanitize=leak",
             "ubsan-gcc": "gcc -fsanitize=undefined", "asan-static": "gcc -fsanitize=address -static-libasan",
             "asan-clang": "clang -fsanitize=address", "tsan-clang": "clang -fsanitize=thread",
             "msan-clang": "clang -fsanitize=memory", "ubsan-clang": "clang -fsanitize=undefined"}
PREPARED.update({name: ("c", [*command.split(), "-O1", "-pthread"], C) for name, command in SANITIZED.items()})

# Asks until the server answers, for a minute at most: there are ways in which it never starts.
WEB_LOAD = ("n=0; until ab -q -n 1 http://127.0.0.1:{port}/page.html > /dev/null 2>&1 || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; "
            "done; ab -q -n 2000 -c 4 http://127.0.0.1:{port}/page.html | grep -E '^(Complete|Failed|Document Length)'; status=$?; ")

JAVA = ["sh", "-c", "echo 'class X { public static void main(String[] a) throws Exception { long[] sums = new long[3]; "
        "Thread[] threads = new Thread[3]; for (int t = 0; t < 3; t++) { int n = t; threads[t] = new Thread(() -> { "
        "var kept = new java.util.HashMap<Integer, Long>(); for (int i = 0; i < 200000; i++) kept.merge(i % 1000, (long) i * n, "
        "Long::sum); for (long v : kept.values()) sums[n] += v; }); threads[t].start(); } for (Thread t : threads) t.join(); "
        "for (long s : sums) System.out.println(s); System.exit(8); } }' > X.java && exec java -Xmx128m X.java"]
APACHE = ["sh", "-c", "mkdir -p www; echo page > www/page.html; modules=/usr/lib/apache2/modules; printf '%s\\n' "
          "\"ServerRoot $PWD\" \"PidFile $PWD/pid\" \"DefaultRuntimeDir $PWD\" 'Listen 127.0.0.1:{port}' 'ServerName localhost' "
          "\"LoadModule mpm_MPM_module $modules/mod_mpm_MPM.so\" \"LoadModule authz_core_module $modules/mod_authz_core.so\" "
          "\"DocumentRoot $PWD/www\" \"ErrorLog $PWD/log\" 'StartServers 2' LIMITS "
          "'MaxRequestWorkers 8' '<Directory />' 'Require all granted' '</Directory>' > conf; chmod -R a+rX . ; "
          "setsid apache2 -D FOREGROUND -d $PWD -f $PWD/conf 2> /dev/null & " + WEB_LOAD + "kill -TERM $!; wait; echo ended; exit $status"]


def apache(mpm, limits):
    return [word.replace("MPM", mpm).replace("LIMITS", limits) for word in APACHE]


def java(collector):
    return [word.replace("-Xmx128m", "-Xmx128m -XX:-UsePerfData -XX:+Use%sGC" % collector) for word in JAVA]


SCRIPTS = {
    "sh": ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; (exit 3) | cat; echo $i; exit 5"],
    "python": ["python3", "-c", "import json, threading\n"
               "def work(n): out[n] = len(json.dumps(list(range(100000))))\n"
               "out = {}\nthreads = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n"
               "[t.start() for t in threads]; [t.join() for t in threads]; print(sorted(out.items()))"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 1000} += $_ for 1..400000; print join(',', map { $h{$_} } 1..5), \"\\n\"; exit 9"],
    "node": ["node", "-e", "const a = []; for (let i = 0; i < 2000000; i++) a.push({i}); console.log(a.length)"],
    "java-serial": java("Serial"),
    "java-g1": java("G1"),
    "java-z": java("Z"),
    "git": ["sh", "-c", "rm -rf r && git init -q r && cd r && echo x > f && git add f && "
            "git -c user.name=a -c user.email=b commit -qm m && git log --format=%s && git gc -q && git fsck"],
    "gcc": ["sh", "-c", "echo 'int main(void){return 6;}' > x.c && gcc -O2 -o x x.c && ./x"],
    "tar|xz": ["sh", "-c", "tar -C /usr/include -cf - --sort=name --mtime=@0 linux/if.h linux/fs.h | xz -T2 | xz -d | cksum"],
    "sort": ["sh", "-c", "seq 600000 -1 1 | sort -n --parallel=2 | tail -1"],
    "awk": ["awk", "BEGIN { for (i = 0; i < 2000000; i++) n[i % 100] += i; print n[42] }"],
    "gzip": ["sh", "-c", "seq 300000 | gzip -9 | gzip -d | cksum"],
    "sqlite": ["sqlite3", ":memory:", "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where "
               "i < 200000) insert into t select i, i * 7 % 1000 from n; select b, count(*) from t group by b limit 3;"],
    "redis": ["sh", "-c", "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no > /dev/null & "
              "n=0; until redis-cli -p {port} ping > /dev/null 2>&1 || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; done; "
              "redis-benchmark -p {port} -q -n 20000 -t set,get > /dev/null; redis-cli -p {port} set a 1; redis-cli -p {port} get a; "
              "redis-cli -p {port} shutdown nosave; wait; echo ended"],
    "nginx": ["sh", "-c", "mkdir -p www; echo page > www/page.html; printf 'daemon off; worker_processes 2; pid %s/pid; "
              "error_log %s/log; events {{}} http {{ access_log off; client_body_temp_path %s/a; proxy_temp_path %s/b; fastcgi_temp_path "
              "%s/c; uwsgi_temp_path %s/d; scgi_temp_path %s/e; server {{ listen 127.0.0.1:{port}; root %s/www; }} }}' $PWD $PWD $PWD "
              "$PWD $PWD $PWD $PWD $PWD > conf; [ $(id -u) != 0 ] || echo 'user root root;' >> conf; chmod -R a+rX . ; "
              "nginx -e $PWD/log -p $PWD -c $PWD/conf & " + WEB_LOAD + "kill -QUIT $!; wait; echo ended; exit $status"],
    "apache2-event": apache("event", "'ServerLimit 2' 'ThreadsPerChild 4'"),
    "apache2-worker": apache("worker", "'ServerLimit 2' 'ThreadsPerChild 4'"),
    "apache2-prefork": apache("prefork", "'ServerLimit 8'"),
    "memcached": ["sh", "-c", "user=; [ $(id -u) != 0 ] || user='-u root'; memcached -l 127.0.0.1 -p {port} -U 0 -m 32 $user & "
                  "python3 LOAD memcached {port}; status=$?; kill -INT $!; wait; exit $status"],
    "haproxy": ["sh", "-c", "printf '%s\\n' global 'nbthread 2' defaults 'mode http' 'timeout client 9s' 'timeout server 9s' "
                "'timeout connect 9s' 'frontend f' 'bind 127.0.0.1:{port}' 'http-request return status 200 content-type text/plain "
                "string page' > conf; haproxy -db -f conf 2> /dev/null & " + WEB_LOAD + "kill -USR1 $!; wait; echo ended; exit $status"],
    "php-fpm": ["sh", "-c", "echo '<?php $a = []; for ($i = 0; $i < 20000; $i++) $a[$i % 100] = $i; echo array_sum($a);' > x.php; printf '%s\\n' "
                "'[global]' \"error_log = $PWD/log\" '[www]' \"listen = $PWD/s\" 'pm = static' 'pm.max_children = 2' > conf; "
                "if [ $(id -u) = 0 ]; then printf '%s\\n' 'user = root' 'group = root' >> conf; fi; "
                "$(ls /usr/sbin/php-fpm*) -F -R -n -y $PWD/conf > /dev/null 2>&1 & "
                "python3 LOAD fastcgi $PWD/s $PWD/x.php; status=$?; kill -QUIT $!; wait; exit $status"],
    "mariadb": ["sh", "-c", "user=; [ $(id -u) != 0 ] || user=--user=root; rm -rf data; mariadb-install-db --no-defaults --datadir=$PWD/data "
                "--auth-root-authentication-method=normal --skip-test-db $user > /dev/null 2>&1 || exit 1; mariadbd --no-defaults "
                "--datadir=$PWD/data --socket=$PWD/s --pid-file=$PWD/pid --skip-networking --innodb-buffer-pool-size=16M $user > /dev/null "
                "2>&1 & n=0; until mariadb-admin --no-defaults -S $PWD/s -u root ping > /dev/null 2>&1 || [ $n -gt 600 ]; do n=$((n + 1)); "
                "sleep 0.1; done; mariadb --no-defaults -S $PWD/s -u root -e 'create database d; use d; create table t (a int, b int) "
                "engine=innodb; insert into t select seq, seq * 7 % 1000 from seq_1_to_50000; select b, count(*) from t group by b order by b limit 3'; status=$?; "
                "mariadb-admin --no-defaults -S $PWD/s -u root shutdown; wait; exit $status"],
    "multiprocessing": ["python3", "-c", "import multiprocessing\n"
                        "def work(n): return sum(i * n for i in range(300000))\n"
                        "with multiprocessing.Pool(3) as pool: print(pool.map(work, range(6)))"],
    "ruby": ["ruby", "-e", "kept = Hash.new(0); threads = 3.times.map { |t| Thread.new { 300000.times.sum { |i| i % (t + 2) } } }; "
             "400000.times { |i| kept[i % 1000] += i }; puts threads.map(&:value).inspect, kept[7]; exit 3"],
    "erlang": ["env", "HOME={folder}", "erl", "-noshell", "-eval", "Own = self(), [spawn(fun() -> Own ! lists:sum([I rem N || I <- lists:seq(1, 500000)]) end) "
               "|| N <- [3, 5, 7]], io:format(\"~p~n\", [lists:sort([receive S -> S end || _ <- [1, 2, 3]])]), halt(2)."],
    "elixir": ["env", "HOME={folder}", "elixir", "-e", "IO.inspect(Enum.map(1..3, fn n -> Task.async(fn -> Enum.reduce(1..400000, 0, &(rem(&1, n + 1) + &2)) "
               "end) end) |> Enum.map(&Task.await(&1, 60000))); System.halt(2)"],
    "make": ["sh", "-c", "for i in 1 2 3 4 5 6; do echo \"int f$i(int a) { return a * $i; }\" > f$i.c; done; printf 'all: f1.o f2.o f3.o f4.o "
             "f5.o f6.o\\n\\t@ls *.o\\n' > Makefile; exec make -s -j4"],
    "postgres": ["sh", "-c", "su=; [ $(id -u) != 0 ] || su='setpriv --reuid=65534 --regid=65534 --clear-groups'; rm -rf data; "
                 "$su initdb -D data -A trust -U postgres --no-sync > /dev/null 2>&1 && "
                 "echo 'select sum(i) from generate_series(1, 300000) i;' | $su postgres --single -D data -j postgres 2> /dev/null | "
                 "grep -o 'sum = .*'"],
    "chromium": ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=chrome",
                 "--dump-dom", "data:text/html,<p id=x></p><script>x.textContent=[...Array(9).keys()].join()</script>"],
}
# The status that says that it did its work, where that is not 0; a program that does not, without numalens, shows nothing. A
# signal that is fatal elsewhere is not so for the first process of a PID namespace.
KILLED = (-signal.SIGUSR1, 128 + signal.SIGUSR1, 0)
WORKED = {"sh": (5,), "c": KILLED, "c++": (7,), "strict": (3,), "filter": (4,), "perl": (9,), "java-serial": (8,), "java-g1": (8,), "java-z": (8,), "gcc": (6,),
          "jemalloc": KILLED, "tcmalloc": KILLED, "mimalloc": KILLED, **{name: KILLED for name in SANITIZED}, "strace": KILLED,
          "perf": KILLED, "openmp": (2,), "ocaml": (6,), "haskell": (4,), "ruby": (3,), "erlang": (2,), "elixir": (2,)}
# Whose thread must be in the recording: how its name or that of its program begins, where that is not the name here.
KNOWN_AS = {"tar|xz": "xz", "gcc": "cc1", "jemalloc": "c", "tcmalloc": "c", "mimalloc": "c", "awk": ("awk", "mawk", "gawk"),
            "multiprocessing": "python", "erlang": ("beam", "erl"), "elixir": ("beam", "erl"), "php-fpm": "php", "make": ("make", "cc1"),
            **{name: name for name in SANITIZED}, "valgrind": "memcheck"}
# Where the program's tool has another name than the program here.
TOOLS = {"tar|xz": "xz", "redis": "redis-benchmark", "sqlite": "sqlite3", "postgres": "initdb", "mariadb": "mariadbd",
         "php-fpm": "php-fpm8.2", "java-serial": "javac", "java-g1": "javac", "java-z": "javac", "apache2-event": "apache2", "apache2-worker": "apache2",
         "apache2-prefork": "apache2", "mpi": "mpirun", "erlang": "erl", "elixir": "elixir"}
# Each runs one of those above, whose path takes the place of its name in braces.
AROUND = {
    "gdb": ["sh", "-c", "gdb -batch -nx -ex 'set print thread-events off' -ex run $0 2>&1 | grep -v -e process -e ^warning", "{c++}"],
    "strace": ["strace", "-f", "-o", "log", "{c}"],
    "ltrace": ["ltrace", "-o", "log", "-e", "malloc", "seq", "30000"],
    "valgrind": ["valgrind", "-q", "seq", "3000"],
    "perf": ["perf", "stat", "-o", "log", "{c}"],
    "mpi": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "{mpi}"],
}
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def library(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def make(folder, wanted=None):
    """{name: command, or a text that says why it cannot be run here}; compiled ones go into `folder`: all, or those wanted."""
    made = {}
    for name, (ending, compiler, text) in PREPARED.items():
        if wanted and name not in wanted:
            continue
        source, binary = os.path.join(folder, name + "." + ending), os.path.join(folder, name)
        if not shutil.which(compiler[0]):
            made[name] = "%s is not installed" % compiler[0]
            continue
        with open(source, "w") as stream:
            stream.write(text)
        built = subprocess.run([*compiler, "-o", binary, source], env=nlens.ENVIRONMENT, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        made[name] = [binary] if built.returncode == 0 else "it cannot be compiled here: %s" % built.stdout.decode()[-200:]
    for name, command in SCRIPTS.items():
        needed = TOOLS.get(name, command[0] if command[0] != "sh" else name)
        made[name] = [word.replace("LOAD", LOAD) for word in command] if shutil.which(needed) else "%s is not installed" % needed
    for name, file in PRELOADED.items():
        path = library(file)
        works = isinstance(made.get("c"), list)
        made[name] = ["env", "LD_PRELOAD=" + path, *made["c"]] if path and works else "%s is not installed" % file
    for name, command in AROUND.items():
        inner = [word[1:-1] for word in command if word.startswith("{")]
        usable = shutil.which(TOOLS.get(name, name)) and all(isinstance(made.get(word), list) for word in inner)
        made[name] = [made[word[1:-1]][0] if word.startswith("{") else word for word in command] if usable else "%s is not installed" % name
    return made
