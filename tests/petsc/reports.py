#!/usr/bin/env python3
"""Tests of what the plugin prints: -help, views, -pc_syncfree_view, -log_view, -info, -citations.

    python3 tests/petsc/reports.py --petsc-dir D --petsc-arch A --library L --work W

D, A, L, W   as for processes.py

Runs program.c of this folder, and a tutorial with Newton's method. The last line is `RESULT passed failed skipped`; the
exit status is 0 if none failed.
"""

import os
import re
import sys

import processes
from processes import Failure

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
def help_lists_types_and_options(petsc):
    result = petsc.plugin("-pc_type syncfree_ilu -help").ok()
    result.has("syncfree_ilu", "syncfree_icc", "-pc_factor_levels", *processes.STRATEGIES)
    result.has("-pc_syncfree_strategy", "-pc_syncfree_threads", "-pc_syncfree_factor_precision")
    result.has("Number of CPU threads; -1: value of -omp_num_threads, else OMP_NUM_THREADS, else 1")
    petsc.plugin("-pc_type syncfree_sor -help").ok().has("Algorithm of the triangular solves or sweeps (choose one of)", "(PCSYNCFREESOR)").lacks("(syncfree_sor)")


@test
def no_option_is_left_unused(petsc):
    ours = "-pc_syncfree_strategy blocks -pc_syncfree_threads 2 -pc_syncfree_factor_precision single"
    petscs = "-pc_factor_levels 1 -pc_factor_in_place -pc_factor_shift_type nonzero"
    petsc.plugin(f"-pc_type syncfree_ilu {ours} {petscs} -options_left").ok().has("no unused")
    petsc.plugin(f"-pc_type ilu -pc_factor_mat_solver_type syncfree {ours} -options_left").ok().has("no unused")


@test
def ksp_view_names_type_strategy_threads_and_memory(petsc):
    options = "-pc_syncfree_strategy level_set -pc_syncfree_threads 2 -ksp_view"
    result = petsc.plugin(f"-pc_type syncfree_ilu {options}").ok()
    result.has("type: syncfree_ilu", "level_set", "threads: 2", "levels of fill", "memory", "out-of-place")
    result.has("syncfree version: ", "syncfree backend: host\n")
    package = petsc.plugin("-pc_type ilu -pc_factor_mat_solver_type syncfree -ksp_view").ok()
    package.has("package used to perform factorization: syncfree")
    result = petsc.plugin("-pc_type syncfree_ilu -ksp_view", ranks=2).ok().has("type: syncfree_ilu")
    result.has("syncfree strategy: serial (one thread), backend: host, on 2 of 2 processes\n")
    petsc.plugin("-pc_type syncfree_sor -ksp_view", ranks=2).ok().has("  syncfree rows: least 200, most 200, sum 400\n")


@test
def log_view_shows_our_events_and_their_flops(petsc):
    result = petsc.plugin("-pc_type syncfree_ilu -solves 3 -log_view").ok()
    counts = {}
    for name in ("SyncFreeAnalysi", "SyncFreeNumeric", "SyncFreeSolve"):
        line = re.search(rf"^{name}\w*\s+(\d+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)", result.output, re.M)
        result.expect(line, f"-log_view has no line for {name}")
        counts[name] = (int(line.group(1)), float(line.group(3)))
    result.expect(counts["SyncFreeAnalysi"][0] == 1, "the pattern was analysed more than once for new values")
    result.expect(counts["SyncFreeNumeric"][0] == 3, "each change of values needs one numeric factorization")
    result.expect(counts["SyncFreeSolve"][0] > 3, "solves are not counted")
    theirs = petsc.start("-pc_type ilu -solves 3 -log_view").ok()
    other = logged_flops(theirs, "MatSolve")
    for event in ("MatSolve", "SyncFreeSolve"):
        mine = logged_flops(result, event)
        result.expect(abs(mine - other) <= 0.02 * other, f"{event} counts {mine} flops, PETSc's {other}")
    sor = petsc.plugin("-pc_type syncfree_sor -log_view").ok()
    mine, other = logged_flops(sor, "SyncFreeSolve"), logged_flops(sor, "MatSOR")
    sor.expect(mine == other > 0, f"SyncFreeSolve counts {mine} flops, MatSOR {other}")


def logged_flops(result, event):
    line = re.search(rf"^{event}\s+\d+\s+\S+\s+\S+\s+\S+\s+(\S+)", result.output, re.M)
    result.expect(line, f"-log_view has no line for {event}")
    return float(line.group(1))


