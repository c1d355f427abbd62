#!/usr/bin/env python3
"""Ranks and GPUs: block Jacobi with PETSc's ilu and with syncfree_ilu inside, in turn.

    python3 tests/bench/scaling.py --program POISSON --library L [--grid N] [--ranks 1,2,4] [--gpus 1,2,4] [--threads 4]
                              [--repeat 3] [--csv FILE] [--host]

Solves the Poisson example on N^3 unknowns for every pair of ranks and GPUs with ranks >= GPUs; ranks beyond the GPUs
share them. Numbers of GPUs that the machine lacks are left out, and said. With --host no GPU is used. Each rank has
--threads CPU threads for set-ups of syncfree_ilu. Prints iterations and what the example's -times reports, medians
in milliseconds. It is an error if a run fails, takes ten minutes, or the iterations of both differ by more than
rounding explains: one in a hundred.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys

ON_DEVICE = "-dm_mat_type aijcusparse -dm_vec_type cuda -use_gpu_aware_mpi 0".split()
ROW = "{:>5} {:>5} {:20} {:>10} {:>10} {:>10} {:>10}"


def run(options, ranks, gpus, sub_pc):
    command = ["mpiexec", "-n", str(ranks), options.program, "-times", "-ksp_max_it", "2000"]
    command += [] if options.host else ON_DEVICE
    command += ["-dll_append", options.library, "-pc_type", "bjacobi", "-sub_pc_type", sub_pc]
    if sub_pc == "syncfree_ilu":
        command += ["-sub_pc_syncfree_threads", str(options.threads)]
    for axis in "xyz":
        command += [f"-da_grid_{axis}", str(options.grid)]
    env = dict(os.environ, CUDA_VISIBLE_DEVICES=",".join(map(str, range(gpus))), OPENBLAS_NUM_THREADS="1")
    env["OMPI_MCA_orte_create_session_dirs"] = "1"  # see config/setup.sh
    try:
        result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        sys.exit(f"error: {' '.join(command)} has not ended after ten minutes")
    seconds = "set-up NUMBER, new values NUMBER, apply NUMBER".replace("NUMBER", r"([\d.e+-]+)")
    found = re.search(r"iterations (\d+), CONVERGED.*" + seconds, result.stdout, re.S)
    if result.returncode or not found:
        sys.exit(f"error: {' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return int(found[1]), *(1e3 * float(found[part]) for part in (2, 3, 4))


def gpus_there():
    """How many GPUs the machine has."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0
    return listed.count("GPU ")


def write(path, lines):
    origin = [os.environ.get(name, "") for name in ("SYNCFREE_MACHINE", "SYNCFREE_COMMIT")]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("gpus ranks pc iterations setup_ms refresh_ms apply_ms machine commit".split())
        writer.writerows((*line, *origin) for line in lines)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--grid", type=int, default=160)
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4])
    parser.add_argument("--gpus", type=numbers, default=[1])
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--csv", help="file for the results, whose machine and commit are those of SYNCFREE_MACHINE "
                        "and SYNCFREE_COMMIT")
    parser.add_argument("--host", action="store_true", help="no GPU: to see whether it runs")
    options = parser.parse_args()
    there = 1 if options.host else gpus_there()
    if too_many := [gpus for gpus in options.gpus if gpus > there]:
        print(f"left out, as this machine has {there} GPUs: {', '.join(map(str, too_many))}", flush=True)
        options.gpus = [gpus for gpus in options.gpus if gpus <= there]
    print(f"{options.grid}^3 unknowns, {options.threads} threads a rank, medians of {options.repeat}, ms")
    lines = []
    print(ROW.format("ranks", "GPUs", "block solver", "iterations", "set-up", "new values", "apply"))
    for gpus in options.gpus:
        for ranks in (ranks for ranks in options.ranks if ranks >= gpus):
            results = {"ilu": [], "syncfree_ilu": []}
            for _ in range(options.repeat):
                for sub_pc, runs in results.items():
                    runs.append(run(options, ranks, gpus, sub_pc))
            for sub_pc, runs in results.items():
                times = [f"{statistics.median(r[part] for r in runs):.3f}" for part in (1, 2, 3)]
                print(ROW.format(ranks, gpus, sub_pc, runs[0][0], *times), flush=True)
                lines.append((gpus, ranks, sub_pc, runs[0][0], *times))
            iterations = [r[0] for runs in results.values() for r in runs]
            if max(iterations) > 1.01 * min(iterations):
                sys.exit("error: the iterations differ")
    if not lines:
        sys.exit("error: nothing was measured")
    if options.csv:
        write(options.csv, lines)


if __name__ == "__main__":
    main()
