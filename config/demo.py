#!/usr/bin/env python3
"""Runs the demo's programs with PETSc's ilu and with syncfree_ilu in turn, and prints medians.

Set-up, apply and solve are PETSc's own events PCSetUp, PCApply and KSPSolve (-log_view), in
milliseconds; apply is per call. The residual is computed by the program from the matrix. It is an
error if a solve does not converge or the two preconditioners differ in their iterations. Other programs that
needed the cores meanwhile are a warning: then the times say little.

With --device the options of --options put the work on a GPU. PETSc's log does not wait for a device,
and what comes first in a process loads kernels and libraries. So the times are then those of the
programs' -times N, which waits for the device and warms it up: one process for each problem and
preconditioner, N times each, or once where a solve takes over a second. It is an error if a view says
that not all was done on the device; iterations may differ by one in a hundred.

--csv FILE keeps the medians; commit and machine in it are those of SYNCFREE_COMMIT and SYNCFREE_MACHINE.
"""

import argparse
import collections
import csv
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PROBLEMS = (("Poisson, CG", "poisson"), ("convection-diffusion, GMRES", "convection"))
COLUMNS = "problem grid method pc threads iterations setup_ms apply_ms solve_ms machine commit".split()
ROW = "{:28} {:26} {:>10} {:>9} {:>9} {:>9} {:>10}"

Times = collections.namedtuple("Times", "setup apply solve")  # milliseconds
Solve = collections.namedtuple("Solve", "iterations residual times ran")  # times: a list


def progress(text):
    """One line that is written over, where a person looks on."""
    if sys.stderr.isatty():
        print(f"\r{text:79}\r{text}", end="", file=sys.stderr, flush=True)


def read_log(path):
    """{event: (seconds, calls)}, summed over the stages of -log_view :FILE:ascii_csv."""
    times = collections.defaultdict(lambda: (0.0, 0.0))
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            seconds, calls = times[row["Event Name"].strip()]
            times[row["Event Name"].strip()] = seconds + float(row["Time"]), calls + float(row["Count"])
    return times


def times_of_log(path):
    """Times of set-up, of an application and of the solve."""
    times = read_log(path)
    apply, calls = times["PCApply"]
    return [Times(*(1e3 * s for s in (times["PCSetUp"][0], apply / calls, times["KSPSolve"][0])))]


def times_of_text(text):
    """The same from the lines of -times."""
    lines = re.findall(r"^seconds: set-up ([0-9.]+),.* apply ([0-9.]+), solve ([0-9.]+)", text, re.M)
    return [Times(*(1e3 * float(s) for s in line)) for line in lines]


class Watch:
    """Measures how many cores other programs use."""

    def __init__(self):
        self.begin = self._now()

    @staticmethod
    def _now():
        """Seconds: time, processors that worked, of that for this program and those it started."""
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, *interrupts = map(int, file.readline().split()[1:9])
        busy = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
        usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return time.monotonic(), busy, sum(u.ru_utime + u.ru_stime for u in usage)

    def others(self):
        wall, busy, own = (now - begin for now, begin in zip(self._now(), self.begin))
        return max(0.0, (busy - own) / wall)


def off_device(text, ours):
    """True if a view shows that not all was done on the device."""
    return "type: seqaijcusparse" not in text or ours and not re.search(r"syncfree backend: cuda$", text, re.M)


def run(program, options, arguments, threads, log):
    command = [program, *arguments, *options.options.split(), "-ksp_view"]
    if options.device:
        command += ["-times", str(options.repeat), "-options_left", "0"]
    else:
        command += ["-log_view", f":{log}:ascii_csv"]
    for axis in "xyz":
        command += [f"-da_grid_{axis}", str(options.grid)]
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS="1")
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = re.search(r"iterations (\d+), CONVERGED.*?true residual (\S+)", result.stdout, re.S)
    if result.returncode or not found:
        sys.exit(f"error: {' '.join(command)} failed:\n{result.stdout}")
    if options.device and off_device(result.stdout, "-dll_append" in arguments):
        sys.exit(f"error: {' '.join(command)} did not run on the device:\n{result.stdout}")
    ran = re.search(r"syncfree (strategy: .*), threads", result.stdout)
    times = times_of_text(result.stdout) if options.device else times_of_log(log)
    return Solve(int(found[1]), float(found[2]), times, ran[1] if ran else "")


