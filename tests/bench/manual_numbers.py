"""The numbers of plugin/MANUAL.md that a file of tests/bench/results has; results.py fills them in, or checks them."""

import statistics

from fill_page import fill_rows, fill_sentences
from page_numbers import given_order_costs, least_and_most, line_of, mean_on_threads, memory, memory_on_grids, \
    meshes_in_orders, most_memory_on_a_cpu
from results import lines_of, number, times

PAGE = "plugin/MANUAL.md"


def ms(fields, name):
    return number(float(fields[f"{name}_ms"]))


def blocks_and_entries(matrix, size):
    """Cells of a matrix by blocks of so many rows; by entries."""
    both = [line_of("blocks", matrix=matrix, block_size=block, strategy="auto") for block in (size, "1")]
    times_of = ["; ".join(ms(f, name) for f in both) for name in ("setup", "refresh", "apply")]
    memory_of = "; ".join(number(float(f["memory_bytes"]) / 1e9) for f in both)
    return lambda cells: [*cells[:2], *times_of, f"{memory_of} GB"]


def orders(matrix, n):
    """Cells of set-up and solve by ILU(0); what is behind a number stays."""
    def whole(ordering):
        return ms(line_of("orders", matrix=matrix, n=n, kind="ilu", ordering=ordering), "whole")

    made = [whole(name) for name in ("natural", "syncfree_multicolor", "syncfree_auto", "")]
    return lambda cells: [*cells[:2], *(" ".join([new, *old.split()[1:]]) for new, old in zip(made, cells[2:]))]


def columns(contender):
    """Cells of one, eight and 32 columns of 7-point 128^3."""
    made = [line_of("columns", matrix="7pt", n="2097152", contender=contender, columns=count) for count in ("8", "32")]
    return lambda cells: [cells[0], ms(made[0], "apply"), *(ms(f, "columns") for f in made)]


def sweeps(pc, with_set_up):
    """Cells of a whole solve of Poisson's equation."""
    f = line_of("sor", pc=pc, note="")
    solve = ms(f, "solve") + (f" (set-up {ms(f, 'setup')})" if with_set_up else "")
    return lambda cells: [cells[0], f["iterations"], solve, ms(f, "apply")]


def makers():
    return {
        "`species`, 5 unknowns, 64^3 points": blocks_and_entries("species", "5"),
        "`elasticity`, 3 unknowns, 48^3 points": blocks_and_entries("elasticity", "3"),
        "`tets_jumps`, 103,823 rows": orders("tets_jumps", "103823"),
        "`tets_convection`, 300,763 rows": orders("tets_convection", "300763"),
        "`7pt`, 100^3": orders("7pt", "1000000"),
        "`syncfree_ilu`, columns together": columns("auto/16"),
        "cuSPARSE 12.9.4, SpSM": columns("cusparse/16"),
        "`ilu`, columns one by one": columns("petsc"),
        "CG, `jacobi`": sweeps("jacobi", False),
        "CG, `syncfree_sor`": sweeps("syncfree_sor", False),
        "CG, `gamg`, its default smoother, Chebyshev with Jacobi": sweeps("gamg", True),
        "CG, `gamg` with Chebyshev and `syncfree_sor`": sweeps("gamg/syncfree_sor", True),
        "CG, `gamg` with Chebyshev and `sor`": sweeps("gamg/sor", True),
    }


def memory_with_the_limit():
    real = memory("files", "auto")
    return [*memory_on_grids(),
            *(times(memory("default", "auto", name)[0]) for name in ("elasticity", "mesh", "powerlaw", "chain")),
            *least_and_most(real), len(real), times(statistics.median(real))]


def peaks():
    """Of the set-up, as multiples of the memory afterwards: the most on grids and on meshes."""
    found = {}
    for f in lines_of("default") + lines_of("untuned"):
        if f["strategy"] == "auto":
            found.setdefault(f["matrix"], []).append(float(f["peak_bytes"]) / float(f["memory_bytes"]))
    kinds = ("5pt", "9pt", "7pt", "27pt"), ("mesh", "mesh_on_curve", "mesh_at_random")
    return [times(max(value for name in names for value in found[name])) for names in kinds]


def memory_of_level_order():
    found = memory("files", "level_order")
    return [*least_and_most(found), times(statistics.median(found))]


def gains_of_orders():
    """Of applications on meshes, by syncfree_auto."""
    return least_and_most([float(given["apply_ms"]) / float(best["apply_ms"]) for given, best, _ in meshes_in_orders()])


def more_iterations_with_convection(ordering):
    """Least and most, as multiples of those in the given order."""
    found = {(f["n"], f["ordering"].split(":")[0]): int(f["iterations"]) for f in lines_of("orders")
             if f["matrix"] == "tets_convection"}
    return least_and_most([value / found[(n, "natural")] for (n, name), value in found.items() if name == ordering])


SENTENCES = {
    "Convection on meshes takes {N} to {N} times as many iterations with `syncfree_multicolor`, {N} to {N} times as "
    "many with `syncfree_abmc` (": lambda: [value for name in ("syncfree_multicolor", "syncfree_abmc")
                                       for value in more_iterations_with_convection(name)],
    "on 16 cores a set-up has {N} times the speed of PETSc's, a refresh {N} and an application {N} times (":
        lambda: [mean_on_threads("16", event) for event in ("setup", "refresh", "apply")],
    "(5 and 7 points by `wavefront`: {N} to {N} times)":
        lambda: least_and_most(memory("default", "auto", "5pt", "7pt")),
    "as PETSc's factor with one thread, up to {N} times as much with 16": lambda: [most_memory_on_a_cpu()],
    "The peak during set-up is at most {N} times that on grids, {N} times on meshes": peaks,
    "PETSc's `ilu`: {N} to {N} on grids, {N} for elasticity, {N} for a mesh, {N} for a graph with very long rows, {N} "
    "for a chain of 200,000 rows, {N} to {N} on {N} real matrices (median {N}": memory_with_the_limit,
    "`-pc_syncfree_strategy level_order` takes {N} to {N} times PETSc's factor (median {N})": memory_of_level_order,
    "and up to {N} where there are thousands": lambda: given_order_costs()[1:],
    "`syncfree_auto` made applications on an H200 {N} to {N} times as fast": gains_of_orders,
}


def filled(text):
    """The manual with the numbers of the files."""
    return fill_sentences(fill_rows(text, PAGE, makers()), PAGE, SENTENCES)
