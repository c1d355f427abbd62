#!/usr/bin/env python3
"""Prints what syncfree_bench wrote as rates, and as times the vendor's and PETSc's own.

    python3 tests/bench/rates.py [--vendor STRATEGY] FILE.csv...

L, U, the pair of both (PCApply), and "CG": a pair in turn with products with the matrix, less a product, so that the
matrix has pushed the factor out of the cache where it does in CG. GFLOP/s and GB/s are of the pair; rows.py says what
is counted. "x SpSV" and "x PETSc" are times as fast as the strategy of --vendor and as PETSc's own, both for the
pair. Geometric means are over the matrices that both have. Behind each line of the vendor's solver stand the version of
its library and its algorithms for L and U.
"""

import argparse
import sys

import rows

LINE = "{:22} {:>9} {:>10} {:18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7} {:>7}"
HEAD = ("matrix", "n", "nnz", "strategy", "L us", "U us", "pair us", "CG us", "SpMV us", "GFLOP/s", "GB/s", "x SpSV",
        "x PETSc")


def print_case(case, vendor):
    for name, row in case.rows.items():
        micro = [row.seconds(event) for event in ("lower", "upper", "apply", "cg")]
        if micro[3]:
            micro[3] = max(0, micro[3] - case.spmv)
        times = [rows.show(t and 1e6 * t, ".4g") for t in [*micro, case.spmv]]
        rates = [rows.show(case.gflops(name, "apply")), rows.show(case.gbytes(name, "apply"), ".4g")]
        ratios = [rows.show(case.speedup(name, other, "apply"), ".2f") for other in (vendor, rows.PETSC)]
        line = LINE.format(case.matrix[:22], case.n, case.nnz, name, *times, *rates, *ratios)
        print(f"{line}  {row.vendor()}".rstrip())


def print_means(cases, vendor):
    print("\ngeometric means, times as fast; number of matrices")
    print(f"{'strategy':18} {'part':6} {'x SpSV':>8} {'':5} {'x PETSc':>8}")
    for name in rows.strategies(cases):
        for part in rows.PARTS:
            found = [[c.speedup(name, other, part) for c in cases] for other in (vendor, rows.PETSC)]
            texts = [(rows.show(rows.geometric_mean(f), ".2f"), sum(v is not None for v in f)) for f in found]
            if any(count for _, count in texts):
                print(f"{name:18} {part:6} {texts[0][0]:>8} {texts[0][1]:5} {texts[1][0]:>8} {texts[1][1]:5}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.csv")
    parser.add_argument("--vendor", default="cusparse")
    options = parser.parse_args()
    cases = rows.read(options.files)
    print(rows.origin(options.files))
    for kind in dict.fromkeys((case.kind, case.fill) for case in cases):
        some = [case for case in cases if (case.kind, case.fill) == kind]
        print(f"\n{kind[0]}({kind[1]})\n{LINE.format(*HEAD)}")
        for case in some:
            print_case(case, options.vendor)
        print_means(some, options.vendor)


if __name__ == "__main__":
    sys.exit(main())
