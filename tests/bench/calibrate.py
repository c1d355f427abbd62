#!/usr/bin/env python3
"""Fits the constants of the model by which `auto` chooses on a GPU to what syncfree_bench has timed there.

    python3 tests/bench/calibrate.py CSV... [--table src/core/choose/device_model.hpp] [--write]

Takes applications (L and U) by `level_order`, `merged` and `tiled` where these were named, and what `merged` adds to
a set-up with `level_order`, and says of each group of constants how far the model is off, in the mean and at most,
before and after, and what the constants become; --write puts them into the table. A group with fewer times than
constants is left as it is, and so are the constants of other plans, of plans for wide levels, of long rows, of tiles
and of blocks of rows that are planned on the host. The fit makes the mean of | log(model / time) | least, so a matrix
of its own kind does not spoil the others; no constant becomes negative.
"""

import argparse
import collections
import math
import re
import sys

import rows

CONSTANT = re.compile(r"^(  double (\w+) = )([^;]+);", re.M)
STRATEGIES = ("level_order", "merged", "tiled", "wavefront")
PENCILS_OF_GROUP, CHUNK_STEPS = 32, 8
MULTIPROCESSORS = 132
SHORT_ROWS = 5  # entries of a triangle
LEVELS_OF_RUN = 64
LEAST_PLAN = 100  # us: what is less is hidden behind the factorization
ROUNDS, LEAST_OFF = 30, 0.03  # of a fit


class Application:
    """L and U of a case by one strategy, as the model sees it: entries and levels of a triangle."""

    def __init__(self, case, strategy):
        row = case.rows[strategy]
        self.name, self.n, self.strategy = case.matrix, case.n, strategy
        self.plan = row.fields.get("plan") or ""
        self.levels, self.entries, self.longest = case.levels["lower"], case.below, case.longest
        self.us, self.more_us = 1e6 * row.seconds("apply"), None
        if "level_order" in case.rows:
            self.more_us = 1e6 * (row.seconds("setup") - case.rows["level_order"].seconds("setup"))

    @property
    def rows_of_node(self):
        found = re.search(r"nodes of (\d) rows", self.plan)
        return int(found[1]) if found else 0

    @property
    def node_levels(self):
        """Rows of a node, which all read each other, are as many levels."""
        return self.levels / self.rows_of_node


def single_rows(a):
    if a.strategy != "level_order" or a.rows_of_node:
        return None
    return {
        "rows_begin": 2,
        "rows_level": 2 * a.levels,
        "rows_entry": 2 * a.entries,
        "rows_longest_row": 2 * a.longest,
    }


def nodes(a):
    if a.strategy != "level_order" or not a.rows_of_node:
        return None
    bytes_of_all = (8 + 4 / a.rows_of_node) * a.entries
    return {"nodes_begin": 2, "nodes_level": 2 * a.node_levels, "nodes_byte": 2 * bytes_of_all}


def groups_of(a):
    """Of both triangles: groups of merged levels, entries; and levels of the longest group. None of another plan."""
    found = re.findall(r"levels in (\d+) groups of (\d+) at most, ([\d.]+) times the entries", a.plan)
    if a.strategy != "merged" or not found:
        return None
    of_both = 2 / len(found)  # L and U may have one text
    groups = of_both * sum(int(count) for count, _, _ in found)
    return groups, of_both * sum(float(fill) * a.entries for _, _, fill in found), max(int(m) for _, m, _ in found)


def merged(a):
    found = groups_of(a)
    if not found:
        return None
    groups, entries, _ = found
    length = entries / 2 / a.n
    return {
        "merged_begin": 1,
        "merged_group": groups,
        "merged_length": length * groups,
        "merged_entry": entries,
        "merged_longest_row": 2 * a.longest,
    }


def merged_plan(a):
    found = groups_of(a)
    if not found or a.more_us is None or a.more_us < LEAST_PLAN:
        return None
    _, entries, longest = found
    rows_of_run = a.n * min(1, LEVELS_OF_RUN / a.levels)
    return {
        "merged_plan_begin": 1,
        "merged_plan_entry": entries,
        "merged_plan_level": longest,
        "merged_plan_row_squared": rows_of_run**2,
    }


