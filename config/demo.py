#!/usr/bin/env python3
"""Runs the demo's programs with PETSc's ilu and with syncfree_ilu in turn, and prints medians.

Set-up, apply and solve are PETSc's own events PCSetUp, PCApply and KSPSolve (-log_view), in
milliseconds; apply is per call. The residual is computed by the program from the matrix.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

PROBLEMS = (("Poisson, CG", "poisson"), ("convection-diffusion, GMRES", "convection"))


def progress(text):
    """One line that is written over, where a person looks on."""
    if sys.stderr.isatty():
        print(f"\r{text:100}\r{text}", end="", file=sys.stderr, flush=True)


def run(program, grid, arguments, threads, log):
    command = [program]
    for axis in "xyz":
        command += [f"-da_grid_{axis}", str(grid)]
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true")
    result = subprocess.run([*command, *arguments, "-log_view", f":{log}:ascii_csv"], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    found = re.search(r"iterations (\d+), (\w+).*?true residual (\S+)", result.stdout, re.S)
    if result.returncode or not found:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout}")
    times = {}
    with open(log) as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            name, count, seconds = (row[key].strip() for key in ("Event Name", "Count", "Time"))
            if name in ("PCSetUp", "PCApply", "KSPSolve") and float(count) > 0:
                old = times.get(name, (0, 0))
                times[name] = old[0] + float(seconds), old[1] + float(count)
    per_call = {name: 1e3 * total / (count if name == "PCApply" else 1) for name, (total, count) in times.items()}
    return int(found[1]), found[2], float(found[3]), per_call


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
    print(f"{'problem':28} {'preconditioner':26} {'iterations':>10} {'set-up':>9} {'apply':>9} {'solve':>9} {'residual':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for title, program in PROBLEMS:
            runs = {name: [] for name, _, _ in variants}
            for turn in range(options.repeat):
                for name, arguments, threads in variants:
                    progress(f"{title}: run {turn + 1} of {options.repeat}, {name}")
                    runs[name].append(run(os.path.join(options.folder, program), options.grid, arguments, threads,
                                          os.path.join(folder, "log.csv")))
            progress("")
            for name, _, _ in variants:
                times = [statistics.median(r[3][event] for r in runs[name]) for event in ("PCSetUp", "PCApply", "KSPSolve")]
                iterations, reason, residual, _ = runs[name][0]
                print(f"{title:28} {name:26} {iterations:10d} {times[0]:9.1f} {times[1]:9.2f} {times[2]:9.1f} {residual:10.1e}"
                      + ("" if reason.startswith("CONVERGED") else f"  {reason}"))


if __name__ == "__main__":
    main()
