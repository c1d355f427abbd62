#!/usr/bin/env python3
"""Heat maps and a summary of a sweep.

    python3 tests/bench/sweep/report.py SWEEP.csv [--out FOLDER]

Prints for each shape of block the fastest kernel, what the table "h200" would take and what that costs, and for each
matrix of the depth part the times that the issue of recursive_block is judged by. PNGs need matplotlib.
"""

import argparse
import collections
import csv
import math
import pathlib


def read(path):
    """(comment, {(part, matrix, x, y): {kernel: us}})"""
    lines = path.read_text().splitlines()
    shapes = collections.defaultdict(dict)
    for row in csv.DictReader(lines[1:]):
        key = row["part"], row["matrix"], float(row["x"]), float(row["y"])
        shapes[key][row["kernel"]] = float(row["us"])
    return lines[0].lstrip("# "), shapes


def fastest(times):
    return min(times, key=times.get)


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_map(shapes, part, x_name, y_name):
    """One line a shape: the fastest and how far behind the others are."""
    print(f"\n{part}s: {x_name}, {y_name}, us by kernel, * the fastest")
    for (one, _, x, y), times in sorted(shapes.items()):
        if one == part:
            best = fastest(times)
            text = "  ".join(f"{name}{'*' * (name == best)} {us:.1f}" for name, us in times.items())
            print(f"{x:8g} {y:8g}  {text}")


def print_depths(shapes):
    print("\nmatrix, us: fastest leaf; recursive_block; best over depths, kernels timed alone; ratios to both")
    ratios = []
    for matrix in dict.fromkeys(key[1] for key in shapes if key[0] == "whole"):
        whole = dict(shapes["whole", matrix, 0.0, 0.0])
        ours = whole.pop("recursive_block")
        depths = (times for key, times in shapes.items() if key[:2] == ("depth", matrix))
        best = min(times["best"] for times in depths if "best" in times)
        leaf = fastest(whole)
        ratios.append((ours / whole[leaf], ours / best))
        text = "  ".join(f"{ratio:.2f}" for ratio in ratios[-1])
        print(f"{matrix:24} {leaf:14} {whole[leaf]:9.1f} {ours:9.1f} {best:9.1f}  {text}")
    if ratios:
        worst = [max(pair[k] for pair in ratios) for k in (0, 1)]
        print(f"worst ratio to a leaf {worst[0]:.2f}, to the best depth {worst[1]:.2f}")


def draw(shapes, part, x_name, y_name, title, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chosen = {key[2:]: times for key, times in shapes.items() if key[0] == part}
    kernels = list(dict.fromkeys(name for times in chosen.values() for name in times))
    xs, ys = (sorted({key[axis] for key in chosen}) for axis in (0, 1))
    size = 4 * len(kernels), 4.5
    figure, axes = pyplot.subplots(1, len(kernels), figsize=size, layout="constrained", squeeze=False)
    for axis, kernel in zip(axes[0], kernels):
        slowdown = [
            [math.log10(times[kernel] / min(times.values())) for times in (chosen[x, y] for x in xs)] for y in ys
        ]
        image = axis.imshow(slowdown, origin="lower", aspect="auto", vmin=0, vmax=1.5, cmap="viridis_r")
        axis.set_title(kernel)
        axis.set_xticks(range(len(xs)), [f"{x:g}" for x in xs], rotation=60)
        axis.set_yticks(range(len(ys)), [f"{y:g}" for y in ys])
        axis.set_xlabel(x_name)
    axes[0][0].set_ylabel(y_name)
    figure.colorbar(image, ax=axes, label="times the fastest, log10")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    comment, shapes = read(options.sweep)
    names = {
        "triangle": ("entries a row", "levels"),
        "rectangle": ("entries a row", "share of empty rows"),
    }
    print(comment)
    for part, (x_name, y_name) in names.items():
        print_map(shapes, part, x_name, y_name)
        if options.out:
            try:
                draw(shapes, part, x_name, y_name, f"{part}s, {comment}", options.out / f"sweep_{part}.png")
            except ImportError:
                print("no matplotlib: no heat map")
    print_depths(shapes)


if __name__ == "__main__":
    main()
