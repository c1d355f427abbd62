#!/usr/bin/env python3
"""Runs syncfree_bench on tiny matrices: does it run, refuse and agree with itself? Speed is not looked at.

    python3 tests/bench/smoke.py --program build/host/syncfree_bench --work FOLDER

Ends with `RESULT passed failed skipped`.
"""

import argparse
import collections
import csv
import gzip
import itertools
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

from checks import Failure, Skip, expect, verdict
from smoke_contenders import contenders_store_in_single_and_select_by_trials
from smoke_hpcg_like import hpcg_like_solves, other_sweeps_are_no_hpcg_like_solve
from smoke_measure import only_sound_files_replace_others, parts_hold_each_run_once

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # the one with Debian's packages
MATRICES = "7pt 27pt 5pt 9pt elasticity banded powerlaw mesh chain".split()
STAND_INS = "7pt_primes 27pt_primes narrow_band mesh_on_curve mesh_at_random kkt road hubs dense beam two_rows".split()
OTHERS = "species tets_jumps tets_convection tets_elasticity tets_elasticity_at_random 7pt_rcm 5pt_rcm".split()
EVENTS = ("setup", "destroy", "refresh", "apply")
COMMIT = 'a "commit", so to speak'
ROW = re.compile(r"^(\S+) (ilu|icc) +(\d+) +(\S+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) ")


class Bench:
    """The program, and the results of its run on every generator."""

    def __init__(self, program, work):
        self.program, self.work = program, work
        self.csv = work / "all.csv"
        self.text = self.run("-bench_sizes", "700", "-bench_threads", "1,2", "-bench_csv", self.csv).stdout
        self.rows = read(self.csv)
        self.scalar, self.integer = (
            int(re.search(rf"(\d+)-byte {what}", self.text)[1]) for what in ("scalars", "integers")
        )

    def run(self, *options, status=0):
        command = [str(part) for part in (self.program, "-bench_time", "0.002", *options)]
        env = dict(os.environ, SYNCFREE_COMMIT=COMMIT)
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=env)
        expect(
            result.returncode == status,
            f"{' '.join(command)}: status {result.returncode}, not {status}\n{result.stdout}{result.stderr}",
        )
        return result


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def every_contender_meets_every_matrix(bench):
    found = collections.defaultdict(list)
    for row in bench.rows:
        found[row["matrix"], row["kind"]].append(row["contender"])
    expect(set(found) == set(itertools.product(MATRICES, ("ilu", "icc"))), f"groups {sorted(found)}")
    first = found["7pt", "ilu"]
    expect(first[0] == "petsc" and {"auto/1", "serial/1", "auto/2", "blocks/2"} < set(first), f"contenders {first}")
    for key, contenders in found.items():
        expect(contenders == first, f"{key}: contenders {contenders}, elsewhere {first}")


def forced_strategies_ran(bench):
    for row in bench.rows:
        if row["strategy"] not in ("", "auto"):
            expect(row["ran"] == row["strategy"], f"{row['contender']} ran {row['ran']}")


def numbers_are_sound(bench):
    tolerance = 1e4 * (2.0**-52 if bench.scalar in (8, 16) else 2.0**-23)
    for row in bench.rows:
        expect(int(row["n"]) >= 700 and int(row["nnz"]) > int(row["n"]), f"size of {row}")
        expect(int(row["repetitions"]) >= 5, f"repetitions of {row}")
        expect(float(row["error"]) <= tolerance, f"error of {row}")
        expect(0 < float(row["core_share"]) <= 1.01, f"share of a core of {row}")
        expect(float(row["others_cores"]) >= 0, f"other programs beside {row}")
        for event in EVENTS:
            low, middle, high = (float(row[f"{event}{part}_ms"]) for part in ("_low", "", "_high"))
            expect(0 < low <= middle <= high, f"{event} of {row}")


def triangles_and_products_are_timed(bench):
    for row in bench.rows:
        for event in ("lower", "upper", "cg"):
            measured = bool(row[f"{event}_ms"])
            expect(measured or row["contender"] == "petsc", f"no {event} in {row}")
            expect(not measured or float(row[f"{event}_ms"]) > 0, f"{event} of {row}")
        expect(float(row["spmv_ms"]) > 0, f"product of {row}")
        expect(row["commit"] == COMMIT and row["machine"], f"origin of {row}")


