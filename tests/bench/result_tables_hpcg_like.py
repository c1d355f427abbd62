"""The table of RESULTS.md for HPCG-like solves; there is none until the list of runs has a file for it."""

from results import RUNS, lines_of, number, section, table

RUN = "hpcg_like"


def label(fields):
    parts = [f"{fields['edge']}^3"]
    parts += ["products with `sell`"] if fields["product"] == "sell" else []
    parts += ["residuals in all rows"] if fields["residual_rows"] == "all" else []
    return ", ".join(parts)


def hpcg_like():
    lines = []
    for f in lines_of(RUN):
        if f["valid"] != "yes":
            raise ValueError(f"a solve of {label(f)} that is not valid")
        ms = {name: float(f[f"{name}_ms"]) for name in ("solve", "product", "sweep_from_zero", "sweep_from_guess",
                                                        "restriction", "prolongation", "dots", "updates")}
        lines.append([label(f), number(float(f["gflops"])), number(ms["solve"] / int(f["iterations"])),
                      *(number(ms[name]) for name in ("product", "sweep_from_zero", "sweep_from_guess")),
                      number(ms["restriction"] + ms["prolongation"]), number(ms["dots"] + ms["updates"])])
    first = lines_of(RUN)[0]
    head = ["grid", "rating (GFLOP/s)", "an iteration (ms)", "its product (ms)", "sweeps from zero (ms)",
            "sweeps from a guess (ms)", "restriction, prolongation (ms)", "dots, updates (ms)"]
    return section(
        "How fast is an HPCG-like solve on a GPU?", [RUN],
        "{gpu}: CG, a cycle over four grids, one symmetric Gauss-Seidel sweep by `syncfree_sor` "
        "before and after; HPCG's count of flops, 50 iterations in natural order. It is not HPCG",
        table(head, lines),
        "set-ups; several processes; HPCG's own rating, which charges a tenth of the set-up to each solve.",
        "Rows stay in natural order: the norms of all residuals are those of a serial program, at "
        f"{first['check_edge']}^3 to {float(first['from_reference']):.0e}, so 50 iterations count as 50. Parts are "
        "waited for, so their sum may exceed an iteration.")


def sections():
    return [hpcg_like()] if RUN in RUNS else []
