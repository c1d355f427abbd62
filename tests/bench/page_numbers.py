"""Numbers that README.md and plugin/MANUAL.md share, from the files in tests/bench/results."""

import sys

import rows
from result_tables import OURS, PETSC
from results import counts, lines_of, path_of, times


def only(found, run, wanted):
    """What was found, if it is one."""
    if len(found) != 1:
        sys.exit(f"error: the file of the run {run} must have one entry with {wanted}, for README.md and MANUAL.md, "
                 f"and has {len(found)}")
    return found[0]


def line_of(run, **wanted):
    """The one line with these fields; its times are in milliseconds."""
    return only([f for f in lines_of(run) if all(f[name] == value for name, value in wanted.items())], run, wanted)


def case_of(run, matrix, n):
    """All lines of ILU(0) of a matrix."""
    cases = rows.read([path_of(run)], lambda f: counts(run, f))
    return only([c for c in cases if (c.matrix, c.n) == (matrix, n)], run, {"matrix": matrix, "n": n})


def memory(run, strategy, *matrices, threads=None):
    """Memory as multiples of PETSc's factor."""
    return [float(f["memory_bytes"]) / float(f["petsc_bytes"]) for f in lines_of(run)
            if f["strategy"] == strategy and (not matrices or f["matrix"] in matrices)
            and threads in (None, f["threads"])]


def least_and_most(values):
    return [times(min(values)), times(max(values))]


def memory_on_grids():
    return least_and_most(memory("default", "auto", "5pt", "7pt", "27pt"))


def most_memory_on_a_cpu():
    return times(max(memory("threads", "auto", threads="16")))


def mean_on_threads(count, event):
    """How many times as fast as PETSc's own."""
    cases = rows.read([path_of("threads")], lambda f: not f["strategy"] or f["threads"] == count)
    return times(rows.geometric_mean([c.speedup(OURS, PETSC, event) for c in cases]))


def meshes_in_orders():
    """Of each system but those of grids the lines in the given order, in that of syncfree_auto, and with Jacobi."""
    systems = {}
    for f in lines_of("orders"):
        if f["matrix"] != "7pt":
            systems.setdefault((f["matrix"], f["n"], f["kind"]), {})[f["ordering"]] = f
    return [(one["natural"], one["syncfree_auto"], one[""]) for one in systems.values()]


def given_order_costs():
    """Of an application, in products with the matrix."""
    products = [float(given["apply_matmults"]) for given, _, _ in meshes_in_orders()]
    return [f"{end(products):.2g}" for end in (min, max)]
