#!/usr/bin/env python3
"""Programs of examples/ksp/tutorials timed whole, with each preconditioner in turn: `bratu` (SNES) and `reaction` (TS).

    python3 tests/bench/examples.py --programs FOLDER --library L [--device] [--pcs ...] [--bratu N] [--reaction N]
                                    [--repeat R] [--csv FILE]

Newton's Jacobians have one pattern, so each run is one analysis and many refreshes. Prints Newton steps, linear
iterations, and medians of seconds from -log_view: SNESSolve or TSStep, which is all but the start of the process, and
of it residuals and Jacobians, set-up of the preconditioner, and the linear solves with what they set up. "Too large"
counts what the program calls so, residual and error: GAMG's norm is not that of the residual. It is an error if a run
fails or takes ten minutes.
"""

import argparse
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ON_DEVICE = "-dm_mat_type aijcusparse -dm_vec_type cuda -use_gpu_aware_mpi 0 -log_view_gpu_time".split()
PARTS = {"assembly": ("SNESFunctionEval", "SNESJacobianEval"), "set-up": ("PCSetUp",), "KSPSolve": ("KSPSolve",)}
NUMBERS_IN_NEW_MEMORY = {"MALLOC_PERTURB_": "192"}  # the FAQ of MANUAL.md says why
ROW = "{:10} {:>7} {:14} {:>7} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}"


def cases(options):
    def grid(n):
        return [word for axis in "xyz" for word in (f"-da_grid_{axis}", str(n))]

    steps = ["-step", "0.01"]  # a hundred
    return [("bratu", options.bratu, "SNESSolve", grid(options.bratu)),
            ("reaction", options.reaction, "TSStep", grid(options.reaction) + steps)]


def seconds_of(log, event):
    """0 where the event has not happened."""
    found = re.search(rf"^{event} +\d+ [\d.]+ ([\d.e+-]+)", log, re.M)
    return float(found[1]) if found else 0.0


def run(options, name, whole, words, pc):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [str(pathlib.Path(options.programs) / name), *words, "-dll_append", options.library, "-pc_type", pc]
        command += [*(ON_DEVICE if options.device else []), "-log_view", f":{log}"]
        try:
            env = {**os.environ, **NUMBERS_IN_NEW_MEMORY} if pc == "gamg" else None
            result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"error: {' '.join(command)} has not ended after ten minutes")
        steps = re.search(r"Newton steps (\d+)", result.stdout)
        iterations = re.search(r"iterations (\d+)", result.stdout)
        if result.returncode or not steps or not iterations:
            sys.exit(f"error: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
        text = log.read_text()
    times = {part: sum(seconds_of(text, event) for event in events) for part, events in PARTS.items()}
    too_large = result.stdout.count("TOO LARGE")
    return {"steps": int(steps[1]), "iterations": int(iterations[1]), "too large": too_large,
            "whole": seconds_of(text, whole), **times}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--pcs", type=lambda text: text.split(","), default="ilu,jacobi,gamg,syncfree_ilu".split(","))
    parser.add_argument("--bratu", type=int, default=96)
    parser.add_argument("--reaction", type=int, default=48)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--csv")
    options = parser.parse_args()
    counts = ("steps", "iterations", "too large")
    columns = (*counts, "whole", *PARTS)
    print(ROW.format("program", "grid", "PC", *columns))
    rows = []
    for name, grid, whole, words in cases(options):
        runs = {pc: [] for pc in options.pcs}
        for _ in range(options.repeat):
            for pc, found in runs.items():
                found.append(run(options, name, whole, words, pc))
        for pc, found in runs.items():
            row = {key: statistics.median(one[key] for one in found) for key in columns}
            print(ROW.format(name, f"{grid}^3", pc, *(f"{row[key]:.0f}" for key in counts),
                             *(f"{row[key]:.3f}" for key in columns[len(counts):])), flush=True)
            rows.append({"program": name, "grid": grid, "pc": pc, **row,
                         "machine": os.environ.get("SYNCFREE_MACHINE", ""),
                         "commit": os.environ.get("SYNCFREE_COMMIT", "unknown")})
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