def solutions_are_of_a_good_size(bench):
    for row in bench.rows:
        expect(1e-6 <= float(row["mean"]) <= float(row["largest"]) <= 1e6, f"|x| of {row}")
    expect("is wanted" not in bench.text, "a warning of the size of x")


def levels_are_those_of_the_pattern(bench):
    path = bench.work / "stand_ins.csv"
    bench.run("-bench_sizes", "400", "-bench_matrices", ",".join(STAND_INS + OTHERS), "-bench_kinds", "ilu",
              "-bench_threads", "1", "-bench_strategies", "serial", "-bench_csv", path)
    found = {}
    for row in bench.rows + read(path):
        found[row["matrix"]] = (int(row["n"]), int(row["lower_levels"]), int(row["upper_levels"]))
        sides = 1 if row["matrix"] == "dense" else 2
        expect(sides * int(row["lower_nnz"]) == int(row["nnz"]) - int(row["n"]), f"entries below the diagonal: {row}")
        mean = int(row["lower_nnz"]) / int(row["n"])
        expect(mean <= int(row["longest"]) < int(row["n"]), f"the longest row of {row}")
        a_level, a_row = float(row["rows_a_level"]), float(row["entries_a_row"])
        levels = int(row["lower_levels"]) + int(row["upper_levels"])
        expect(abs(a_level * levels / (2 * int(row["n"])) - 1) < 1e-2 and a_row > 0, f"granularity of {row}")
    expect(set(found) == {*MATRICES, *STAND_INS, *OTHERS}, f"matrices {sorted(found)}")
    for matrix, levels in (("kkt", (2, 2)), ("chain", 2 * found["chain"][:1]), ("dense", found["dense"][:1] + (1,)),
                           ("7pt_rcm", (22, 22)), ("5pt_rcm", (39, 39))):
        expect(found[matrix][1:] == levels, f"{matrix}: {found[matrix]}")


def wavefronts_are_as_many_and_as_long_as_named(bench):
    path, lengths = bench.work / "waves.csv", (1, 8, 64, 512, 4096)
    matrices = ",".join(f"waves{length}:{3 * length}" for length in lengths)
    bench.run("-bench_matrices", matrices, "-bench_kinds", "ilu", "-bench_threads", "1", "-bench_strategies", "serial",
              "-bench_csv", path)
    found = {(row["matrix"], int(row["n"]), row["lower_levels"], row["upper_levels"]) for row in read(path)}
    expect(found == {(f"waves{length}", 3 * length, "3", "3") for length in lengths}, f"wavefronts {sorted(found)}")


def slow_contenders_are_timed_once(bench):
    path = bench.work / "slow.csv"
    bench.run("-bench_matrices", "7pt:300,5pt:200", "-bench_kinds", "ilu", "-bench_slow", "1e-9", "-bench_csv", path)
    found = read(path)
    expect({row["repetitions"] for row in found} == {"1"}, f"repetitions {[row['repetitions'] for row in found]}")
    expect({row["n"] for row in found} == {"343", "225"}, f"sizes {[row['n'] for row in found]}")


def whole_solves(bench):
    path = bench.work / "solves.csv"
    text = bench.run("-bench_solves", "-bench_sizes", "1000", "-bench_threads", "2", "-bench_csv", path).stdout
    found = {(row["problem"], row["pc"]): row for row in read(path)}
    wanted = itertools.product(("poisson", "convection"), ("ilu", "jacobi", "gamg", "syncfree_ilu"))
    expect(set(found) == set(wanted), f"solves {sorted(found)}")
    for (problem, pc), row in found.items():
        converged = row["reason"].startswith("CONVERGED") and float(row["residual"]) < 1e-6
        expect(converged or (problem, pc) == ("convection", "gamg"), f"{row}")
        expect(f"{problem}" in text and pc in text, text)
        for event in ("setup", "refresh", "solve", "matmult", "apply"):
            expect(float(row[f"{event}_ms"]) > 0, f"{event} of {row}")
    for problem in ("poisson", "convection"):
        counts = [int(found[problem, pc]["iterations"]) for pc in ("ilu", "syncfree_ilu", "jacobi")]
        expect(counts[0] == counts[1] < counts[2], f"{problem}: iterations of ilu, ours, jacobi {counts}")
    path = bench.work / "smoothers.csv"
    smoothers = ("sor", "syncfree_sor", "gamg/sor", "gamg/syncfree_sor")
    bench.run("-bench_solves", "-bench_problems", "poisson", "-bench_sizes", "1000", "-bench_pcs", ",".join(smoothers),
              "-bench_csv", path)
    counts = {row["pc"]: int(row["iterations"]) for row in read(path)}
    expect(counts["sor"] == counts["syncfree_sor"] > counts["gamg/sor"] == counts["gamg/syncfree_sor"], f"{counts}")
    text = bench.run("-bench_solves", "-bench_sizes", "300", "-bench_gamg_rows", "100", "-bench_threads", "1").stdout
    expect("jacobi" in text and "gamg" not in text, text)