@test
def info_tells_the_decisions(petsc):
    petsc.plugin("-pc_type syncfree_ilu -info -pc_syncfree_threads 2").ok().has("Strategy", "threads, ", "MB factor", "MB plan")
    choice = "-pc_type syncfree_ilu -info -pc_factor_mat_ordering_type syncfree_auto"
    petsc.plugin(choice).ok().has("Ordering given: the given order: on CPU threads an application takes")


def cited(petsc, options, here, *elsewhere):
    result = petsc.plugin(f"{options} -citations").ok().has("@software{petsc-syncfree,", *here)
    for part in elsewhere:
        result.lacks(part)


@test
def citations_are_those_of_what_ran(petsc):
    liu, lu, saad = "@inproceedings{liu2016", "@inproceedings{lu2020", "@article{anderson1989"
    cited(petsc, "-pc_type syncfree_ilu", [], liu, lu, saad)
    cited(petsc, "-pc_type syncfree_icc -pc_syncfree_strategy sync_free", [liu, "Liu, Weifeng"], lu, saad)
    cited(petsc, "-pc_type syncfree_sor -pc_syncfree_strategy level_set -pc_syncfree_threads 2", [saad], liu, lu)
    cited(petsc, "-pc_type ilu -pc_factor_mat_solver_type syncfree -pc_syncfree_strategy row_block", [lu], liu, saad)
    cited(petsc, "-pc_type syncfree_ilu -pc_syncfree_strategy loop", ["@inproceedings{somo2025"], liu, lu, saad)
    merged = ["@article{alvarado1993", "pages   = {446--460}"]
    cited(petsc, "-pc_type syncfree_ilu -pc_syncfree_strategy merged", merged, liu, lu, saad)
    orders = {"multicolor": "@article{jones1993", "cyclic": "@article{doi1999", "abmc": "@inproceedings{iwashita2012"}
    for name, entry in orders.items():
        others = [other for other in orders.values() if other != entry]
        cited(petsc, f"-pc_type syncfree_ilu -pc_factor_mat_ordering_type syncfree_{name}", [entry], *others)
    processes.run([petsc.program, "-pc_type", "ilu", "-citations"], 60, petsc.environment()).ok().lacks("syncfree")


@test
def help_of_the_factor_package_lists_all_its_options(petsc):
    own = set(re.findall(r"^  (-pc_syncfree_\w+):? ", petsc.plugin("-pc_type syncfree_ilu -help").ok().output, re.M))
    package = petsc.plugin("-pc_type ilu -pc_factor_mat_solver_type syncfree -help").ok()
    listed = set(re.findall(r"^  (-pc_syncfree_\w+):? ", package.output, re.M))
    package.expect(listed == own and len(own) > 9, f"{sorted(own ^ listed)} are in one list only")


@test
def the_manual_has_the_defaults_that_help_prints(petsc):
    with open(os.path.join(HERE, "../../plugin/MANUAL.md"), encoding="utf-8") as manual:
        told = dict(re.findall(r"^\| `(-pc_syncfree_\w+)` \|[^|]*\| `?([^|`]*?)`? \|", manual.read(), re.M))
    for kind in ("syncfree_ilu", "syncfree_sor"):
        said = petsc.plugin(f"-pc_type {kind} -help").ok()
        printed = re.findall(r"^ +(-pc_syncfree_\w+):? <(?:now )?\S* ?: (?:formerly )?(\S*?)\.?>", said.output, re.M)
        said.expect(len(printed) > 4, "there are fewer options")
        for option, default in printed:
            wanted = "" if told[option] == "none" else told[option]
            said.expect(default.lower() == wanted, f"{option}: {default!r} here, {told[option]!r} in the manual")


# ---- -pc_syncfree_view ----

HEADINGS = {"syncfree_ilu": "Syncfree ILU: ", "syncfree_icc": "Syncfree ICC: ", "syncfree_sor": "Syncfree SOR: "}


def counted(result, part, number):
    found = result.output.count(part)
    return result.expect(found == number, f"{part!r} is {found} times in the output, not {number} times")


