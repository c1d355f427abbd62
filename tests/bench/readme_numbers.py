"""The numbers of README.md that a file of tests/bench/results has; results.py fills them in, or checks them.

Numbers in other places of README.md name where they come from. Cells of cuSPARSE's L alone stay as they are where the
run was made with a library that has one algorithm only.
"""

import functools

import rows
from fill_page import fill_rows, fill_sentences
from page_numbers import case_of, given_order_costs, least_and_most, mean_on_threads, memory_on_grids, \
    meshes_in_orders, most_memory_on_a_cpu
from results import RUNS, lines_of, number, times
from result_tables import OURS, PETSC, VENDOR, cases_of

# first cell of the row -> run, matrix and rows
ROWS = {
    "7-point, 128^3": ("default", "7pt", 2097152),
    "27-point, 96^3": ("default", "27pt", 884736),
    "5-point, 1448^2": ("default", "5pt", 2096704),
    "elasticity, 48^3 x 3 (in dense blocks)": ("default", "elasticity", 331776),
    "tetrahedral mesh, RCM order": ("default", "mesh", 300000),
    "the same, random order": ("default", "mesh_at_random", 300000),
    "Dubcova1 (finite elements)": ("files", "Dubcova1", 16129),
    "memplus (circuit)": ("files", "memplus", 17758),
    "case9241pegase (power grid)": ("files", "case9241pegase", 17036),
    "cage9 (36 levels)": ("files", "cage9", 3534),
}
MEANS = "real matrices, geometric mean (least)"  # behind their number


def ms(case, name, event):
    seconds = case.seconds(name, event)
    return number(1e3 * seconds) if seconds else ""


def ratio(case, event, over):
    value = case.speedup(OURS, over, event)
    return f"{times(value)} x" if value else ""


def by_the_faster(case):
    """Was the vendor's solver one that has several algorithms?"""
    return VENDOR in case.rows and rows.several_algorithms(case.rows[VENDOR].fields.get("vendor"))


def cells_of(run, matrix, n, there):
    """`there` are the cells of today's row."""
    case = case_of(run, matrix, n)
    known = by_the_faster(case)
    return [there[0], f"{n:,}", ms(case, PETSC, "apply"), ms(case, OURS, "apply"), ratio(case, "apply", PETSC),
            ms(case, VENDOR, "lower") if known else there[5], ms(case, OURS, "lower"),
            ratio(case, "lower", VENDOR) if known else there[7],
            *(", ".join(ms(case, name, event) for name in (PETSC, OURS)) for event in ("setup", "refresh"))]


def mean_and_least(values, more=""):
    return f"{times(rows.geometric_mean(values))} x ({times(min(values))} x{more})"


def cells_of_means(there):
    cases = cases_of("files")
    vendor = [c.speedup(OURS, VENDOR, "lower") for c in cases if by_the_faster(c)]
    means = [mean_and_least([c.speedup(OURS, PETSC, event) for c in cases]) for event in ("apply", "setup", "refresh")]
    return [there[0], "", "", "", means[0], "", "",
            mean_and_least(vendor) if vendor else there[7], *means[1:]]


def whole_solves():
    """Set-up and solve together of Poisson's equation on 129^3."""
    found = {f["pc"]: f for f in lines_of("solves") if (f["problem"], f["n"]) == ("poisson", "2146689")}
    together = (float(found[pc]["setup_ms"]) + float(found[pc]["solve_ms"]) for pc in ("ilu", "jacobi", "syncfree_ilu"))
    return [*map(number, together), RUNS["solves"][0]]


def slow_set_ups():
    cases = cases_of("files")
    result = [len(cases), len([c for c in cases if c.n < 10000])]
    for event in ("setup", "refresh"):
        slower = [1 / c.speedup(OURS, PETSC, event) for c in cases if c.speedup(OURS, PETSC, event) < 1]
        result += [len(slower), times(max(slower, default=1))]
    return result


def other_order_costs():
    more = {}
    for given, best, _ in meshes_in_orders():
        flows = given["matrix"] == "tets_convection"
        more.setdefault(flows, []).append(int(best["iterations"]) / int(given["iterations"]))
    return [times(max(more[False])), times(max(more[True]))]


def other_order_gains():
    whole = [[float(f["whole_ms"]) for f in lines] for lines in meshes_in_orders()]
    gains = [value / best for given, best, jacobi in whole for value in (given, jacobi)]
    return [len(whole), *least_and_most(gains[::2]), *least_and_most(gains[1::2]), RUNS["orders"][0]]


def smoothers():
    found = {f["pc"]: number(float(f["solve_ms"])) for f in lines_of("sor") if not f["note"]}
    return [found["gamg"], found["gamg/syncfree_sor"], RUNS["sor"][0]]


# {N} is a number or a file; the function returns as many
SENTENCES = {
    "takes {N} ms with `ilu`, {N} with `jacobi` and {N} with `syncfree_ilu` (`{N}`": whole_solves,
    "On 16 cores of a Xeon an application is {N} times as fast as PETSc's serial one, on one core {N} times (geometric "
    "means of twelve matrices, `{N}`)":
        lambda: [mean_on_threads("16", "apply"), mean_on_threads("1", "apply"), RUNS["threads"][0]],
    "Of the real matrices {N} have fewer than 10,000 rows": lambda: [slow_set_ups()[1]],
    "of the {N} real matrices ({N} < 10,000 rows) {N} have slower set-ups than with `ilu` (up to {N} times), {N} "
    "slower updates (up to {N})": slow_set_ups,
    "an application costs as much as {N} to {N} products with the matrix": given_order_costs,
    "at the price of up to {N} times the iterations, with convection {N} (": other_order_costs,
    "Set-up and solve of {N} systems were {N} to {N} times as fast as in the given order, {N} to {N} times as "
    "with Jacobi (`{N}`)": other_order_gains,
    "beats `syncfree_sor`: {N} and {N} ms a solve of Poisson 129^3 (`{N}`": smoothers,
    "tables of the solves take {N} to {N} times PETSc's factor on grids": memory_on_grids,
    "with one thread, up to {N} times with 16": lambda: [most_memory_on_a_cpu()],
    "set-ups slower ({N} times its speed on 16 cores)": lambda: [mean_on_threads("16", "setup")],
}


def filled(text):
    """README.md with the numbers of the files."""
    makers = {label: functools.partial(cells_of, *of) for label, of in ROWS.items()}
    makers[f"{len(cases_of('files'))} {MEANS}"] = cells_of_means
    return fill_sentences(fill_rows(text, "README.md", makers), "README.md", SENTENCES)
