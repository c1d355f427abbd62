"""HPCG-like solves on tiny grids, for smoke.py: are they valid, counted as HPCG counts, and else refused?"""

import csv
import importlib
import pathlib
import sys

from checks import expect

EDGE = 16
HERE = str(pathlib.Path(__file__).resolve().parent)


def rows_of(bench, *options):
    path = bench.work / "hpcg_like.csv"
    text = bench.run("-bench_hpcg_like", EDGE, "-bench_threads", "2", "-bench_csv", path, *options).stdout
    with open(path, encoding="utf-8", newline="") as file:
        return text, list(csv.DictReader(file))


def flops(edge):
    """HPCG 3.1's count for one solve of 50 iterations, from the edges alone."""
    entries = [(3 * n - 2) ** 3 for n in (edge, edge // 2, edge // 4, edge // 8)]
    a_cycle = sum((4 + 2 + 4) * nnz for nnz in entries[:-1]) + 4 * entries[-1]
    return 50 * a_cycle + 51 * 2 * entries[0] + 2 * 151 * 2 * edge**3


def hpcg_like_solves(bench):
    text, plain = rows_of(bench)
    expect(len(plain) == 1 and plain[0]["valid"] == "yes" and "  VALID: " in text, text)
    expect("HPCG-like, not HPCG: 16^3" in text, text)
    row = plain[0]
    expect(float(row["flops"]) == flops(EDGE), f"{row['flops']} flops, not {flops(EDGE)}")
    expect(int(row["nnz"]) == (3 * EDGE - 2) ** 3 and row["iterations"] == "50", f"{row}")
    rate = float(row["flops"]) / float(row["solve_ms"]) / 1e6
    expect(abs(float(row["gflops"]) / rate - 1) < 1e-4, f"a rating of {row['gflops']}, not {rate}")
    expect(all(float(row[f"{part}_ms"]) > 0 for part in ("product", "sweep_from_zero", "sweep_from_guess",
                                                         "restriction", "prolongation", "dots", "updates")), f"{row}")
    expect(float(row["residual_50"]) < 1e-12 * float(row["residual_0"]) and float(row["error"]) < 1e-12, f"{row}")
    others = [rows_of(bench, "-bench_hpcg_like_full_residual")[1][0], rows_of(bench, "-bench_hpcg_like_product",
                                                                               "sell")[1][0]]
    expect([(r["product"], r["residual_rows"]) for r in [row, *others]] ==
           [("aij", "coarse"), ("aij", "all"), ("sell", "coarse")], f"{others}")
    for other in others:
        expect(other["valid"] == "yes" and abs(float(other["residual_10"]) / float(row["residual_10"]) - 1) < 1e-6,
               f"{other} is not {row}")
    makes_a_section(bench)


def other_sweeps_are_no_hpcg_like_solve(bench):
    said = bench.run("-bench_hpcg_like", EDGE, "-bench_pc_sor_omega", "1.1", status=1).stdout
    expect("NOT VALID, residuals differ from the reference's: " in said, said)
    said = bench.run("-bench_hpcg_like", EDGE, "-bench_pc_sor_forward", status=1).stdout
    expect("the cycle is not symmetric" in said, said)
    for options, words in ((("20",), "20 is not a multiple of 8, at least 16"),
                           (("16", "-bench_hpcg_like_product", "ell"), "'ell' is not aij or sell")):
        said = bench.run("-bench_hpcg_like", *options, status=1).stderr
        expect(words in said, said)


def makes_a_section(bench):
    """RESULTS.md has the table once its list of runs names a file."""
    sys.path.insert(0, HERE)
    results, tables = (importlib.import_module(name) for name in ("results", "result_tables_hpcg_like"))
    results.use(results.FOLDER)
    before = dict(results.RUNS)
    try:
        results.RUNS.pop(tables.RUN, None)
        expect(tables.sections() == [], "a section without a file")
        results.RUNS[tables.RUN] = (str(bench.work / "hpcg_like.csv"), "2026-11-28", "", "")
        text = "\n".join(tables.sections())
    finally:
        results.RUNS.clear()
        results.RUNS.update(before)
    expect("## How fast is an HPCG-like solve on a GPU?" in text and "| 16^3, products with `sell` |" in text, text)
