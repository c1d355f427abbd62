"""The figures of py."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of a backend without a screen)

import paper_numbers as paper  # noqa: E402
import rows  # noqa: E402
from study import SHAPES, bins_of, parts_of, sweeps, triangles, winners  # noqa: E402

MARKS = "os^vDPX*<>hd"


def save(figure, folder, name):
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def measured(study, cases):
    return [name for name in study.names if any(case.gflops(name, "lower") for case in cases)]


def draw_rates(folder, study):
    cases = [case for case in study.cases if case.matrix in paper.STANDS_FOR] or study.cases
    names = measured(study, cases)
    figure, axis = plt.subplots(figsize=(max(8, 1.4 * len(cases)), 5), layout="constrained")
    width = 0.85 / max(1, len(names))
    for position, name in enumerate(names):
        places = [x + (position - (len(names) - 1) / 2) * width for x in range(len(cases))]
        axis.bar(places, [case.gflops(name, "lower") or 0 for case in cases], width, label=name)
    axis.set_yscale("log")
    axis.set_ylabel("GFLOP/s, lower solve")
    axis.set_xticks(range(len(cases)), [f"{case.matrix}\n{case.n:,} rows" for case in cases], fontsize=7)
    low, high = axis.get_ylim()
    axis.set_ylim(low, 3 * high)  # room for the legend
    axis.legend(ncols=4, fontsize=7)
    axis.set_title("Liu 2016, figure 4")
    return save(figure, folder, "liu_figure4")


def draw_shapes(folder, cases):
    matrices = list(dict.fromkeys(case.matrix for case in cases))
    figure, axes = plt.subplots(1, len(matrices), figsize=(5 * len(matrices), 4), squeeze=False, layout="constrained")
    for axis, matrix in zip(axes[0], matrices):
        for shape, mark in zip(SHAPES, MARKS):
            points = [(parts_of(c), c.seconds(shape, "lower")) for c in cases if c.matrix == matrix]
            points = sorted((parts, 1e3 * time) for parts, time in points if time)
            if points:
                axis.loglog(*zip(*points), f"-{mark}", label=shape)
        axis.set_xlabel("triangles")
        axis.set_ylabel("ms, lower solve")
        axis.set_title(matrix)
        axis.grid(alpha=0.4)
    axes[0, 0].legend()
    figure.suptitle("Lu 2020, figure 4")
    return save(figure, folder, "lu_figure4")


def draw_selection(folder, study):
    roles = ("level_set", "sync_free", "vendor")
    figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
    found = list(triangles(study, roles))
    for role, mark in zip(roles, MARKS):
        points = [(max(entries, 0.1), levels) for entries, levels, _, _, fastest in found if fastest == role]
        if points:
            axis.scatter(*zip(*points), marker=mark, label=f"{role}: {study.role[role]}")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("entries a row off the diagonal")
    axis.set_ylabel("levels")
    axis.plot([0.1, 15, 15], [20, 20, 1], color="black", linewidth=1, label="paper: below it level sets")
    axis.axhline(20000, color="gray", linewidth=1, label="paper: above it the vendor")
    axis.legend(fontsize=8)
    axis.set_title("Lu 2020, figure 5: the fastest on whole triangles")
    return save(figure, folder, "lu_figure5")


def draw_speedups(folder, study):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axis, other in zip(axes, ("vendor", "sync_free")):
        points = [(case.nnz, study.speedup(case, "block", other)) for case in study.cases]
        points = [point for point in points if point[1]]
        if points:
            axis.scatter(*zip(*points), s=15)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.axhline(1, color="black", linewidth=1)
        axis.set_xlabel("entries")
        axis.set_ylabel(f"times as fast as {study.role[other]}")
    figure.suptitle(f"Lu 2020, figure 6: {study.role['block']}, lower solve")
    return save(figure, folder, "lu_figure6")


def draw_precision(folder, ratios):
    figure, axis = plt.subplots(figsize=(max(6, 1.2 * len(ratios)), 4), layout="constrained")
    axis.boxplot(list(ratios.values()))
    axis.set_xticks(range(1, len(ratios) + 1), list(ratios), rotation=20, fontsize=8)
    axis.set_ylabel("rate in double / rate with a factor in single")
    axis.grid(axis="y", alpha=0.4)
    axis.set_title("Lu 2020, figure 7")
    return save(figure, folder, "lu_figure7")


def draw_curve(folder, study):
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    bins = bins_of(study)
    for name, mark in zip(measured(study, study.cases), MARKS * 3):
        means = [(low, rows.geometric_mean([case.gflops(name, "lower") for case in bins[low]])) for low in bins]
        means = [point for point in means if point[1]]
        axis.semilogy(*zip(*means), f"-{mark}", label=name)
    axis.set_xlabel("log10(rows a level / entries a row), lower end of the range")
    axis.set_ylabel("GFLOP/s, lower solve")
    axis.grid(alpha=0.4)
    axis.legend(fontsize=7)
    axis.set_title("Su 2020: performance by parallel granularity")
    return save(figure, folder, "su_curve")


def draw_preference(folder, study):
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    bins = bins_of(study)
    three = [study.role[role] for role in paper.SU_GFLOPS]
    for axis, names in zip(axes, (three, [name for name in study.names if name != "auto"])):
        counts = [winners(cases, names) for cases in bins.values()]
        below = [0] * len(bins)
        for name in names:
            heights = [count[name] for count in counts]
            if any(heights):
                axis.bar(range(len(bins)), heights, bottom=below, label=name)
                below = [a + b for a, b in zip(below, heights)]
        axis.set_xticks(range(len(bins)), [f"{low}" for low in bins], fontsize=8)
        axis.set_xlabel("log10(rows a level / entries a row)")
        axis.set_ylabel("matrices on which it is the fastest")
        axis.legend(fontsize=7)
    figure.suptitle("Su 2020: preference, of the paper's three and of all")
    return save(figure, folder, "su_preference")


def draw_sweep(axis, sweep, growing, names):
    for (who, name), mark in zip(names.items(), MARKS):
        points = [(getattr(wave, growing), 1e3 * wave.seconds[who]) for wave in sweep if wave.seconds[who]]
        if points:
            axis.loglog(*zip(*points), f"-{mark}", label=name)
    axis.grid(alpha=0.4)


def draw_wavefronts(folder, waves, names):
    """Above as many wavefronts grow, below they become more and stay as long."""
    orders, labels = (("count", "length"), ("length", "count")), {"count": "wavefronts", "length": "rows a wavefront"}
    columns = max(len(sweeps(waves, *order)) for order in orders)
    figure, axes = plt.subplots(2, columns, figsize=(3.6 * columns, 7), squeeze=False, sharex="row",
                                sharey=True, layout="constrained")
    for row, (fixed, growing) in zip(axes, orders):
        found = sweeps(waves, fixed, growing)
        row[0].set_ylabel("ms, lower solve")
        for axis, (value, sweep) in zip(row, found.items()):
            draw_sweep(axis, sweep, growing, names)
            axis.set_xlabel(labels[growing])
            axis.set_title(f"{labels[fixed]}: {value:g}", fontsize=9)
        for axis in row[len(found):]:
            axis.set_axis_off()
    axes[0, 0].legend(fontsize=7)
    figure.suptitle("Somo 2025, figure 1: by length (above) and number (below) of wavefronts")
    return save(figure, folder, "somo_figure1")


def draw_all(folder, study, parts, ratios, waves, names):
    """The paths of the files that were written."""
    paths = [draw_rates(folder, study), draw_selection(folder, study), draw_speedups(folder, study)]
    paths += [draw_curve(folder, study), draw_preference(folder, study)]
    if parts:
        paths.append(draw_shapes(folder, parts))
    if ratios:
        paths.append(draw_precision(folder, ratios))
    if waves:
        paths.append(draw_wavefronts(folder, waves, names))
    return paths
