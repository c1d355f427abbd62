#!/usr/bin/env python3
"""Tables and figures of four papers on triangular solves, measured here, beside the papers' numbers.

    python3 tests/bench/papers.py [--out FOLDER] --solves FILE.csv... [--parts FILE.csv...] [--precision FILE.csv...]
                                  [--waves FILE.csv... --sequential FILE.csv...]

--solves: every strategy on every matrix. --parts: the block strategies, with the note parts=P. --precision: the same
matrices twice, with the note single where the factor is stored in single precision. --waves: wavefronts of several
lengths and numbers; --sequential: the same matrices on one thread of the host. Plots are drawn into FOLDER, if one is
given and there is matplotlib.

The papers solve with the lower triangle of a matrix and its diagonal; here L is the factor of ILU(0), which has that
pattern, and a diagonal of ones. GFLOP/s: rows.py. Preprocessing is a set-up less a refresh, so it holds the pattern
work of a whole ILU on the host, which all our strategies share. Whether a verdict holds is computed: it does if the
same of two contenders is ahead on geometric mean.
"""

import argparse
import collections
import importlib.util
import pathlib
import sys

import paper_numbers as paper
import rows
from study import SHAPES, Study, bins_of, growths, parts_of, precision_ratios, triangles, wavefronts, winners

RIVALS = ("sequential", "by_hand", "vendor")  # of the loop made parallel
SOMO_CAUSE = "code, baseline or device"


def title(text):
    print(f"\n== {text}\n")


def table(form, head, lines):
    print(form.format(*head))
    for line in lines:
        print(form.format(*line))


def opinion(holds, cause="the hardware"):
    return "agrees" if holds else f"{cause} has changed the verdict"


def verdict(what, theirs, ours, cause="the hardware"):
    """One line on `theirs` and `ours`, how many times as fast the paper's contender is; ours may be None."""
    if ours is None:
        return print(f"-> {what}: not measured here, {theirs} there")
    return print(f"-> {what}: {theirs} there, {ours:.3g} here: {opinion((theirs >= 1) == (ours >= 1), cause)}")


def best_and_mean(values):
    return rows.geometric_mean(values), max(values, default=None)


def times_text(seconds):
    return rows.show(seconds and 1e3 * seconds, ".4g")


def liu_matrices(study):
    title("Liu 2016, table 3: matrices; here the triangle of ILU(0), and whose place it takes")
    lines = []
    for case in study.cases:
        theirs = paper.STANDS_FOR.get(case.matrix, ())
        known = [f"{m} ({n} rows, {levels} levels)" for m, (n, _, levels) in paper.LIU_MATRICES.items() if m in theirs]
        levels = case.levels["lower"]
        row = (case.matrix[:22], case.n, case.below + case.n, levels, rows.show(levels and case.n / levels, ".4g"))
        lines.append((*row, "; ".join(known or theirs)))
    table("{:22} {:>9} {:>10} {:>8} {:>12}  {}", ("matrix", "n", "nnz", "levels", "rows a level", "for"), lines)


def liu_breakdown(study):
    title("Liu 2016, table 1: where a level-set solve spends its time, ms")
    lines, shares = [], []
    for original, (before, waiting, computing) in paper.LIU_BREAKDOWN.items():
        case = study.stand_in(original)
        solve = case and study.solve(case, "level_set")
        there = f"{original}: {before}, {waiting}, {computing}"
        if not solve:
            lines.append(("-", "-", "-", "-", "-", there))
            continue
        product = min(solve, case.spmv * (case.below + case.n) / case.nnz)
        shares.append((waiting / (waiting + computing), (solve - product) / solve))
        row = (times_text(study.analysis(case, "level_set")), times_text(solve - product), times_text(product))
        lines.append((case.matrix, case.levels["lower"], *row, there))
    head = ("matrix", "levels", "before", "waiting", "computing", "there: before, waiting, computing")
    table("{:14} {:>8} {:>10} {:>10} {:>10}  {}", head, lines)
    print("Waiting is here what a solve takes beyond a product with as many entries of the same matrix.")
    same = sum((there > 0.5) == (here > 0.5) for there, here in shares)
    print(f"-> waiting is the larger part where it was in the paper: {same} of {len(shares)} matrices")


def rates_table(study, cases):
    names = [name for name in study.names if any(case.gflops(name, "lower") for case in cases)]
    form = "{:22} {:>9}" + "".join(f" {{:>{max(8, len(name))}}}" for name in names)
    lines = [(c.matrix[:22], c.n, *(rows.show(c.gflops(name, "lower")) for name in names)) for c in cases]
    means = [rows.geometric_mean([case.gflops(name, "lower") for case in cases]) for name in names]
    table(form, ("matrix", "n", *names), [*lines, ("geometric mean", "", *map(rows.show, means))])