def symbolic_factorizations(bench):
    path = bench.work / "symbolic.csv"
    options = ("-bench_symbolic", "1,2,4", "-bench_matrices", "7pt:700,powerlaw:700", "-bench_threads", "1,2")
    text = bench.run(*options, "-bench_csv", path).stdout
    entries, contenders = {}, collections.defaultdict(list)
    for row in read(path):
        key = row["matrix"], row["kind"], int(row["levels"])
        contenders[key].append(row["contender"])
        expect(entries.setdefault(key, int(row["entries"])) == int(row["entries"]), f"entries of {row}")
        expect(0 < float(row["low_ms"]) <= float(row["ms"]) <= float(row["high_ms"]), f"times of {row}")
    expect(set(contenders) == set(itertools.product(("7pt", "powerlaw"), ("ilu", "icc"), (1, 2, 4))), f"{contenders}")
    for key, names in contenders.items():
        expect(names == ["petsc", "1", "2"], f"{key}: {names}")
    for matrix, kind in itertools.product(("7pt", "powerlaw"), ("ilu", "icc")):
        counts = [entries[matrix, kind, levels] for levels in (1, 2, 4)]
        expect(counts[0] < counts[1] < counts[2], f"{matrix} {kind}: {counts}")
    expect(text.count("geometric mean over PETSc") == 4, text)


def orderings_with_their_whole_solves(bench):
    path = bench.work / "orderings.csv"
    orders = ("natural", "nd", "random", "syncfree_multicolor", "syncfree_cyclic:4", "syncfree_abmc:8")
    matrices = ("7pt", "tets_jumps", "tets_elasticity")
    bench.run("-bench_orderings", ",".join(orders), "-bench_sizes", "700", "-bench_matrices", ",".join(matrices),
              "-bench_threads", "2", "-bench_csv", path)
    rows = {(row["matrix"], row["kind"], row["pc"], row["ordering"]): row for row in read(path)}
    wanted = {
        (matrix, kind, pc, order)
        for matrix, kind in itertools.product(matrices, ("ilu", "icc"))
        for pc, order in ((kind, "natural"), ("jacobi", ""), ("gamg", ""), *((f"syncfree_{kind}", o) for o in orders))
    }
    expect(set(rows) == wanted, f"{sorted(rows)}")
    for (matrix, kind, pc, order), row in rows.items():
        expect(row["converged"] == "1" and float(row["residual"]) < 1e-6 and int(row["iterations"]) > 3, f"{row}")
        expect(int(row["repetitions"]) >= 5 and row["commit"] == COMMIT and row["machine"], f"origin of {row}")
        setup, refresh, apply, matmult, solve = (
            float(row[f"{event}_ms"]) for event in ("setup", "refresh", "apply", "matmult", "solve")
        )
        expect(min(setup, refresh, apply, matmult, solve) > 0, f"times of {row}")
        expect(close(row["whole_ms"], setup + solve) and close(row["apply_matmults"], apply / matmult), f"{row}")
        expect(not order or int(row["rows"]) == int(row["n"]) and float(row["discarded"]) > 0, f"{row}")
        expect(not pc.startswith("syncfree") or row["ran"], f"{row}")
        if matrix == "7pt" and order in ("syncfree_multicolor", "syncfree_cyclic:4"):
            expect(row["levels"] == ("2" if order == "syncfree_multicolor" else "4"), f"{row}")
        if order == "natural":
            expect(row["iterations"] == rows[matrix, kind, kind, order]["iterations"], f"other iterations: {row}")
    text = bench.run("-bench_orderings", "random", "-bench_matrices", "tets_convection:700", "-bench_kinds", "ilu,icc",
                     "-bench_gamg_rows", "1").stdout
    expect("ilu" in text and " icc " not in text and "gamg" not in text, text)
    text = bench.run("-bench_orderings", "rcm:3", "-bench_matrices", "7pt:300", status=1).stderr
    expect("'rcm:3' has a number" in text, text)