def in_space(a):
    edge = round(a.n ** (1 / 3))
    if a.strategy != "wavefront" or "groups of 8 x 4 pencils" not in a.plan or edge**3 != a.n:
        return None
    across, stacked = math.ceil(edge / 8), math.ceil(edge / 4)
    steps = math.ceil((10 + edge) / CHUNK_STEPS) * CHUNK_STEPS + 8 * (across - 1) + 4 * (stacked - 1)
    return {"space_begin": 2, "space_step": 2 * steps, "space_hop": 2 * (across + stacked - 2), "space_row": 2 * a.n}


def in_plane(a):
    edge, skew = math.isqrt(a.n), {"5pt": 1, "9pt": 2}.get(a.name)
    if a.strategy != "wavefront" or "groups of 32 pencils" not in a.plan or not skew or edge**2 != a.n:
        return None
    across, last = math.ceil(edge / PENCILS_OF_GROUP), skew - 1 + skew * (PENCILS_OF_GROUP - 1)
    steps = math.ceil((last + edge) / CHUNK_STEPS) * CHUNK_STEPS + (across - 1) * skew * PENCILS_OF_GROUP
    return {"plane_begin": 2, "plane_step": 2 * steps, "plane_hop": 2 * (across - 1)}


def node_blocks(a):
    if a.strategy != "tiled" or not a.rows_of_node:
        return None
    lanes = a.rows_of_node * a.n  # the square of its rows for each node
    return {"node_blocks_begin": 2, "node_blocks_level": 2 * a.node_levels, "node_blocks_lane": 2 * lanes}


def ghost_blocks(a):
    """`tiled` by blocks of rows, planned on the device, as rows are short enough for ghosts in L and in U. A star
    that is not solved by `wavefront` is solved by tiles, which have constants of their own."""
    has_ghosts = "ghosts" in a.plan and "near entries" not in a.plan
    if a.strategy != "tiled" or not has_ghosts or a.rows_of_node or a.name.startswith(("7pt", "5pt")):
        return None
    width = a.n / a.levels
    blocks = max(a.n / 16384, 1, width / (1.5 if a.entries > 16 * a.n else 16))
    step = "ghosts_short_step" if a.entries <= SHORT_ROWS * a.n else "ghosts_step"
    return {
        "ghosts_begin": 2,
        step: 2 * a.levels,
        "ghosts_hop": 2 * min(blocks, MULTIPROCESSORS, a.levels),
        "blocks_later_hop": 2 * max(blocks - MULTIPROCESSORS, 0),
    }


GROUPS = (single_rows, nodes, merged, merged_plan, in_space, in_plane, node_blocks, ghost_blocks)
FIXED = {"blocks_later_hop", "rows_longest_row", "merged_longest_row", "merged_plan_row_squared"}


def predict(terms, table):
    return sum(table[name] * amount for name, amount in terms.items())


def solve(matrix, right):
    """A small dense system, by elimination with pivots; None where it is singular."""
    n = len(right)
    system = [list(row) + [right[i]] for i, row in enumerate(matrix)]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(system[i][k]))
        system[k], system[best] = system[best], system[k]
        if abs(system[k][k]) < 1e-9:
            return None
        for i in range(n):
            if i != k:
                factor = system[i][k] / system[k][k]
                system[i] = [x - factor * y for x, y in zip(system[i], system[k])]
    return [system[i][n] / system[i][i] for i in range(n)]