def liu_rates(study):
    title("Liu 2016, figure 4: GFLOP/s of a lower solve")
    rates_table(study, [case for case in study.cases if case.matrix in paper.STANDS_FOR] or study.cases)
    for name in study.names:
        means = [rows.geometric_mean([study.faster(c, name, o) for c in study.cases]) for o in ("vendor", "level_set")]
        texts = [rows.show(mean, ".2f") for mean in means]
        print(f"{name:20} over the vendor {texts[0]:>6}, over level sets {texts[1]:>6}")
    mean, best = best_and_mean(study.speedups("sync_free", "vendor"))
    verdict("sync-free over the vendor, mean", paper.LIU_SPEEDUP[0], mean)
    verdict("sync-free over the vendor, best", paper.LIU_SPEEDUP[1], best)


def liu_preprocessing(study):
    title("Liu 2016, table 4: preprocessing in ms, and the vendor's over sync-free's")
    lines, ratios = [], []
    for original, theirs in paper.LIU_PREPROCESSING.items():
        case = study.stand_in(original)
        ours = [case and study.analysis(case, role) for role in ("vendor", "sync_free")]
        ratio = ours[0] / ours[1] if all(ours) else None
        ratios.append(ratio)
        numbers = (*map(times_text, ours), rows.show(ratio), *theirs, f"{theirs[0] / theirs[1]:.3g}")
        lines.append((case.matrix if case else "-", *numbers, original))
    head = ("matrix", "vendor", "sync-free", "ratio", "vendor", "sync-free", "ratio", "there")
    table("{:14} {:>9} {:>9} {:>7} | {:>9} {:>9} {:>7}  {}", head, lines)
    verdict("preprocessing of sync-free, times as fast", paper.LIU_PREPROCESSING_SPEEDUP[0],
            rows.geometric_mean(ratios), "our set-up")


def blocks_of(shape, parts):
    """(rows, columns) in units of n of the rectangles of a plan with so many equal triangles."""
    if shape == "column_block":
        return [((parts - 1 - k) / parts, 1 / parts) for k in range(parts - 1)]
    if shape == "row_block":
        return [(1 / parts, k / parts) for k in range(1, parts)]
    found, size = [], 1
    while size < parts:
        found += [(0.5 / size, 0.5 / size)] * size
        size *= 2
    return found


def lu_counts():
    title("Lu 2020, tables 1 and 2: right-hand sides updated and solutions read, in n, counted on the three plans")
    lines = []
    for shape in SHAPES:
        counted = [blocks_of(shape, parts) for parts in paper.LU_PARTS]
        updated = [1 + sum(block[0] for block in blocks) for blocks in counted]
        read = [sum(block[1] for block in blocks) for blocks in counted]
        for what, ours, theirs in (("b", updated, paper.LU_UPDATED), ("x", read, paper.LU_READ)):
            same = all(abs(a - b) <= 0.011 * max(1, b) for a, b in zip(ours, theirs[shape]))
            lines.append((shape, what, *(f"{v:.6g}" for v in ours), "as in the paper" if same else theirs[shape]))
    table("{:16} {:4} {:>9} {:>9} {:>9} {:>9}  {}", ("triangles", "", *paper.LU_PARTS, ""), lines)


def lu_shapes(cases):
    """The triangles of the three plans are as many and as large, but recursion sorts their rows anew."""
    title("Lu 2020, figure 4: ms of a lower solve by plan and number of triangles")
    lines, first = [], 0
    for case in cases:
        times = [case.seconds(shape, "lower") for shape in SHAPES]
        if all(times):
            first += times[2] == min(times)
            lines.append((case.matrix, case.n, parts_of(case), *map(times_text, times)))
    table("{:14} {:>9} {:>10} {:>14} {:>14} {:>16}", ("matrix", "n", "triangles", *SHAPES), lines)
    print("The figure has the time of the products alone, in which recursion is nearly always the fastest.")
    print(f"-> recursion is the fastest in {first} of {len(lines)}: {opinion(2 * first > len(lines))}")


def rule(entries, levels):
    """Algorithm 7 of the paper for triangles: who should be the fastest."""
    if levels > 20000:
        return "vendor"
    if (entries <= 1 and levels <= 100) or (entries <= 15 and levels <= 20):
        return "level_set"
    return "sync_free"