@test
def an_analysis_is_viewed_once_however_often_its_values_change(petsc):
    for pc, heading in HEADINGS.items():
        result = petsc.plugin(f"-pc_type {pc} -pc_syncfree_view -wind 0 -solves 4").ok()
        counted(result, heading, 1).has(f"{heading}1 MPI process\n", "syncfree version: ", "serial (one thread)")
        result.lacks("processes")
        petsc.plugin(f"-pc_type {pc} -wind 0").ok().lacks(heading)
    prefix = petsc.plugin("-pc_type bjacobi -pc_bjacobi_blocks 2 -sub_pc_type syncfree_ilu -sub_pc_syncfree_view")
    counted(prefix.ok(), "Syncfree ILU: (sub_) 1 MPI process\n", 2)
    package = petsc.plugin("-pc_type ilu -pc_factor_mat_solver_type syncfree -pc_syncfree_view -solves 3")
    counted(package.ok(), "Syncfree ILU: ", 1)


@test
def each_analysis_is_viewed(petsc):
    for pc, heading in HEADINGS.items():
        counted(petsc.plugin(f"-pc_type {pc} -pc_syncfree_view -wind 0 -solves 3 -reset").ok(), heading, 3)
        ranks = petsc.plugin(f"-pc_type {pc} -pc_syncfree_view -wind 0 -solves 3 -reset", ranks=2)
        counted(ranks.ok(), heading, 3)


@test
def a_view_of_several_ranks_tells_least_most_and_sum(petsc):
    for pc, heading in HEADINGS.items():
        for empty in (0, 2):
            options = f"-pc_type {pc} -pc_syncfree_view -pc_syncfree_strategy level_set"
            result = petsc.plugin(f"{options} -empty_rank {empty} -wind 0 -solves 3", ranks=3)
            counted(result.ok(), heading, 1).has(f"{heading}3 MPI processes\n")
            result.has("syncfree strategy: level_set (forced), backend: host, on 2 of 3 processes\n")
            result.has("syncfree rows: least 0, most 200, sum 400\n")
            if pc != "syncfree_sor":
                result.has("syncfree lower levels: least 0, most ", "syncfree upper levels: least 0, most ")
            memory = re.search(r"syncfree memory of the matrix: least (\S+), most (\S+), sum (\S+) MB", result.output)
            result.expect(memory, "no line on memory")
            least, most, total = (float(x) for x in memory.groups())
            result.expect(least < most < total <= 3 * most, f"{memory.group(0)} is not in order")


@test
def a_view_in_detail_has_a_line_for_each_rank(petsc):
    for pc in HEADINGS:
        result = petsc.plugin(f"-pc_type {pc} -wind 0 -empty_rank 1 -pc_syncfree_view ::ascii_info_detail", ranks=3).ok()
        found = re.findall(r"syncfree process (\d): .*, 1 threads, (\d+) rows, \d+ entries(.*), \S+ MB", result.output)
        levels = [re.sub(r"[1-9]\d*", "N", text) for _, _, text in found]
        wanted = ", N lower and N upper levels" if pc != "syncfree_sor" else ""
        result.expect([line[:2] for line in found] == [("0", "200"), ("1", "0"), ("2", "200")], f"the lines are {found}")
        result.expect(levels == [wanted, "", wanted], f"the levels are {levels}")


@test
def a_view_goes_to_a_file(petsc):
    path = os.path.join(petsc.work, "view.txt")
    for ranks in (1, 2):
        if os.path.exists(path):
            os.remove(path)
        petsc.plugin(f"-pc_type syncfree_ilu -pc_syncfree_view :{path}", ranks=ranks).ok().lacks("Syncfree ILU")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count("Syncfree ILU: ") != 1 or "syncfree strategy: serial (one thread)" not in text:
            raise Failure(f"the file holds {text!r}")


@test
def newton_steps_view_one_analysis(petsc):
    program = os.path.join(petsc.work, "bratu")
    petsc.compile_c(os.path.join(HERE, "../../examples/ksp/tutorials/bratu.c"), program)
    for ranks in (1, 2):
        for pc, heading in HEADINGS.items():
            options = f"-dll_append {petsc.library} -pc_type {pc} -pc_syncfree_view -snes_monitor"
            result = petsc.start(options, ranks=ranks, program=program).ok().has("  4 SNES Function norm")
            counted(result, heading, 1)


def main():
    args = processes.arguments()
    petsc = processes.Petsc(args.petsc_dir, args.petsc_arch, args.library, os.path.abspath(args.work))
    petsc.compile_c(os.path.join(HERE, "program.c"), petsc.program)
    return processes.run_all(TESTS, args.only, petsc)


if __name__ == "__main__":
    sys.exit(main())