def least_squares(names, samples, weights, table):
    """Of (fitted + fixed) / time - 1: what the constants become. They are in units in which the largest terms are 1."""
    n = len(names)
    unit = [1 / max(terms.get(name, 0) / time for terms, time in samples) for name in names]
    normal, right = [[0.0] * n for _ in names], [0.0] * n
    for (terms, time), weight in zip(samples, weights):
        fixed = sum(table[name] * amount for name, amount in terms.items() if name not in names)
        row = [u * terms.get(name, 0) / time for name, u in zip(names, unit)]
        for i in range(n):
            right[i] += weight * row[i] * (1 - fixed / time)
            for j in range(n):
                normal[i][j] += weight * row[i] * row[j]
    found = solve(normal, right)
    return found and [u * x for u, x in zip(unit, found)]


def without_negative(names, samples, weights, table):
    """The table with constants `names` fitted, of which the most negative one becomes zero until none is; or None."""
    names, table = list(names), dict(table)
    while names:
        found = least_squares(names, samples, weights, table)
        if found is None:
            return None
        if min(found) >= 0:
            return {**table, **dict(zip(names, found))}
        table[names.pop(found.index(min(found)))] = 0.0
    return None


def off(samples, table):
    return [math.log(max(predict(terms, table), 1e-9) / time) for terms, time in samples]


def mean_off(samples, table):
    return sum(map(abs, off(samples, table))) / len(samples)


def constants_of(samples):
    return sorted({name for terms, _ in samples for name, amount in terms.items() if amount and name not in FIXED})


def fit(samples, table):
    """The table with other constants of this group; None where nothing is gained. Squares, weighted anew in each round
    so that they become the absolute values of logarithms."""
    names, best = constants_of(samples), None
    weights = [1.0] * len(samples)
    for _ in range(ROUNDS):
        new = without_negative(names, samples, weights, table)
        if new is None:
            break
        if mean_off(samples, new) < mean_off(samples, best or table):
            best = new
        weights = [max(abs(x), LEAST_OFF) / max(math.expm1(x) ** 2, LEAST_OFF**2) for x in off(samples, new)]
    return best


def error_text(samples, table):
    most = max(map(abs, off(samples, table)))
    return f"{100 * math.expm1(mean_off(samples, table)):.0f} % in the mean, {100 * math.expm1(most):.0f} % at most"


def read_table(text):
    return {name: float(value) for _, name, value in CONSTANT.findall(text)}


def with_constants(text, table):
    """The text with a table's constants; those that are as they were are not touched."""
    old = read_table(text)
    return CONSTANT.sub(lambda m: m[0] if table[m[2]] == old[m[2]] else f"{m[1]}{table[m[2]]:.3g};", text)


def read_samples(paths):
    """Of each group, by its name: the terms of the model and microseconds."""
    samples = collections.defaultdict(list)
    for case in rows.read(paths):
        for strategy in STRATEGIES:
            if strategy not in case.rows or case.fill or not case.levels["lower"]:
                continue
            application = Application(case, strategy)
            for group in GROUPS:
                terms = group(application)
                if terms:
                    us = application.more_us if group is merged_plan else application.us
                    samples[group.__name__].append((terms, us))
    return samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--table", default="src/core/choose/device_model.hpp")
    parser.add_argument("--write", action="store_true", help="put the constants into the table")
    options = parser.parse_args()
    with rows.open_text(options.table) as file:
        text = file.read()
    table, samples = read_table(text), read_samples(options.csv)
    if not samples:
        sys.exit(f"error: no application by {', '.join(STRATEGIES)} in {', '.join(options.csv)}")
    for group in GROUPS:
        of_group = samples[group.__name__]
        begin = f"{group.__name__}: {len(of_group)} {'plans' if group is merged_plan else 'applications'}"
        if not of_group or len(of_group) < len(constants_of(of_group)):
            print(f"{begin}, too few to fit")
            continue
        begin += f"; the model is off by {error_text(of_group, table)}"
        new = fit(of_group, table)
        if new is None:
            print(f"{begin}, and no fit is better")
            continue
        print(f"{begin}, fitted by {error_text(of_group, new)}")
        for name in new:
            if new[name] != table[name]:
                print(f"  {name}: {table[name]:.4g} becomes {new[name]:.3g}")
        table = new
    if options.write:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write(with_constants(text, table))


if __name__ == "__main__":
    main()