def lu_selection(study):
    title("Lu 2020, figure 5 and algorithm 7: the fastest kernel by entries a row and levels; whole triangles, L and U")
    roles = ("level_set", "sync_free", "vendor")
    cells, hits, count = collections.defaultdict(collections.Counter), 0, 0
    for entries, levels, _, _, fastest in triangles(study, roles):
        column = next(k for k, limit in enumerate((1, 4, 15, 60, 1e30)) if entries <= limit)
        cells[len(str(levels)), column][fastest] += 1
        hits += fastest == rule(entries, levels)
        count += 1
    lines = []
    for digits in sorted({key[0] for key in cells}):
        texts = (", ".join(f"{n} {role}" for role, n in cells[digits, c].most_common()) or "-" for c in range(5))
        lines.append((f"< {10**digits}", *texts))
    head = ("levels", "<= 1 entries", "<= 4", "<= 15", "<= 60", "more")
    table("{:10} {:28} {:28} {:28} {:28} {:28}", head, lines)
    if count:
        print(f"-> the thresholds name the fastest of the three in {hits} of {count}: {opinion(2 * hits > count)}")


def lu_six(study):
    title("Lu 2020, table 4: GFLOP/s of a lower solve, and times that recursive blocks are as fast")
    roles, lines, pairs = ("vendor", "sync_free", "block"), [], []
    for original, (n, _, levels, *theirs) in paper.LU_SIX.items():
        case = study.stand_in(original)
        ours = [case and study.gflops(case, role) for role in roles]
        over = [case and study.speedup(case, "block", role) for role in roles[:2]]
        there = [theirs[2] / theirs[0], theirs[2] / theirs[1]]
        pairs += [(a, b) for a, b in zip(there, over) if b]
        mine = (case.matrix, case.n, case.levels["lower"]) if case else ("-", "-", "-")
        text = f"{original}: {n} rows, {levels} levels: {', '.join(map(str, theirs))}; {there[0]:.2f}, {there[1]:.2f}"
        lines.append((*mine, *map(rows.show, (*ours, *over)), text))
    head = ("matrix", "n", "levels", "vendor", "sync-free", "blocks", "x vendor", "x s-f", "there")
    table("{:12} {:>8} {:>7} {:>8} {:>9} {:>8} {:>9} {:>8}  {}", head, lines)
    same = sum((a >= 1) == (b >= 1) for a, b in pairs)
    print(f"-> the same of two is ahead in {same} of {len(pairs)} comparisons")


def lu_overall(study):
    title("Lu 2020, table 5: mean ms of preprocessing, of a lower solve, and of one with 100, 500, 1000")
    lines, mean = [], {}
    for role, theirs in paper.LU_OVERALL.items():
        found = [(study.analysis(c, role), study.solve(c, role)) for c in study.cases if study.solve(c, role)]
        if found:
            before, solve = (1e3 * sum(column) / len(found) for column in zip(*found))
            mean[role] = (before, solve, *(before + k * solve for k in (100, 500, 1000)))
        cells = [f"{v:.5g}" for v in mean[role]] if role in mean else ["-"] * 5
        lines.append((role, *cells, ", ".join(map(str, theirs))))
    table("{:10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}", ("", "before", "a solve", 100, 500, 1000, "there"), lines)
    if "block" not in mean:
        return
    print(f"Set-up of blocks in its own solves: {mean['block'][0] / mean['block'][1]:.3g} here, "
          f"{paper.LU_SETUP_IN_SOLVES} there")
    there = paper.LU_OVERALL
    for other in ("vendor", "sync_free"):
        for k, count in enumerate((100, 500, 1000), 2):
            ours = mean[other][k] / mean["block"][k] if other in mean else None
            verdict(f"blocks over {other}, {count} solves", round(there[other][k] / there["block"][k], 2), ours)


def lu_speedups(study):
    title("Lu 2020, figure 6: recursive blocks over the vendor and over sync-free, all matrices")
    for other, (mean, best) in (("vendor", paper.LU_OVER_VENDOR), ("sync_free", paper.LU_OVER_SYNC_FREE)):
        values = study.speedups("block", other)
        ours = best_and_mean(values)
        slower = sum(value < 1 for value in values)
        texts = map(rows.show, ours)
        print("over {}: {} matrices, mean {}, best {}, slower on {}".format(other, len(values), *texts, slower))
        verdict(f"blocks over {other}, mean", mean, ours[0])
        verdict(f"blocks over {other}, best", best, ours[1])


