"""Reads what syncfree_bench wrote and derives rates from it.

Flops are counted as the papers count them: two for every entry of a triangle, its diagonal among them, so 2 (below + n)
for L, 2 (above + n) for U and 2 (nnz + n) for the pair, where `below` and `above` are A's entries on the sides of its
diagonal. Bytes are the least that a solve with a triangle of e entries off the diagonal can move: e (scalar + index) +
n (3 scalar + index), that is entries with their columns, and of every row its pivot, its b, its x and its offset. Both
hold for ILU(0) and IC(0); with fill they are unknown, None.
"""

import collections
import csv
import math
import re
import sys

# What files of before 2026-11-27 call otherwise: `courier` has become two strategies, and so have its words for plans.


def with_new_names(fields):
    """The fields of a line, whatever version wrote them."""
    if fields.get("strategy") == "courier" or "courier" in (fields.get("ran") or ""):
        name = "wavefront" if " bundles of " in (fields.get("plan") or "") else "tiled"
        for field in ("strategy", "contender", "ran"):
            fields[field] = (fields.get(field) or "").replace("courier", name)
    if fields.get("plan"):
        fields["plan"] = fields["plan"].replace(" bundles of ", " groups of ").replace(" lines", " pencils")
    return fields


PETSC = "petsc"  # PETSc's own, where a strategy's name is wanted
PARTS = ("lower", "upper", "apply")


def several_algorithms(vendor):
    """Has this version of cuSPARSE more than one for SpSV? The benchmark then takes the faster."""
    return tuple(map(int, re.findall(r"\d+", vendor or "")[:3])) >= (12, 9, 4)


class Row:
    """A contender on a matrix. Times are seconds, None where they were not measured."""

    def __init__(self, fields):
        self.fields = fields
        self.strategy = fields["strategy"] or PETSC
        self.threads = int(fields["threads"])

    def seconds(self, event):
        text = self.fields[f"{event}_ms"]
        return float(text) / 1e3 if text else None

    def analysis(self):
        """What is done once for a pattern: a set-up less a refresh. For all of ours it holds the pattern work of the
        host; the vendor's analysis, which wants numbers, is in it as well, but not what its choice of an algorithm
        took beyond that: trials of other algorithms."""
        choice = float(self.fields.get("choice_ms") or 0) / 1e3  # older files have none
        return max(self.seconds("setup") - self.seconds("refresh") - choice, 1e-9)

    def vendor(self):
        """The vendor's library and its algorithms for L and U, as text; empty where it did not run."""
        version = self.fields.get("vendor")
        if not version:
            return ""
        return f"cuSPARSE {version} ({self.fields['lower_algorithm']}, {self.fields['upper_algorithm']})"


class Case:
    """A matrix and its contenders, of one number of threads: {strategy: Row}."""

    def __init__(self, fields):
        number = lambda name: int(fields[name] or 0)  # noqa: E731
        self.matrix, self.kind, self.fill = fields["matrix"], fields["kind"], int(fields["levels"])
        self.n, self.nnz, self.below = number("n"), number("nnz"), number("lower_nnz")
        self.longest = int(fields.get("longest") or 0)  # of a triangle's rows; older files have none
        self.levels = {"lower": number("lower_levels"), "upper": number("upper_levels")}
        self.scalar, self.index = number("scalar_bytes"), number("index_bytes")
        self.note, self.spmv = fields["note"], float(fields["spmv_ms"]) / 1e3
        self.rows = {}

    @property
    def above(self):
        return self.nnz - self.n - self.below

    def entries(self, part):
        """Off the diagonal."""
        return {"lower": self.below, "upper": self.above, "apply": self.below + self.above}[part]

    def flops(self, part):
        return None if self.fill else 2 * (self.entries(part) + self.n * (2 if part == "apply" else 1))

    def bytes(self, part):
        a_row = 3 * self.scalar + self.index
        rows = self.n * (2 if part == "apply" else 1)
        return None if self.fill else self.entries(part) * (self.scalar + self.index) + rows * a_row

    def seconds(self, strategy, part):
        return self.rows[strategy].seconds(part) if strategy in self.rows else None

    def gflops(self, strategy, part):
        return rate(self.flops(part), self.seconds(strategy, part))

    def gbytes(self, strategy, part):
        return rate(self.bytes(part), self.seconds(strategy, part))

    def speedup(self, strategy, over, part):
        """How many times as fast as `over`; None if one of them was not measured."""
        mine, other = self.seconds(strategy, part), self.seconds(over, part)
        return other / mine if mine and other else None

    def granularity(self, part):
        """log10 of rows a level over entries a row, the diagonal among them: how much a thread a row has to gain."""
        if not self.levels[part]:
            return None
        return math.log10(self.n / self.levels[part] / (1 + self.entries(part) / self.n))


def rate(amount, seconds):
    """In units of 10^9 a second."""
    return amount / seconds / 1e9 if amount and seconds else None


def open_text(path):
    """The file, open for reading; ends the program where it cannot be."""
    try:
        return open(path, encoding="utf-8", newline="")
    except OSError as error:
        sys.exit(f"error: {path} cannot be read: {error.strerror}")


def read(paths, keep=lambda fields: True):
    """Cases in the order of the files, of the lines that `keep` keeps. Of a strategy that ran with several numbers of
    threads the largest counts. Ends the program where a file is none of syncfree_bench's with applications."""
    cases = collections.OrderedDict()
    for path in paths:
        with open_text(path) as file:
            reader = csv.DictReader(file)
            for fields in filter(keep, map(with_new_names, reader)):
                try:
                    key = tuple(fields[name] for name in ("matrix", "n", "nnz", "kind", "levels", "note"))
                    case = cases.setdefault(key, Case(fields))
                    row = Row(fields)
                except (KeyError, ValueError, TypeError) as error:
                    sys.exit(f"error: {path}, line {reader.line_num}: {type(error).__name__} {error}; wanted is what "
                             f"syncfree_bench -bench_csv writes of applications, not of columns, solves or symbolic")
                if row.strategy not in case.rows or row.threads >= case.rows[row.strategy].threads:
                    case.rows[row.strategy] = row
    return list(cases.values())


def origin(paths):
    """Machines, commits and versions of the vendor's library of the files, as text."""
    found, versions = [], []
    for path in paths:
        with open_text(path) as file:
            for f in csv.DictReader(file):
                found.append(f"{f['machine'] or 'unknown'}, commit {f['commit'] or 'unknown'}")
                versions += [f"cuSPARSE {f['vendor']}"] if f.get("vendor") else []
    return "; ".join(dict.fromkeys(found + versions))


def strategies(cases):
    """In the order in which they came, PETSc's own first."""
    names = list(dict.fromkeys(name for case in cases for name in case.rows))
    return sorted(names, key=lambda name: name != PETSC)


def geometric_mean(values):
    """Of those that are not None; None of none."""
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None


def show(value, form=".3g"):
    return "-" if value is None else format(value, form)
