"""The tables of RESULTS.md, one function a question; results.py calls sections()."""

import pathlib
import re
import subprocess
import sys

import rows
from results import RUNS, aged, card, counts, fill, identifier, lines_of, number, path_of, section, table, times
from result_tables_cpu import sections as sections_on_cpu
from result_tables_hpcg_like import sections as sections_like_hpcg

OURS, VENDOR, PETSC = "auto", "cusparse", rows.PETSC
GRIDS_IN_PENCILS = ("5pt", "7pt", "9pt")
PENCILS_SINCE = ("columns", "lines")  # runs whose files call wavefront courier and have no words for plans
PAPERS = {"Liu": "Liu et al. 2016", "Lu": "Lu et al. 2020", "Su": "Su et al. 2020", "Somo": "Somo and Cheshmi 2025"}


def cases_of(name):
    return rows.read([path_of(name)], lambda fields: counts(name, fields))


def root(n, power):
    whole = round(n ** (1 / power))
    return whole if whole ** power == n else None


def label(case):
    """`7pt` 128^3"""
    if case.matrix in ("7pt", "27pt") and (edge := root(case.n, 3)):
        return f"`{case.matrix}` {edge}^3"
    if case.matrix in ("5pt", "9pt") and (edge := root(case.n, 2)):
        return f"`{case.matrix}` {edge}^2"
    if case.matrix == "elasticity" and (edge := root(case.n // 3, 3)):
        return f"`elasticity` {edge}^3 x 3"
    return f"`{case.matrix}` {case.n:,}"


def taken(case, run=""):
    """The strategy that `auto` took."""
    ran = case.rows[OURS].fields["ran"].split()[0]
    if run in PENCILS_SINCE and aged(run, "2026-11-27", ran) == "tiled" and case.matrix in GRIDS_IN_PENCILS:
        return "wavefront"
    return ran


def ms(case, name, event):
    seconds = case.seconds(name, event)
    return number(seconds and 1e3 * seconds)


def speed(case, event, over=PETSC, name=OURS):
    return case.speedup(name, over, event)


def mean(values):
    return times(rows.geometric_mean(values))


def both(case, event):
    """PETSc's time and ours, in one cell."""
    return f"{ms(case, PETSC, event)}, {ms(case, OURS, event)}"


def apply_on_gpu():
    found = sorted(cases_of("default"), key=lambda case: -speed(case, "apply", VENDOR))
    lines = [[label(c), number(c.n), number(c.levels["lower"]), number(1e3 * c.spmv), ms(c, PETSC, "apply"),
              ms(c, VENDOR, "apply"), f"{ms(c, OURS, 'apply')} `{taken(c)}`", times(speed(c, "apply", VENDOR))]
             for c in found]
    lines.append(["mean", "", "", "", "", "", "", mean([speed(c, "apply", VENDOR) for c in found])])
    head = ["matrix", "rows", "levels", "MatMult (ms)", "PETSc (ms)", "vendor (ms)", "`syncfree_ilu` (ms)",
            "times the vendor's speed"]
    return section(
        "How fast is an apply of ILU(0) on a GPU?", ["default"], "{gpu}, with default options",
        table(head, lines),
        "other orderings than the natural one; grids with 9 points, for which see further grids below; what a whole "
        "solve gains, which depends on iterations and MatMult, too.")


def set_up_on_gpu():
    found = cases_of("default")
    lines = [[label(c), *(ms(c, name, "setup") for name in (PETSC, VENDOR, OURS)), times(speed(c, "setup")),
              *(ms(c, name, "refresh") for name in (PETSC, OURS)), times(speed(c, "refresh"))] for c in found]
    ratios = [mean([speed(c, event) for c in found]) for event in ("setup", "refresh")]
    lines.append(["mean", "", "", "", ratios[0], "", "", ratios[1]])
    head = ["matrix", "set-up: PETSc (ms)", "vendor's solver in our PC (ms)", "`syncfree_ilu` (ms)",
            "times PETSc's speed", "refresh: PETSc (ms)", "`syncfree_ilu` (ms)", "times PETSc's speed"]
    return section(
        "What do set-up and refresh of ILU(0) cost on a GPU?", ["default"],
        "{gpu}, with default options and 16 CPU threads",
        table(head, lines),
        "the first set-up of a process, which loads kernels; set-ups with fewer CPU threads.",
        "The host's part varies by a third between machines of this kind. The third column is `-pc_syncfree_strategy "
        "cusparse`: our factorization and the vendor's analysis.")


def more_grids():
    seen = {(c.matrix, c.n) for c in cases_of("default")}
    lines = []
    for run in ("planes", "lines"):
        for c in cases_of(run):
            if (c.matrix, c.n) in seen or (c.matrix, c.n) == ("5pt", 2149156):
                continue
            lines.append([label(c), number(c.levels["lower"]), number(1e3 * c.spmv), ms(c, VENDOR, "apply"),
                          f"{ms(c, OURS, 'apply')} `{taken(c, run)}`", times(speed(c, "apply", VENDOR)),
                          both(c, "setup"), both(c, "refresh")])
    head = ["matrix", "levels", "MatMult (ms)", "vendor's apply (ms)", "our apply (ms)", "times the vendor's speed",
            "set-up: PETSc, ours (ms)", "refresh: PETSc, ours (ms)"]
    return section(
        "How fast is ILU(0) on further grids?", ["planes", "lines"], "{gpu}, with default options",
        table(head, lines),
        "the same grids on an H200." if card("planes", "lines") == "H100" else "",
        "These are grids that the run of the first two tables does not have.")


GROUPS = (("all", lambda c: True), ("10,000 rows or more", lambda c: c.n >= 10000),
          ("fewer than 10,000 rows", lambda c: c.n < 10000))


def spread(values):
    """Mean and worst."""
    return f"{mean(values)}, {times(min(values))}"


def with_fifty(case):
    """How many times as fast a set-up and 50 applies are together as PETSc's."""
    total = [case.seconds(name, "setup") + 50 * case.seconds(name, "apply") for name in (PETSC, OURS)]
    return total[0] / total[1]


def real_matrices_together():
    found = cases_of("files")
    lines = []
    for name, belongs in GROUPS:
        some = [c for c in found if belongs(c)]
        if not some:
            continue
        slower = [sum(speed(c, event) < 1 for c in some) for event in ("setup", "refresh")]
        lines.append([name, len(some), spread([speed(c, "apply", VENDOR) for c in some]),
                      spread([speed(c, "apply") for c in some]), spread([speed(c, "setup") for c in some]),
                      spread([speed(c, "refresh") for c in some]), f"{slower[0]}, {slower[1]}",
                      spread([with_fifty(c) for c in some])])
    head = ["matrices", "number", "apply, times the vendor's speed: mean, worst", "apply, times PETSc's",
            "set-up, times PETSc's", "refresh, times PETSc's", "slower set-ups, refreshes",
            "set-up and 50 applies, times PETSc's"]
    return section(
        "How fast is ILU(0) on real matrices?", ["files"],
        "{gpu}, with default options: matrices of collections whose ILU(0) exists in natural order",
        table(head, lines),
        "matrices of more than 173,000 rows.",
        "The columns of slower set-ups and refreshes say when PETSc's ILU is the better choice: small systems with few "
        "applies.")


def real_matrices():
    found = sorted(cases_of("files"), key=lambda case: -case.n)
    lines = [[c.matrix, number(c.n), number(c.levels["lower"]), ms(c, VENDOR, "apply"),
              f"{ms(c, OURS, 'apply')} `{taken(c)}`", times(speed(c, "apply", VENDOR)), both(c, "setup"),
              both(c, "refresh")] for c in found]
    head = ["matrix", "rows", "levels", "vendor's apply (ms)", "our apply (ms)", "times the vendor's speed",
            "set-up: PETSc, ours (ms)", "refresh: PETSc, ours (ms)"]
    return section(
        "How fast is ILU(0) on each of these matrices?", ["files"],
        "{gpu}, the matrices of the table above", table(head, lines),
        "times of PETSc's apply. It uses SpSV's default algorithm: in the mean it takes "
        f"{times(rows.geometric_mean([c.speedup(VENDOR, PETSC, 'apply') for c in cases_of('files')]))} times as long "
        "as the vendor's column, which is the faster algorithm.")


def untuned():
    found = sorted(cases_of("untuned"), key=lambda case: -speed(case, "apply", VENDOR))
    lines = [[label(c), number(c.levels["lower"]), ms(c, PETSC, "apply"), ms(c, VENDOR, "apply"),
              f"{ms(c, OURS, 'apply')} `{taken(c)}`", times(speed(c, "apply", VENDOR)), both(c, "setup"),
              both(c, "refresh")] for c in found]
    lines.append(["mean", "", "", "", "", mean([speed(c, "apply", VENDOR) for c in found]),
                  mean([speed(c, "setup") for c in found]) + " times",
                  mean([speed(c, "refresh") for c in found]) + " times"])
    head = ["matrix", "levels", "PETSc's apply (ms)", "vendor's apply (ms)", "our apply (ms)",
            "times the vendor's speed", "set-up: PETSc, ours (ms)", "refresh: PETSc, ours (ms)"]
    return section(
        "On which matrices is least gained?", ["untuned"],
        "{gpu}, with default options: generated matrices of sizes that nothing was tuned for",
        table(head, lines),
        aged("untuned", "2026-11-26",
             "`7pt`, `5pt` and `9pt` as they are solved today, which is faster (first and third table)."))


def strategies_side_by_side():
    groups = (("files", "real, default of 50 applies", 0), ("files", "of these 10,000 rows or more", 10000),
              ("files1000", "real, told of 1000 applies", 0), ("files1000", "of these 10,000 rows or more", 10000),
              ("odd", "generated, 300 to 64,000 rows", 0))
    lines = []
    for run, words, least in groups:
        some = [c for c in cases_of(run) if c.n >= least]
        if not some:
            continue
        found = {name: [speed(c, "apply", VENDOR, name) for c in some if name in c.rows]
                 for name in (OURS, "merged", "level_order")}
        tiles = [speed(c, "apply", VENDOR, name) for c in some for name in ("tiled", "wavefront") if name in c.rows]
        best = [max(speed(c, "apply", VENDOR, name) for name in c.rows if name not in (VENDOR, PETSC)) for c in some]
        lines.append([words, len(some), *(spread(values) for values in found.values()),
                      f"{spread(tiles)}", mean(best), identifier(run)])
    head = ["matrices", "number", "`auto`: mean, worst", "`merged`", "`level_order`", "`tiled` or `wavefront`",
            "best of all", "run"]
    return section(
        "How good is the choice of `auto`?", ["files", "files1000", "odd"],
        "{gpu}; an apply, times the vendor's speed", table(head, lines),
        "the set-ups that the strategies cost, which `auto` weighs against the applies that it is told to expect "
        "(`-pc_syncfree_expected_applies`); `-pc_syncfree_select trials`.")


def strategies_on_grids():
    found = [c for c in cases_of("chains") if c.matrix == "elasticity" or c.matrix == "27pt" and c.n <= 1000000]
    lines = [[label(c), number(c.levels["lower"]), ms(c, VENDOR, "apply"), ms(c, "level_order", "apply"),
              ms(c, "tiled", "apply"), times(c.speedup("tiled", VENDOR, "apply")), times(
                  c.speedup("level_order", VENDOR, "apply"))] for c in found]
    head = ["matrix", "levels", "vendor (ms)", "`level_order` (ms)", "`tiled` (ms)",
            "`tiled`, times the vendor's speed",
            "`level_order`, times the vendor's speed"]
    return section(
        "What do tiles gain over level order?", ["chains"], "{gpu}, an apply", table(head, lines),
        aged("chains", "2026-11-26",
             "larger `27pt` grids, which are solved in another way since: see the further grids."))


def memory_on_gpu():
    lines = []
    for c in sorted(cases_of("default"), key=lambda c: -memory(c)):
        f = c.rows[OURS].fields
        lines.append([label(c), number(int(f["petsc_bytes"]) / 1e6), number(float(f["memory_bytes"]) / 1e6),
                      times(memory(c)), number(float(f["peak_bytes"]) / 1e6), f"`{taken(c)}`"])
    for name, belongs in GROUPS[1:]:
        ratios = sorted(memory(c) for c in cases_of("files") if belongs(c))
        if not ratios:
            continue
        lines.append([f"real matrices, {name}: least, median, most", "", "",
                      ", ".join(times(ratios[k]) for k in (0, len(ratios) // 2, -1)), "", ""])
    head = ["matrix", "PETSc's factor (MB)", "factor and plan of `syncfree_ilu` (MB)", "times PETSc's",
            "most at once (MB)", "strategy"]
    return section(
        "How much memory does ILU(0) take on a GPU?", ["default", "files"], "{gpu}, with default options",
        table(head, lines),
        "the matrix, vectors and transposes, and what the vendor's library takes for PETSc's solves.",
        "PETSc's column is its factor on the host, counted by a formula: values, columns, offsets, diagonal, work "
        "vector. `-pc_syncfree_expected_applies 0` takes `level_order`, which needs less than `merged`."
        + aged("default", "2026-11-27", " These runs had no limit; by default `merged` now stays near 6 times PETSc's "
                                        "factor or 64 MB (`-pc_syncfree_memory_limit`)."))


def memory(case):
    fields = case.rows[OURS].fields
    return float(fields["memory_bytes"]) / float(fields["petsc_bytes"])


def fill_on_gpu():
    found = cases_of("fill")
    lines = []
    for k in sorted({c.fill for c in found}):
        some = [c for c in found if c.fill == k]
        lines.append([f"ILU({k})", len(some), spread([speed(c, "apply", VENDOR) for c in some]),
                      spread([speed(c, "setup") for c in some]), spread([speed(c, "refresh") for c in some]),
                      times(sorted(memory(c) for c in some)[len(some) // 2])])
    some = cases_of("icc")
    lines.append(["ICC(0)", len(some), spread([speed(c, "apply", VENDOR) for c in some]),
                  spread([speed(c, "setup") for c in some]), spread([speed(c, "refresh") for c in some]),
                  times(sorted(memory(c) for c in some)[len(some) // 2])])
    head = ["factorization", "matrices", "apply, times the vendor's speed: mean, worst", "set-up, times PETSc's",
            "refresh, times PETSc's", "memory, times PETSc's, median"]
    return section(
        "How fast are ILU(k) and ICC(0) on a GPU?", ["fill", "icc"],
        "{gpu}, with default options; times as fast",
        table(head, lines),
        "levels of fill of `powerlaw` and memplus, whose symbolic factorization by PETSc did not end in time; ICC of "
        "matrices that need shifts, which PETSc's ICC on a GPU ignores.")


def blocks_on_gpu():
    lines = []
    for matrix, size in dict.fromkeys((f["matrix"], f["block_size"]) for f in lines_of("blocks")):
        case, = rows.read([path_of("blocks")], lambda f, key=(matrix, size): (f["matrix"], f["block_size"]) == key)
        f = case.rows[OURS].fields
        lines.append([f"`{matrix}` {case.n:,}", size, f"`{taken(case)}`", both(case, "setup"), both(case, "refresh"),
                      both(case, "apply"),
                      ", ".join(number(case.seconds(name, "apply") / case.spmv) for name in (PETSC, OURS)),
                      ", ".join(number(float(f[name]) / 1e9) for name in ("petsc_bytes", "memory_bytes"))])
    head = ["matrix, rows", "block size", "strategy", "set-up: PETSc, ours (ms)", "refresh (ms)", "apply (ms)",
            "apply, in MatMults", "memory (GB)"]
    return section(
        "What do dense blocks gain on a GPU?", ["blocks"],
        "{gpu}, one CPU thread: ILU(0) by entries (block size 1) and by dense blocks "
        "(`-pc_syncfree_block_size`); in each cell PETSc's `ilu`, then `syncfree_ilu`",
        table(head, lines),
        "other block sizes; matrices whose blocks lack entries, for which zeros are stored.",
        "PETSc's `ilu` factors by entries in all lines; each line is a call of its own, so its times differ. Its "
        "memory is its factor on the host. All blocks of these matrices are full, so both factorizations have the same "
        "result, apart from rounding.")


SOLVES = ["solves_h100", "solves_200", "solves", "gamg"]  # the newest first; once measured together, `solves` alone


def whole_solves():
    newest, names = {}, [name for name in SOLVES if name in RUNS]
    apart = len(names) > 1
    for run in names:
        for f in lines_of(run):
            newest.setdefault((f["problem"], f["n"], f["pc"]), (run, f))
    problems = {"poisson": "Poisson, CG", "convection": "upwind convection, GMRES(30)"}
    order = ("ilu", "jacobi", "gamg", "syncfree_ilu")
    lines = []
    for (problem, n, pc), (run, f) in sorted(newest.items(),
                                             key=lambda item: (item[0][0] != "poisson", int(item[0][1]),
                                                               order.index(item[0][2]))):
        good = f["reason"].startswith("CONVERGED")
        lines.append([f"{problems[problem]}, {root(int(n), 3)}^3", f"`{pc}`",
                      f["iterations"] if good else f"not in {f['iterations']}", number(float(f["setup_ms"])),
                      number(float(f["refresh_ms"])), number(float(f["solve_ms"])) if good else "-",
                      number(float(f["apply_ms"])), f"{card(run)}, {identifier(run)}"])
    head = ["problem", "`-pc_type`", "iterations to 1e-8", "set-up (ms)", "refresh (ms)", "KSPSolve (ms)",
            "PCApply (ms)", "card, run"]
    return section(
        "How long does a whole linear solve take on a GPU?", names,
        "{gpu}" + ("; of each preconditioner the newest run, so on 129^3 ours and `jacobi` ran on the slower card"
                   if apart else ", all in one run"),
        table(head, lines), "all four with one library on one card; other problems." if apart else "other problems.",
        "Where `gamg` converges, as it does for Poisson, it needs the shortest KSPSolve, and a set-up that pays only "
        "over many solves with one matrix. During that set-up the C library fills new memory with bytes that are no "
        "NaN; [why](../../plugin/MANUAL.md#faq).")


ORDERS = {"natural": "as stored", "syncfree_multicolor": "`syncfree_multicolor`",
          "syncfree_cyclic:16": "`syncfree_cyclic`, 16", "syncfree_abmc:16": "`syncfree_abmc`, 16",
          "syncfree_auto": "`auto`"}


def orders_on_gpu():
    solved = {}
    for f in lines_of("orders"):
        if f["whole_ms"]:
            solved.setdefault((f["matrix"], f["kind"], int(f["n"])), {})[f["ordering"] or f["pc"]] = f

    def cell(f):
        return f and f"{f['iterations']}; {times(float(f['apply_matmults']))}; {number(float(f['whole_ms']))}"

    lines = [[f"`{matrix}` {n:,}, `{kind}`", by["natural"]["levels"], cell(by["jacobi"]),
              *(cell(by.get(order)) or "-" for order in ORDERS)]
             for (matrix, kind, n), by in solved.items() if "natural" in by]
    return section(
        "What does another order of the rows gain on a GPU?", ["orders"],
        "{gpu}, each cell: iterations to 1e-8; time of an application in products with the matrix as stored; "
        "milliseconds of the first set-up, which includes making the order, and the solve. GMRES(30) with `ilu`, CG "
        "with `icc`",
        table(["matrix, PC", "levels as stored", "`jacobi`", *ORDERS.values()], lines),
        "PETSc's own `ilu` and orders; GAMG.",
        "The grids `7pt` as stored go by `wavefront`: colors make an application faster there, but cost more in all.")


def programs():
    lines = [[f"`{f['program']}` {f['grid']}^3" + (" x 2" if f["program"] == "reaction" else ""), f"`{f['pc']}`",
              f["steps"], f["iterations"], number(float(f["whole"])), number(float(f["assembly"])),
              number(float(f["set-up"])), number(float(f["KSPSolve"]))] for f in lines_of("examples")]
    head = ["program", "`-pc_type`", "Newton steps", "iterations", "whole (s)", "residuals, Jacobians (s)",
            "set-up (s)",
            "KSPSolve (s)"]
    return section(
        "How long do whole programs take on a GPU?", ["examples"],
        "{gpu}: `examples/ksp/tutorials`, SNESSolve or a hundred TSStep; residuals and Jacobians are made on "
        "the host",
        table(head, lines),
        aged("examples", "2026-11-26", "`wavefront`, by which such grids are solved today; ") + "the spread of runs.")


def sor_on_gpu():
    words = {"syncfree_sor": "`syncfree_sor`", "gamg": "`gamg`, smoother Chebyshev and Jacobi (default)",
             "gamg/syncfree_sor": "`gamg`, Chebyshev and `syncfree_sor`", "gamg/sor": "`gamg`, Chebyshev and `sor`"}
    lines = []
    for f in lines_of("sor"):
        name = words.get(f["pc"], f"`{f['pc']}`") + (", two sweeps" if f["note"] else "")
        of_ours = f["pc"] == "syncfree_sor"
        lines.append([name, f["iterations"], "-" if of_ours else number(float(f["setup_ms"])),
                      "-" if of_ours else number(float(f["refresh_ms"])), number(float(f["solve_ms"])),
                      number(float(f["matmult_ms"])), number(float(f["apply_ms"]))])
    head = ["preconditioner", "iterations to 1e-8", "set-up (ms)", "refresh (ms)", "KSPSolve (ms)", "MatMult (ms)",
            "PCApply (ms)"]
    return section(
        "How fast is SOR on a GPU?", ["sor"], "{gpu}: Poisson with 7 points, 129^3, CG, symmetric sweeps",
        table(head, lines),
        "the analysis of `syncfree_sor`, which is made in its first application and not timed"
        + aged("sor", "2026-11-26", "; sweeps by `wavefront`, which came later") + ".",
        "PETSc's `sor` copies the vectors to the host and back.")


def columns_on_gpu():
    found, order = {}, {"auto": 0, "level_order": 1, "cusparse": 2, "": 3}
    for f in lines_of("columns"):
        found.setdefault((f["matrix"], int(f["n"])), {}).setdefault(f["strategy"], {})[int(f["columns"])] = f
    lines = []
    for (matrix, n), contenders in found.items():
        case = next(c for c in column_cases() if (c.matrix, c.n) == (matrix, n))
        for strategy, by_count in sorted(contenders.items(), key=lambda item: order[item[0]]):
            one = float(by_count[8]["apply_ms"])
            many = [float(by_count[k]["columns_ms"]) for k in (8, 32)]
            vendor = [float(contenders["cusparse"][k]["columns_ms"]) for k in (8, 32)]
            name = {"": "PETSc", "cusparse": "vendor (SpSM)", "auto": f"`auto`: `{taken(case, 'columns')}`"}
            lines.append([label(case), name.get(strategy, f"`{strategy}`"), number(one), *map(number, many),
                          f"{times(many[0] / one)}, {times(many[1] / one)}",
                          f"{times(vendor[0] / many[0])}, {times(vendor[1] / many[1])}"])
    head = ["matrix", "solver", "1 column (ms)", "8 columns (ms)", "32 columns (ms)",
            "8 and 32, times one column's time",
            "8 and 32, times the vendor's speed"]
    return section(
        "How fast are several right-hand sides on a GPU?", ["columns"],
        "{gpu}: `PCMatApply`, L and U; PETSc solves for one column after the other", table(head, lines),
        "other numbers of columns; whole block Krylov methods.")


def column_cases():
    """Cases of the file of several columns, whose lines have no times of set-ups."""
    blank = {name: "" for name in ("lower_nnz", "lower_levels", "upper_levels")}
    for f in lines_of("columns"):
        if f["strategy"] == OURS:
            case = rows.Case({**blank, **f, "spmv_ms": "0"})
            case.rows[OURS] = rows.Row(rows.with_new_names(f))
            yield case


WORDS = {"1": "one", "2": "two", "4": "four", "8": "eight"}


def several_ranks():
    lines = [[f["gpus"], f["ranks"], f"`{f['pc']}`", f["iterations"], f["setup_ms"], f["refresh_ms"], f["apply_ms"]]
             for f in lines_of("ranks")]
    words = [WORDS[count] for count in dict.fromkeys(f["gpus"] for f in lines_of("ranks"))]
    many = f"{' and '.join(filter(None, (', '.join(words[:-1]), words[-1])))} {card('ranks')}"
    head = ["GPUs", "ranks", "block solver", "iterations", "set-up (ms)", "refresh (ms)", "apply (ms)"]
    return section(
        "How fast is block Jacobi with several ranks and GPUs?", ["ranks"],
        f"On GPUs ({many} of one host): the example `poisson` on 129^3, CG, block Jacobi with one "
        "block a rank; ranks that share a card take turns on it", table(head, lines),
        "several hosts; GPU-aware MPI" + aged("ranks", "2026-11-26", "; today's set-ups and applies") + ".",
        aged("ranks", "2026-11-26", "This library still planned on the host and solved by `level_order`, so the table "
                                    "understates ours: compare `7pt` 129^3 in the first two tables."))


def single_precision():
    halves = [{(c.matrix, c.n): c for c in cases_of(run)} for run in ("double", "single")]
    lines = []
    for key, double in halves[0].items():
        single = halves[1][key]
        pair = [(1e3 * double.seconds(n, "apply"), 1e3 * single.seconds(n, "apply")) for n in ("level_order", VENDOR)]
        memories = [float(c.rows["level_order"].fields["memory_bytes"]) / 1e6 for c in (double, single)]
        lines.append([label(double), *map(number, pair[0]), times(pair[0][0] / pair[0][1]), *map(number, pair[1]),
                      times(pair[1][0] / pair[1][1]), times(memories[1] / memories[0])])
    head = ["matrix", "`level_order`: double (ms)", "single (ms)", "times as fast", "vendor: double (ms)",
            "single (ms)",
            "times as fast", "`level_order`: memory, times that of double"]
    return section(
        "What does a factor in single precision gain on a GPU?", ["double", "single"],
        "{gpu}: an apply with the factor stored in single precision (`-pc_syncfree_factor_precision "
        "single`), vectors in double", table(head, lines),
        "`wavefront`, `tiled` and `merged`; a PETSc in single precision; iterations, which may become more.")


def loops_on_gpu():
    lines = [[label(c), ms(c, "loop", "apply"), ms(c, "csr_writing_first", "apply"), ms(c, VENDOR, "apply"),
              times(c.speedup("loop", "csr_writing_first", "apply")), times(c.speedup("loop", VENDOR, "apply"))]
             for c in cases_of("loop")]
    head = ["matrix", "`loop` (ms)", "`csr_writing_first`, by hand (ms)", "vendor (ms)", "times the kernel by hand",
            "times the vendor's speed"]
    return section(
        "How fast are kernels made from sequential loops?", ["loop"],
        "{gpu}: an apply of ILU(0) by `syncfree::cuda::DeviceLoop`, and by a kernel written by hand with "
        "the same algorithm", table(head, lines),
        "loops on CPU threads; other loops than triangular solves.")


def kernels_of_blocks():
    seen = {}
    text = path_of("sweep").read_text(encoding="utf-8").splitlines()[2:]
    for part, _, size, x, y, kernel, micro in (line.split(",") for line in text):
        if part in ("triangle", "rectangle"):
            seen.setdefault((part, size, x, y), {})[kernel] = float(micro)
    lines = []
    for part in ("triangle", "rectangle"):
        shapes = [v for key, v in seen.items() if key[0] == part]
        for kernel in dict.fromkeys(name for v in shapes for name in v):
            slow = [v[kernel] / min(v.values()) for v in shapes if kernel in v]
            lines.append([part, f"`{kernel}`", len(slow), sum(s == 1 for s in slow), times(rows.geometric_mean(slow)),
                          times(max(slow))])
    head = ["block", "kernel", "shapes", "fastest on", "mean time, times the fastest's", "worst"]
    return section(
        "Which kernel suits which block of the block algorithms?", ["sweep"],
        "{gpu}: triangles by entries a row and levels, rectangles by entries a row and empty rows",
        table(head, lines)
        + "\n\nHeat maps: [triangles](results/sweep_triangle.png), [rectangles](results/sweep_rectangle.png).",
        "whole solves: these kernels serve `column_block`, `row_block` and `recursive_block` only, "
        "which `auto` never takes.")


def algorithms_of_papers():
    found = cases_of("papers")
    names = [n for n in rows.strategies(found) if n not in (VENDOR, PETSC)]
    lines = []
    for name in sorted(names, key=lambda n: -rows.geometric_mean([speed(c, "lower", VENDOR, n) for c in found])):
        values = [v for c in found if (v := speed(c, "lower", VENDOR, name))]
        lines.append([f"`{name}`", len(values), mean(values), times(min(values)), times(max(values)),
                      sum(v > 1 for v in values)])
    head = ["strategy", "matrices", "times the vendor's speed: mean", "worst", "best", "ahead of the vendor on"]
    return section(
        "How fast are the published algorithms on today's GPU?", ["papers"],
        "{gpu}: a solve with L of ILU(0) of real matrices and stand-ins for those of the papers",
        table(head, lines),
        aged("papers", "2026-11-26", "`wavefront`, `tiled` and `merged`, which are of this project and later; today's "
                                     "`level_order`, which is faster on irregular rows."))


def command_of_papers():
    """papers.py with the files, and their names in the list of runs."""
    here = pathlib.Path(__file__).resolve().parent
    runs = {"--solves": ["papers"], "--parts": ["parts_4", "parts_16", "parts_64", "parts_256"],
            "--precision": ["double", "single"], "--waves": ["waves"], "--sequential": ["sequential"]}
    command = [sys.executable, str(here / "papers.py")]
    for option, names in runs.items():
        command += [option, *(str(path_of(name)) for name in names)]
    return command, [name for names in runs.values() for name in names]


def verdicts():
    command, names = command_of_papers()
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines, where = [], ""
    for line in text.splitlines():
        if line.startswith("== "):
            where = line[3:]
        if line.startswith("-> "):
            claim, _, opinion = line[3:].rpartition(": ")
            paper, _, rest = where.partition(" ")
            place = re.match(r"\d+, ([^:;]+)", rest)[1]
            if not claim:
                claim, _, opinion = opinion.partition(" in ")
            found = re.match(r"(.*?): (.*) there, (.*)$", claim) or re.match(r"(.*?)()()$", claim)
            lines.append([f"{PAPERS[paper]}, {place}", found[1], found[2], found[3].replace(" here", ""), opinion])
    head = ["paper", "claim", "paper (times as fast)", "here (times as fast)", "verdict"]
    older = ", [somo.txt](results/papers/somo.txt)" if path_of("papers").with_name("somo.txt").exists() else ""
    links = f"The full tables: [papers.txt](results/papers/papers.txt){older}. Figures:"
    for figure in ("liu_figure4", "lu_figure4", "lu_figure5", "lu_figure6", "lu_figure7", "su_curve", "su_preference",
                 "somo_figure1"):
        links += f" [{figure}](results/papers/{figure}.png),"
    return section(
        "Do the papers' verdicts hold here?", names,
        "{gpu}, `serial` and the sequential loop on its host",
        table(head, lines) + "\n\n" + fill(links.rstrip(",") + "."),
        "the papers' own matrices and code, and CuPy, which the fourth paper compares with.",
        "\"The hardware\" is a guess: code and matrices differ, too.")


def sections():
    on_gpu = (apply_on_gpu, set_up_on_gpu, more_grids, real_matrices_together, real_matrices, untuned,
              strategies_side_by_side, strategies_on_grids, memory_on_gpu, fill_on_gpu, blocks_on_gpu, whole_solves,
              orders_on_gpu, programs, sor_on_gpu, columns_on_gpu, several_ranks, single_precision)
    of_papers = (loops_on_gpu, algorithms_of_papers, verdicts, kernels_of_blocks)
    return [f() for f in on_gpu] + sections_like_hpcg() + sections_on_cpu() + [f() for f in of_papers]
