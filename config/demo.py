#!/usr/bin/env python3
"""Runs the demo's programs with PETSc's ilu and with syncfree_ilu in turn, and prints medians.

Set-up, apply and solve are PETSc's own events PCSetUp, PCApply and KSPSolve (-log_view), in
milliseconds; apply is per call. The residual is computed by the program from the matrix. It is an
error if a solve does not converge or the two preconditioners differ in their iterations.
"""

import argparse
import collections
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

PROBLEMS = (("Poisson, CG", "poisson"), ("convection-diffusion, GMRES", "convection"))
ROW = "{:28} {:26} {:>10} {:>9} {:>9} {:>9} {:>10}"

Solve = collections.namedtuple("Solve", "iterations residual setup apply solve ran")


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


def run(program, grid, arguments, threads, log):
    command = [program, *arguments, "-log_view", f":{log}:ascii_csv", "-ksp_view"]
    for axis in "xyz":
        command += [f"-da_grid_{axis}", str(grid)]
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true", OPENBLAS_NUM_THREADS="1")
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = re.search(r"iterations (\d+), CONVERGED.*?true residual (\S+)", result.stdout, re.S)
    if result.returncode or not found:
        sys.exit(f"error: {' '.join(command)} failed:\n{result.stdout}")
    ran = re.search(r"syncfree (strategy: .*), threads", result.stdout)
    times = read_log(log)
    apply, calls = times["PCApply"]
    return Solve(
        int(found[1]),
        float(found[2]),
        1e3 * times["PCSetUp"][0],
        1e3 * apply / calls,
        1e3 * times["KSPSolve"][0],
        ran[1] if ran else "",
    )


def compare(title, program, variants, options):
    """Prints the rows of one problem; False if the iterations differ."""
    runs = {variant[0]: [] for variant in variants}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.repeat):
            for name, arguments, threads in variants:
                progress(f"{title}: run {turn + 1} of {options.repeat}, {name}")
                runs[name].append(run(program, options.grid, arguments, threads, os.path.join(folder, "log.csv")))
    progress("")
    for name, solves in runs.items():
        setup, apply, solve = (statistics.median(getattr(s, event) for s in solves) for event in Solve._fields[2:5])
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
    return len({s.iterations for solves in runs.values() for s in solves}) == 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--grid", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    ours = ["-dll_append", options.library, "-pc_type", "syncfree_ilu"]
    cores = len(os.sched_getaffinity(0))
    variants = [("ilu (PETSc)", ["-pc_type", "ilu"], 1), ("syncfree_ilu, 1 thread", ours, 1)]
    if cores > 1:
        variants.append((f"syncfree_ilu, {min(cores, 16)} threads", ours, min(cores, 16)))

    print(f"{options.grid}^3 unknowns, medians of {options.repeat} runs taken in turn, times in ms, {cores} cores")
    print(ROW.format("problem", "preconditioner", "iterations", "set-up", "apply", "solve", "residual"))
    same = [compare(title, os.path.join(options.folder, program), variants, options) for title, program in PROBLEMS]
    if not all(same):
        sys.exit("error: the iterations differ")


if __name__ == "__main__":
    main()
