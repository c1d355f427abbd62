#!/usr/bin/env python3
"""Draws what syncfree_bench wrote.

    python3 tests/bench/plot.py [--out FOLDER] [--draw speed|size] FILE.csv...

speed_KIND.png: for every matrix, at its largest size, how many times as fast as PETSc's own a contender is, with the
quartiles of its own times. size_KIND.png: times against rows, for matrices of two and more sizes. The background is
transparent, and nothing is black or white, so that light and dark pages can show them.
"""

import argparse
import collections
import csv
import pathlib
import sys

from rows import PETSC, open_text, with_new_names

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # (after the choice of a backend without a screen)
except ImportError:
    plt = None  # --help needs none

GRAY = "#808080"  # seen on white and on black
if plt:
    plt.rcParams.update({name: GRAY for name in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color",
                                                 "ytick.color", "grid.color")})
    plt.rcParams.update({"axes.facecolor": "none", "legend.facecolor": "none", "legend.edgecolor": "none"})

EVENTS = (("setup", "set-up"), ("refresh", "refresh"), ("apply", "apply"))


def read(paths):
    """{kind: {(matrix, rows): {contender: row}}}; the last of equal rows counts."""
    groups = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in paths:
        with open_text(path) as file:
            for row in map(with_new_names, csv.DictReader(file)):
                kind = row["kind"] if row["levels"] == "0" else f"{row['kind']}({row['levels']})"
                groups[kind][row["matrix"], int(row["n"])][row["contender"]] = row
    return groups


def label(contender):
    """auto/2 -> auto, 2 threads"""
    if contender == PETSC:
        return "PETSc's own, 1 core"
    strategy, threads = contender.rsplit("/", 1)
    return f"{strategy}, {threads} thread{'' if threads == '1' else 's'}"


def ordered(groups):
    """All contenders, by number of threads and then as they came; PETSc's own first."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    return sorted(names, key=lambda name: (name != PETSC, int(name.rsplit("/", 1)[-1]) if "/" in name else 0))


def colours(names):
    """A family of colours for each number of threads, so that strategies and threads are told apart."""
    families = {}
    for name in names:
        families.setdefault(name.rsplit("/", 1)[-1] if "/" in name else PETSC, []).append(name)
    palettes = ("Blues", "Oranges", "Greens", "Purples", "Reds")
    result = {PETSC: GRAY}
    threads = [key for key in families if key != PETSC]
    for position, key in enumerate(threads):
        palette = plt.get_cmap(palettes[position % len(palettes)])
        for place, name in enumerate(families[key]):
            result[name] = palette(0.7 - 0.4 * place / max(1, len(families[key]) - 1))
    return result


def speeds(group, contender, event):
    """Times as fast as PETSc's own: median, and what the contender's quartiles would give."""
    petsc = float(group[PETSC][f"{event}_ms"])
    low, middle, high = (float(group[contender][f"{event}{part}_ms"]) for part in ("_low", "", "_high"))
    return petsc / middle, petsc / high, petsc / low


def ratio_axis(axis):
    """Powers of two, written as factors."""
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}x" if value >= 1 else f"1/{1 / value:g}x")
    axis.axhline(1, color=GRAY, linewidth=1)
    axis.grid(axis="y", alpha=0.4)
    axis.set_axisbelow(True)


def save(figure, axis, path):
    """With one legend below all axes."""
    handles, labels = axis.get_legend_handles_labels()
    columns = max(1, int(figure.get_size_inches()[0] / 2))
    lines = -(-len(labels) // columns)
    below = (0.3 + 0.22 * lines) / figure.get_size_inches()[1]
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
    figure.legend(handles, labels, loc="lower center", ncols=columns)
    figure.savefig(path, dpi=120, transparent=True)
    plt.close(figure)


def draw_speeds(kind, groups, path):
    largest = {}
    for matrix, rows in groups:
        largest[matrix] = max(rows, largest.get(matrix, 0))
    cases = list(largest.items())
    names = [name for name in ordered(groups) if name != PETSC]
    colour = colours(names)
    width = 0.85 / len(names)
    figure, axes = plt.subplots(3, 1, figsize=(max(9, 1.9 * len(cases)), 11), sharex=True, layout="constrained")
    for axis, (event, title) in zip(axes, EVENTS):
        for position, name in enumerate(names):
            found = [(x, speeds(groups[case], name, event)) for x, case in enumerate(cases) if name in groups[case]]
            places = [x + (position - (len(names) - 1) / 2) * width for x, _ in found]
            middle = [speed[0] for _, speed in found]
            ends = [[speed[0] - speed[1] for _, speed in found], [speed[2] - speed[0] for _, speed in found]]
            height = [value - 1 for value in middle]
            axis.bar(places, height, width, bottom=1, color=colour[name], label=label(name))
            axis.errorbar(places, middle, yerr=ends, fmt="none", ecolor=GRAY, elinewidth=0.8)
        ratio_axis(axis)
        axis.set_ylabel(f"{title}: times as fast\nas PETSc's own")
    axes[-1].set_xticks(range(len(cases)), [f"{matrix}\n{rows:,} rows" for matrix, rows in cases])
    axes[-1].set_xlabel("matrix")
    figure.suptitle(f"{kind.upper()}: speed against PETSc's own on one core, medians with quartiles")
    save(figure, axes[0], path)


def draw_sizes(kind, groups, path):
    """False if no matrix has two sizes."""
    sizes = collections.defaultdict(list)
    for matrix, rows in sorted(groups):
        sizes[matrix].append(rows)
    matrices = [matrix for matrix in dict.fromkeys(matrix for matrix, _ in groups) if len(sizes[matrix]) > 1]
    if not matrices:
        return False
    names = ordered({case: group for case, group in groups.items() if case[0] in matrices})
    colour = colours(names)
    marks = dict(zip(dict.fromkeys(name.rsplit("/", 1)[0] for name in names), "so^vDPX*<>" * len(names)))
    figure, axes = plt.subplots(
        3, len(matrices), figsize=(1.5 + 4 * len(matrices), 11), sharex="col", squeeze=False, layout="constrained"
    )
    for column, matrix in enumerate(matrices):
        for axis, (event, title) in zip(axes[:, column], EVENTS):
            for name in names:
                points = [(rows, groups[matrix, rows].get(name)) for rows in sizes[matrix]]
                points = [(rows, float(row[f"{event}_ms"])) for rows, row in points if row]
                style = "--s" if name == PETSC else f"-{marks[name.rsplit('/', 1)[0]]}"
                axis.loglog(*zip(*points), style, color=colour[name], markersize=5, label=label(name))
            axis.grid(which="major", alpha=0.4)
            axis.set_ylabel(f"{title} (ms)")
        axes[0, column].set_title(matrix)
        axes[-1, column].set_xlabel("rows")
    figure.suptitle(f"{kind.upper()}: time against size, medians")
    save(figure, axes[0, 0], path)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.csv")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--draw", choices=("speed", "size"), help="only this one")
    options = parser.parse_args()
    if plt is None:
        sys.exit("error: there is no matplotlib; Debian's package is python3-matplotlib")
    options.out.mkdir(parents=True, exist_ok=True)
    for kind, groups in read(options.files).items():
        name = kind.replace("(", "_").replace(")", "")
        for what, draw in (("speed", draw_speeds), ("size", draw_sizes)):
            path = options.out / f"{what}_{name}.png"
            if options.draw in (None, what) and draw(kind, groups, path) is not False:
                print(path)


if __name__ == "__main__":
    sys.exit(main())