def columns_together_beside_one(bench):
    path = bench.work / "columns.csv"
    options = ("-bench_columns", "2,8", "-bench_matrices", "7pt:700,powerlaw:700", "-bench_strategies", "serial,blocks")
    text = bench.run(*options, "-bench_threads", "1,2", "-bench_csv", path).stdout
    rows, contenders = read(path), collections.defaultdict(list)
    for row in rows:
        contenders[row["matrix"], row["kind"], row["columns"]].append(row["contender"])
        expect(float(row["error"]) <= 1e4 * 2.0**-23 and int(row["repetitions"]) >= 5, f"{row}")
        for event in ("apply", "columns"):
            low, middle, high = (float(row[f"{event}{part}_ms"]) for part in ("_low", "", "_high"))
            expect(0 < low <= middle <= high, f"{event} of {row}")
        expect(row["strategy"] in ("", row["ran"]), f"{row['contender']} ran {row['ran']}")
        expect(row["commit"] == COMMIT and row["machine"], f"origin of {row}")
    wanted = itertools.product(("7pt", "powerlaw"), ("ilu", "icc"), ("2", "8"))
    expect(set(contenders) == set(wanted), f"groups {sorted(contenders)}")
    for key, names in contenders.items():
        expect(names == ["petsc", "serial/1", "blocks/1", "blocks/2"], f"{key}: {names}")
    lines = [line.split() for line in text.splitlines() if re.match(r"(7pt|powerlaw) (ilu|icc) ", line)]
    expect(len(lines) == len(rows), f"{len(lines)} rows in the table, {len(rows)} in the file")
    for line, row in zip(lines, rows):
        expect(line[:2] + line[3:5] == [row[name] for name in ("matrix", "kind", "contender", "columns")], f"{line}")
        expect(close(line[7], float(row["columns_ms"]) / float(row["apply_ms"])) and line[8] == "-", f"{line}, {row}")


def everything_that_is_published_can_be_measured(bench):
    """What measure.py writes here, two tests below read."""
    if not (bench.program.parent / "examples/reaction").exists():
        raise Skip("the examples are not built")
    script = pathlib.Path(__file__).parent / "measure.py"
    command = [sys.executable, script, "--smoke", "--build", bench.program.parent, "--work", bench.work / "measure"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False)
    expect(result.returncode == 0, result.stdout + result.stderr)


def whole_programs(bench):
    path = bench.work / "measure/results/examples_smoke.csv"
    if not path.exists():
        raise Skip("the examples are not built")
    found = {(row["program"], row["pc"]): row for row in read(path)}
    expect(len(found) == 8, f"rows {sorted(found)}")
    for program in ("bratu", "reaction"):
        ours, theirs = found[program, "syncfree_ilu"], found[program, "ilu"]
        expect(ours["iterations"] == theirs["iterations"] != "0", f"iterations of {ours} and {theirs}")
        expect(float(ours["whole"]) > float(ours["KSPSolve"]) > 0, f"times of {ours}")


def papers(bench):
    folder = bench.work / "measure/papers/made"
    if not folder.exists():
        raise Skip("the examples are not built, so nothing was measured")
    text = (folder / "papers.txt").read_text(encoding="utf-8")
    for part in ("Liu 2016, table 1", "Liu 2016, table 3", "Liu 2016, figure 4", "Liu 2016, table 4",
                 "Lu 2020, tables 1 and 2", "Lu 2020, figure 4", "Lu 2020, figure 5", "Lu 2020, table 4",
                 "Lu 2020, table 5", "Lu 2020, figure 6", "Lu 2020, figure 7", "Su 2020, averages", "Su 2020, curve",
                 "Su 2020, preference", "Su 2020, case study", "Somo 2025, figure 1", "Somo 2025, section 3"):
        expect(f"== {part}" in text, f"no {part} in\n{text}")
    expect(text.count("  as in the paper") == 6, "tables 1 and 2 of Lu 2020 are not what is counted")
    expect("not measured here" not in text, text)
    expect("geometric means" in (folder / "rates.txt").read_text(), "no rates")
    as_on_a_device(folder)