def lu_precision(study, ratios):
    title("Lu 2020, figure 7: rate in double over rate in single precision; here only the factor is stored in single")
    for name, values in ratios.items():
        ordered = sorted(values)
        middle = ordered[len(ordered) // 2]
        role = next((role for role, chosen in study.role.items() if chosen == name), "")
        low, high = paper.LU_PRECISION.get(role, (None, None))
        there = ""
        if low is not None:
            there = f"; there {low} to {high}: {opinion(low - 0.05 <= middle <= high + 0.05)}"
        print(f"{name:20} median {middle:.2f}, {ordered[0]:.2f} to {ordered[-1]:.2f}, {len(values)} matrices{there}")


def su_averages(study):
    title("Su 2020, averages: mean GFLOP/s of a lower solve, and speedups of a thread a row")
    for role, theirs in paper.SU_GFLOPS.items():
        rates = [rate for rate in (study.gflops(case, role) for case in study.cases) if rate]
        mean = sum(rates) / len(rates) if rates else None
        print(f"{role:12} {study.role[role] or '-':20} {rows.show(mean):>8} here, {theirs} there")
    for other, theirs in paper.SU_SPEEDUP.items():
        verdict(f"a thread a row over {other}, mean", theirs,
                rows.geometric_mean(study.speedups("thread_rows", other)))


def su_curve(study):
    title("Su 2020, curve: geometric mean of GFLOP/s of a lower solve by log10(rows a level / entries a row)")
    names = [name for name in study.names if any(case.gflops(name, "lower") for case in study.cases)]
    form = "{:>12} {:>8}" + "".join(f" {{:>{max(8, len(name))}}}" for name in names)
    lines = []
    for low, cases in bins_of(study).items():
        means = [rows.geometric_mean([case.gflops(name, "lower") for case in cases]) for name in names]
        lines.append((f"{low} to {low + 0.5}", len(cases), *map(rows.show, means)))
    table(form, ("granularity", "matrices", *names), lines)


def su_preference(study):
    title("Su 2020, preference: who is the fastest, by granularity; of the paper's three, and of all")
    three = [study.role[role] for role in paper.SU_GFLOPS]
    everybody = [name for name in study.names if name != "auto"]
    lines, fine = [], []
    for low, cases in bins_of(study).items():
        among = (winners(cases, three), winners(cases, everybody))
        texts = (", ".join(f"{n} {name}" for name, n in count.most_common()) for count in among)
        lines.append((f"{low} to {low + 0.5}", *texts))
        fine += [(low, among[0][study.role["thread_rows"]], sum(among[0].values()))]
    table("{:>12}  {:48} {}", ("granularity", "of three", "of all"), lines)
    middle = fine[len(fine) // 2][0] if fine else 0
    shares = []
    for part in ([f for f in fine if f[0] < middle], [f for f in fine if f[0] >= middle]):
        shares.append(sum(f[1] for f in part) / max(1, sum(f[2] for f in part)))
    print(f"-> a thread a row wins {shares[0]:.0%} below {middle} and {shares[1]:.0%} above, where it should win more: "
          f"{opinion(shares[1] > shares[0])}")


def su_preprocessing(study):
    title("Su 2020, case study: ms of preprocessing and of a lower solve; a thread a row needs none in the paper")
    lines = []
    for original, theirs in paper.SU_CASES.items():
        case = study.stand_in(original)
        for role in ("level_set", "vendor", "sync_free", "thread_rows"):
            ours = [case and study.analysis(case, role), case and study.solve(case, role)]
            there = theirs.get(role)
            text = f"{original}: {there[0]}, {there[1]}" if there else f"{original}: 0, not given"
            lines.append((case.matrix if case else "-", role, *map(times_text, ours), text))
    table("{:12} {:12} {:>10} {:>10}  {}", ("matrix", "", "before", "a solve", "there"), lines)


def somo_names(study):
    """Who is compared, in the order of the columns."""
    host = {"sequential": "host serial/1", "one_thread": "host loop/1"}
    return host | {"loop": "loop", "by_hand": study.role["by_hand"] or "-", "vendor": study.role["vendor"] or "-"}


def somo_table(waves, names):
    title("Somo 2025, figure 1: ms of a lower solve by wavefronts and rows in each, and times that loop is as fast")
    lines = []
    for wave in waves:
        times = [times_text(wave.seconds[who]) for who in names]
        lines.append((wave.count, f"{wave.length:g}", *times, *(rows.show(wave.speedup(who)) for who in RIVALS)))
    form = "{:>10} {:>6}" + " {:>17}" * len(names) + " |" + " {:>13}" * len(RIVALS)
    table(form, ("wavefronts", "rows", *names.values(), *(f"x {who}" for who in RIVALS)), lines)
    print("The paper names no matrices; they have 54 thousand to 1.6 million entries and are 97 to 98 per cent zeros.")
    print("CuPy was not run here, and the paper does not say which of its calls it timed. spsolve_triangular of CuPy")
    print("analyses and solves with cuSPARSE in every call; the vendor's analysis here is not in the time of a solve.")
    print("The sequential loop here is compiled; the paper's comes from Python, and what ran it is not said.")


def somo_rates(waves, names):
    title("Somo 2025, section 3: GFLOP/s of a lower solve, the best of each")
    best = {who: max(filter(None, (wave.gflops(who) for wave in waves)), default=None) for who in names}
    there = paper.SOMO_GFLOPS
    for who, name in names.items():
        print(f"{name:20} {rows.show(best[who]):>8} here, {there.get(who, 'not given')} there")
    ours = best["vendor"] / best["sequential"] if best["vendor"] and best["sequential"] else None
    verdict("the vendor over the sequential loop", round(there["vendor"] / there["sequential"]), ours, SOMO_CAUSE)


def somo_speedups(waves):
    title("Somo 2025, section 3: times that the parallel loop is as fast")
    found = {who: [s for s in (wave.speedup(who) for wave in waves) if s] for who in RIVALS}
    for who, values in found.items():
        mean, best = best_and_mean(values)
        texts = map(rows.show, (mean, min(values, default=None), best))
        print("{:10} mean {}, least {}, best {}, ahead on {} of {}".format(
            who, *texts, sum(value > 1 for value in values), len(values)))
    least, best = (choose(found["vendor"], default=None) for choose in (min, max))
    verdict("over the vendor, least", paper.SOMO_OVER_VENDOR[0], least, SOMO_CAUSE)
    verdict("over the vendor, best", paper.SOMO_OVER_VENDOR[1], best, SOMO_CAUSE)
    mean = rows.geometric_mean(found["sequential"])
    print(f"-> over the sequential loop: ahead there, {rows.show(mean)} here: {opinion((mean or 0) > 1, SOMO_CAUSE)}")


def somo_trends(waves):
    """The paper's length of a wavefront has no unit: it may be how many rows one has, or how many there are."""
    title("Somo 2025, section 3: by what a step of the sweep multiplies the speedup over the vendor")
    for what, fixed, growing in (("longer wavefronts, no more of them", "count", "length"),
                                 ("more wavefronts, no longer ones", "length", "count")):
        steps = growths(waves, fixed, growing)
        mean, less = rows.geometric_mean(steps), sum(step < 1 for step in steps)
        print(f"-> {what}: less than 1 there, mean {rows.show(mean)} here, less than 1 in {less} of {len(steps)}: "
              f"{opinion((mean or 1) < 1, SOMO_CAUSE)}")


def draw(folder, study, parts, ratios, waves, names):
    if importlib.util.find_spec("matplotlib") is None:
        return print("\nno plots: there is no matplotlib")
    import papers_plot  # noqa: PLC0415  (wants matplotlib)

    folder.mkdir(parents=True, exist_ok=True)
    for path in papers_plot.draw_all(folder, study, parts, ratios, waves, names):
        print(path)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", nargs="+", required=True, metavar="FILE.csv")
    parser.add_argument("--parts", nargs="*", default=[], metavar="FILE.csv")
    parser.add_argument("--precision", nargs="*", default=[], metavar="FILE.csv")
    parser.add_argument("--waves", nargs="*", default=[], metavar="FILE.csv")
    parser.add_argument("--sequential", nargs="*", default=[], metavar="FILE.csv")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    study = Study(rows.read(options.solves))
    parts, ratios = rows.read(options.parts), precision_ratios(rows.read(options.precision))
    swept = Study(rows.read(options.waves))
    waves, names = wavefronts(swept, Study(rows.read(options.sequential))), somo_names(swept)
    print(rows.origin(options.solves))
    for role, name in study.role.items():
        print(f"{role:12} {name or 'nobody here'}")
    for section in (liu_matrices, liu_breakdown, liu_rates, liu_preprocessing):
        section(study)
    lu_counts()
    lu_shapes(parts)
    for section in (lu_selection, lu_six, lu_overall, lu_speedups):
        section(study)
    lu_precision(study, ratios)
    for section in (su_averages, su_curve, su_preference, su_preprocessing):
        section(study)
    if waves:
        somo_table(waves, names)
        somo_rates(waves, names)
        somo_speedups(waves)
        somo_trends(waves)
    if options.out:
        draw(options.out, study, parts, ratios, waves, names)


if __name__ == "__main__":
    sys.exit(main())