def compare(title, program, variants, options, lines):
    """Prints the rows of one problem, adds them to the lines of the file; False if the iterations differ."""
    runs = {variant[0]: [] for variant in variants}
    watch, cores = Watch(), os.sysconf("SC_NPROCESSORS_ONLN")
    processes = 1 if options.device else options.repeat
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(processes):
            for name, arguments, threads in variants:
                progress(f"{title}: run {turn + 1} of {processes}, {name}")
                runs[name].append(run(program, options, arguments, threads, os.path.join(folder, "log.csv")))
    progress("")
    others = watch.others()
    for name, solves in runs.items():
        setup, apply, solve = map(statistics.median, zip(*(times for s in solves for times in s.times)))
        arguments, threads = next(rest for known, *rest in variants if known == name)
        lines.append((os.path.basename(program), options.grid, title.split(", ")[1].lower(), arguments[-1], threads,
                      solves[0].iterations, f"{setup:.6g}", f"{apply:.6g}", f"{solve:.6g}"))
        print(
            ROW.format(
                title,
                name,
                solves[0].iterations,
                f"{setup:.1f}",
                f"{apply:.2f}",
                f"{solve:.1f}",
                f"{solves[0].residual:.1e}",
            )
        )
    for name, solves in runs.items():
        if solves[0].ran:
            print(f"    {name}: {solves[0].ran}")
    if others + max(threads for _, _, threads in variants) > cores + 0.2:
        print(f"warning: disturbed; other programs used {others:.1f} of {cores} cores")
    iterations = [s.iterations for solves in runs.values() for s in solves]
    # on a device sums come in other orders, and the last iterations may hang on their rounding
    return max(iterations) - min(iterations) <= (max(1, min(iterations) // 100) if options.device else 0)


def variants_of(options):
    """(name, arguments, threads) of what is compared."""
    ours = ["-dll_append", options.library, "-pc_type", "syncfree_ilu"]
    cores = min(len(os.sched_getaffinity(0)), 16)
    yield "ilu (PETSc)", ["-pc_type", "ilu"], 1
    if options.device:
        yield "syncfree_ilu", ours, cores
        return
    yield "syncfree_ilu, 1 thread", ours, 1
    if cores > 1:
        yield f"syncfree_ilu, {cores} threads", ours, cores


def write(path, lines):
    origin = [os.environ.get(name, "") for name in ("SYNCFREE_MACHINE", "SYNCFREE_COMMIT")]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*line, *origin) for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--grid", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--device", default="", help="name of the GPU that --options puts the work on")
    parser.add_argument("--options", default="", help="PETSc options of every run")
    parser.add_argument("--problems", type=lambda text: text.split(","), default=[name for _, name in PROBLEMS])
    parser.add_argument("--csv")
    options = parser.parse_args()
    variants = list(variants_of(options))

    medians, where = f"medians of {options.repeat} runs taken in turn", f"{len(os.sched_getaffinity(0))} cores"
    if options.device:
        medians = f"medians of {options.repeat}, of 1 where a solve takes over a second"
        where = f"on {options.device}"
    print(f"{options.grid}^3 unknowns, {medians}, times in ms, {where}")
    print(ROW.format("problem", "preconditioner", "iterations", "set-up", "apply", "solve", "residual"))
    lines, same = [], []
    for title, program in PROBLEMS:
        if program in options.problems:
            same.append(compare(title, os.path.join(options.folder, program), variants, options, lines))
    if not all(same):
        sys.exit("error: the iterations differ")
    if options.csv:
        write(options.csv, lines)


if __name__ == "__main__":
    main()