def the_vendors_library_is_named(bench):
    """Not where it does not run; rows of `serial` as those of `cusparse` would be."""
    made = bench.work / "vendor.csv"
    extra = {"vendor": "12.9.4", "lower_algorithm": "2", "upper_algorithm": "0", "lower_analysis_ms": "1.5",
             "upper_analysis_ms": "2.5", "choice_ms": "7"}
    expect(all(row[name] == "" for row in bench.rows for name in extra), f"a vendor in {bench.rows[0]}")
    with open(made, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, bench.rows[0])
        writer.writeheader()
        for row in bench.rows:
            vendor = {**extra, "strategy": "cusparse", "setup_ms": "20", "refresh_ms": "3"}
            writer.writerow({**row, **vendor} if row["strategy"] == "serial" else row)
    script = pathlib.Path(__file__).parent / "rates.py"
    result = subprocess.run([PYTHON, str(script), str(made)], capture_output=True, text=True, check=False)
    expect(result.returncode == 0, result.stderr)
    lines = [line for line in result.stdout.splitlines() if line.endswith("  cuSPARSE 12.9.4 (2, 0)")]
    expect(lines and all(" cusparse " in line for line in lines), result.stdout)
    expect(f"commit {COMMIT}; cuSPARSE 12.9.4" in result.stdout, result.stdout)
    code = f"import rows; print(rows.read(['{made}'])[0].rows['cusparse'].analysis())"
    result = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False, cwd=script.parent)
    expect(result.returncode == 0 and abs(float(result.stdout) - 0.01) < 1e-9, f"{result.stdout}{result.stderr}")


def as_on_a_device(folder):
    """The sections that want all three kinds of triangle kernels, with others under the device's names."""
    text = (folder / "solves.csv").read_text()
    for host, device in (("serial", "cusparse"), ("sync_free", "csc_sync_free"), ("blocks", "csr_writing_first")):
        text = text.replace(f",{host},", f",{device},")
    (folder / "device.csv").write_text(text)
    script = pathlib.Path(__file__).parent / "papers.py"
    command = [PYTHON, str(script), "--solves", str(folder / "device.csv")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(result.returncode == 0, result.stderr)
    for words in ("vendor       cusparse", "name the fastest of the three in", "csr_writing_first"):
        expect(words in result.stdout, f"no '{words}' in\n{result.stdout}")


def calibrate(csv_file, *options):
    command = [PYTHON, str(pathlib.Path(__file__).parent / "calibrate.py"), str(csv_file), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def made_up_applications(row, row_squared, longest_row, merged_longest_row):
    """By `level_order` 3 us a triangle, 0.4 a level and 2e-5 an entry; by `merged` 6 us, 0.7 a group and 0.01 for each
    entry of a mean row, 3e-5 an entry; and one of its own kind, ten times as slow. A plan of `merged` takes 700 us,
    4e-4 an entry, 12 for a level of its longest group. The square of the rows of a run and entries of the longest row
    take what is told."""
    for k, (n, levels, entries) in enumerate(itertools.product((1e4, 1e5, 7e5), (20, 900, 5000), (2, 5, 13))):
        row = {**row, "matrix": f"made{k}", "n": int(n), "lower_levels": levels, "lower_nnz": int(n * entries)}
        row["setup_ms"], row["longest"] = 2, 17
        us = 2 * (3 + 0.4 * levels + 2e-5 * n * entries + 17 * longest_row)
        yield {**row, "strategy": "level_order", "plan": "1 lane a row", "apply_ms": us * (10 if k == 4 else 1) / 1e3}
        groups, fill = 5 + levels // 7, 1.5
        us = 6 + 2 * groups * (0.7 + 0.01 * fill * entries) + 2 * (3e-5 * fill * n * entries + 17 * merged_longest_row)
        longest = 5 + 7 * (k % 4)
        more = 700 + 4e-4 * 2 * fill * n * entries + 12 * longest + row_squared * (n * min(1, 64 / levels)) ** 2
        plan = f"{levels} levels in {groups} groups of {longest} at most, {fill} times the entries, growth 1.0e+00"
        yield {**row, "strategy": "merged", "plan": plan, "apply_ms": us / 1e3, "setup_ms": 2 + more / 1e3}


def calibration_finds_the_constants_of_made_up_times(bench):
    made, table = bench.work / "made.csv", bench.work / "device_model.hpp"
    before = (ROOT / "src/core/choose/device_model.hpp").read_text()
    table.write_text(before)
    told = [float(re.search(rf"{name} = ([^;]+);", before)[1])
            for name in ("merged_plan_row_squared", "rows_longest_row", "merged_longest_row")]
    rows = list(made_up_applications(bench.rows[0], *told))
    with open(made, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    result = calibrate(made, "--table", table, "--write")
    expect(result.returncode == 0, result.stdout + result.stderr)
    truth = {"rows_begin": 3, "rows_level": 0.4, "rows_entry": 2e-5, "merged_begin": 6, "merged_group": 0.7,
             "merged_length": 0.01, "merged_entry": 3e-5, "merged_plan_begin": 700, "merged_plan_entry": 4e-4,
             "merged_plan_level": 12}
    found = dict(re.findall(r"double (\w+) = ([^;]+);", table.read_text()))
    for name, value in re.findall(r"double (\w+) = ([^;]+);", before):
        wanted = truth.get(name)
        if wanted is None:
            expect(found[name] == value, f"{name} became {found[name]}")
        else:
            expect(abs(float(found[name]) - wanted) <= 0.02 * wanted, f"{name} is {found[name]}, not {wanted}")


def calibration_reads_what_the_program_writes(bench):
    path = bench.work / "renamed.csv"
    path.write_text(bench.csv.read_text().replace(",serial,", ",level_order,"))
    result = calibrate(path)
    count = sum(row["strategy"] == "serial" for row in bench.rows)
    expect(count > 0 and f"single_rows: {count} applications" in result.stdout, result.stdout + result.stderr)
    expect("plan" in bench.rows[0], f"no plan among {list(bench.rows[0])}")
    result = calibrate(bench.csv)
    expect(result.returncode != 0 and "no application" in result.stderr, "it says nothing of a file without any")
    text = path.read_text().splitlines(keepends=True)
    for line in (text[1].replace("7pt,", "7pt,many,", 1), "7pt,1\n"):
        path.write_text(text[0] + line)
        result = calibrate(path)
        expect(result.returncode != 0 and f"{path}, line 2" in result.stderr, f"of line {line}: {result.stderr}")
        expect("Traceback" not in result.stderr, result.stderr)
    result = calibrate(bench.work / "absent.csv")
    expect(result.returncode != 0 and "absent.csv cannot be read" in result.stderr, result.stderr)
    expect("Traceback" not in result.stderr, result.stderr)


def petscs_memory_is_that_of_the_formula(bench):
    for row in bench.rows:
        if row["contender"] != "petsc":
            continue
        n, nnz = int(row["n"]), int(row["nnz"])
        entries = nnz if row["kind"] == "ilu" else (nnz + n) / 2
        wanted = entries * (bench.scalar + bench.integer) + (n + 1) * (2 * bench.integer + bench.scalar)
        expect(float(row["memory_bytes"]) == wanted, f"{wanted} bytes wanted: {row}")


def ratios(bench):
    """{(matrix, kind, contender): speeds and memory against PETSc's}, from the CSV file."""
    petsc = {(r["matrix"], r["kind"]): r for r in bench.rows if r["contender"] == "petsc"}
    result = {}
    for r in bench.rows:
        own = petsc[r["matrix"], r["kind"]]
        speeds = [float(own[f"{event}_ms"]) / float(r[f"{event}_ms"]) for event in ("setup", "refresh", "apply")]
        result[r["matrix"], r["kind"], r["contender"]] = speeds + [
            float(r["memory_bytes"]) / float(own["petsc_bytes"])
        ]
    return result


def close(printed, wanted):
    return abs(float(printed) - wanted) <= 0.006 + 1e-4 * wanted


def table_says_what_the_file_says(bench):
    wanted, seen = ratios(bench), 0
    for found in filter(None, map(ROW.match, bench.text.splitlines())):
        key = found[1], found[2], found[4]
        expect(all(map(close, found.groups()[7:10], wanted[key])), f"table: {found[0]}, file: {wanted[key]}")
        seen += 1
    expect(seen == len(bench.rows), f"{seen} rows in the table, {len(bench.rows)} in the file")


def means_are_geometric_and_name_the_worst(bench):
    groups = collections.defaultdict(list)
    for (matrix, kind, contender), values in ratios(bench).items():
        if contender != "petsc":
            groups[f"{kind} {contender}"].append((matrix, values))
    text = bench.text[bench.text.index("geometric means") :]
    for name, members in groups.items():
        line = next((line for line in text.splitlines() if line.startswith(name + " ")), "")
        found = re.findall(r"([\d.]+), worst ([\d.]+) (\S+) \d+", line)
        expect(len(found) == 4, f"four means for {name}: {line!r}")
        for place, (mean, worst, matrix) in enumerate(found):
            values = {member: value[place] for member, value in members}
            wanted = math.exp(sum(map(math.log, values.values())) / len(values))
            expect(close(mean, wanted), f"{name}: mean {mean}, should be {wanted}")
            extreme = (min, max)[place == 3](values.values())
            expect(close(worst, extreme) and close(values[matrix], extreme), f"{name}: worst {worst} {matrix}")


def fill_is_passed_on(bench):
    path = bench.work / "levels.csv"
    bench.run("-bench_sizes", "300", "-bench_matrices", "5pt", "-bench_levels", "1", "-bench_csv", path)
    rows = read(path)
    expect({row["levels"] for row in rows} == {"1"}, "levels in the file")
    formula = int(rows[0]["nnz"]) * (bench.scalar + bench.integer)
    expect(float(rows[0]["petsc_bytes"]) > 1.2 * formula, f"ILU(1) has more entries than ILU(0): {rows[0]}")


def reads_files(bench):
    lines = ["%%MatrixMarket matrix coordinate real general", "40 40 79"]
    lines += [f"{i} {i} 4" for i in range(1, 41)] + [f"{i + 1} {i} -1" for i in range(1, 40)]
    mirrored = [f"{i} {i + 1} -1.0000000000000002" for i in range(1, 40)]
    plain, packed, path = bench.work / "two'sided.mtx", bench.work / "packed.mtx.gz", bench.work / "files.csv"
    rounded = bench.work / "rounded.mtx"
    rounded.write_text("\n".join([lines[0], "40 40 118", *lines[2:], *mirrored]) + "\n")
    plain.write_text("\n".join(lines) + "\n")
    packed.write_bytes(gzip.compress("\n".join(lines).replace("real general", "real symmetric").encode() + b"\n"))
    text = bench.run("-bench_files", f"{plain},{packed}", "-bench_csv", path).stdout
    found = [(r["matrix"], r["kind"], r["nnz"]) for r in read(path) if r["contender"] == "petsc"]
    wanted = [("two'sided", "ilu", "79"), ("packed", "ilu", "118"), ("packed", "icc", "118")]
    expect(found == wanted, f"matrices {found}")
    expect("skipped: two'sided icc: not symmetric" in text, text)
    for mode in (("-bench_orderings", "natural"), ("-bench_symbolic", "1")):
        text = bench.run("-bench_files", f"{plain},{rounded}", "-bench_kinds", "icc", "-bench_csv", path, *mode).stdout
        expect({r["matrix"] for r in read(path)} == {"rounded"}, f"{mode}: matrices {read(path)}")
        expect("skipped: two'sided icc: not symmetric" in text, text)


def refuses_files_in_words(bench):
    """Files that are damaged, or not what they say: an error at once, which names file and place."""
    head = "%%MatrixMarket matrix coordinate real general\n"
    bomb, tail = b"%" + b" " * 999, b"\n1 1 1\n1 1 1\n"
    integer = f">{{}}{'q' if bench.integer == 8 else 'i'}"
    pattern = (1211216, 3, 3, 5, 2, 2, 1, 0, 1, 1, 7, 2)
    binary = struct.pack(integer.format(len(pattern)), *pattern) + bytes(5 * bench.scalar)
    for name, content, words in (
        ("column.bin", binary, "column.bin: row 1, column 7, counting from 0, is outside a 3 x 3 matrix"),
        ("huge.mtx", (head + "2147483647 2147483647 1\n1 1 1\n").encode(), "huge.mtx, line 2: more rows"),
        ("bomb.mtx.gz", gzip.compress(head.encode() + 2000 * (bomb + b"\n") + tail), "unpacks to more than 1000000"),
        ("cut.mtx.gz", gzip.compress((head + "1 1 1\n1 1 1\n").encode())[:-9], "cut.mtx.gz does not unpack"),
    ):
        path = bench.work / name
        path.write_bytes(content)
        begin = time.monotonic()
        said = bench.run("-bench_files", path, "-bench_unpacked", "1e6", status=1).stderr
        expect(words in said, f"{name}: {said}")
        expect(time.monotonic() - begin < 30, f"{name}: took {time.monotonic() - begin:.0f} s")


def refuses_in_words(bench):
    for options, words in (
        (("-bench_matrices", "8pt"), "there are 7pt,27pt"),
        (("-bench_sizes", "12x"), "'12x' is not a number"),
        (("-bench_kinds", "lu"), "'lu' is not ilu or icc"),
        (("-bench_columns", "0"), "'0' is not a number"),
        (("-bench_files", bench.work / "absent.mtx"), "absent.mtx: cannot be opened"),
        (("-bench_csv", bench.work / "no" / "such.csv"), "cannot write"),
        (("-bench_solves", "-bench_sizes", "64", "-bench_pcs", "jacobi/sor"), "'jacobi/sor' names a smoother"),
        (("-bench_matrces", "7pt"), "there is no option -bench_matrces; there are -bench_matrices, -bench_files,"),
        (("-bench_solve", "-bench_sizes", "64"), "-bench_solves, -bench_problems"),
        (("-bench_", "x"), "there is no option -bench_;"),
        (("-bench_matrices", "7pt:64", "-bench_strategies", "serial", "-bench_pc_syncfree_factor_precisio", "single"),
         "was read by nothing"),
    ):
        said = bench.run(*options, status=1).stderr
        expect(words in said, f"{options}: {said}")


def help_lists_the_strategies_of_the_host(bench):
    source = (ROOT / "src/core/choose/strategy_list.hpp").read_text(encoding="utf-8")
    listed = re.findall(r'X\((\w+), \w+, +"([^"]*)"\)', source.split("#ifdef", maxsplit=1)[0])
    expect(len(listed) > 5, source)
    said = bench.run("-help").stdout
    for name, summary in listed:
        expect(re.search(rf"^  {name} .*{re.escape(summary)}$", said, re.M), f"{name} is not in\n{said}")


def disagreement_is_an_error(bench):
    options = "-bench_sizes 700 -bench_matrices 27pt -bench_strategies level_set,blocks -bench_tolerance 0"
    said = bench.run(*options.split(), status=1).stderr
    expect(re.search(r"differs from PETSc's own by .*, tolerance 0.*; after 0 repetitions, \w+/\d+ by \d", said), said)


def plots(bench):
    if subprocess.run([PYTHON, "-c", "import matplotlib"], capture_output=True, check=False).returncode:
        raise Skip("python3-matplotlib is not installed")
    path = bench.work / "sizes.csv"
    options = ("-bench_sizes", "300,600", "-bench_matrices", "5pt,chain", "-bench_strategies", "auto")
    bench.run(*options, "-bench_csv", path)
    command = [PYTHON, ROOT / "tests/bench/plot.py", "--out", bench.work / "plots", bench.csv, path]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    expect(result.returncode == 0, result.stderr)
    drawn = [bench.work / "plots" / f"{name}.png" for name in ("speed_ilu", "speed_icc", "size_ilu", "size_icc")]
    for name in (*drawn, *(bench.work / "measure/papers/made").glob("*_figure[16].png")):
        start = name.read_bytes()[:8]
        expect(start == b"\x89PNG\r\n\x1a\n", f"{name} begins with {start}")


TESTS = (
    every_contender_meets_every_matrix,
    forced_strategies_ran, contenders_store_in_single_and_select_by_trials,
    numbers_are_sound,
    triangles_and_products_are_timed,
    solutions_are_of_a_good_size,
    levels_are_those_of_the_pattern,
    wavefronts_are_as_many_and_as_long_as_named,
    slow_contenders_are_timed_once,
    whole_solves,
    symbolic_factorizations,
    orderings_with_their_whole_solves,
    columns_together_beside_one,
    hpcg_like_solves,
    other_sweeps_are_no_hpcg_like_solve,
    everything_that_is_published_can_be_measured,
    only_sound_files_replace_others,
    parts_hold_each_run_once,
    whole_programs,
    papers,
    the_vendors_library_is_named,
    calibration_finds_the_constants_of_made_up_times,
    calibration_reads_what_the_program_writes,
    petscs_memory_is_that_of_the_formula,
    table_says_what_the_file_says,
    means_are_geometric_and_name_the_worst,
    fill_is_passed_on,
    reads_files,
    refuses_files_in_words,
    refuses_in_words,
    help_lists_the_strategies_of_the_host,
    disagreement_is_an_error,
    plots,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--work", required=True, type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        bench = Bench(options.program, options.work)
    except Failure as failure:
        print(f"FAILED   {failure}\nRESULT 0 1 0")
        return 1
    counts = collections.Counter(verdict(test, bench) for test in TESTS)
    print(f"RESULT {counts['passed']} {counts['failed']} {counts['skipped']}")
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
