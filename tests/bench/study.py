"""What papers.py prints and papers_plot.py draws: the cases of a run, and who plays which part."""

import collections

import paper_numbers as paper
import rows

SHAPES = ("column_block", "row_block", "recursive_block")


class Study:
    """The cases of ILU(0), and which strategy plays which part."""

    def __init__(self, cases):
        self.cases = [case for case in cases if case.kind == "ilu" and not case.fill]
        self.names = rows.strategies(self.cases)
        self.role = {}
        for role, names in paper.ROLES.items():
            self.role[role] = next((name for name in names if name in self.names), None)

    def stand_in(self, original):
        """The case that stands for a paper's matrix, None if it was not measured; of several sizes the largest."""
        found = [c for c in self.cases if original in paper.STANDS_FOR.get(c.matrix, ())]
        return max(found, key=lambda case: case.n, default=None)

    def gflops(self, case, role):
        """Of the lower solve; of the pair for PETSc's own, which offers no halves."""
        name = self.role[role]
        return case.gflops(name, "lower") or case.gflops(name, "apply")

    def faster(self, case, name, over):
        """How many times as fast a strategy is as who plays `over`, in the lower solve, else in the pair."""
        other = self.role[over]
        return case.speedup(name, other, "lower") or case.speedup(name, other, "apply")

    def speedup(self, case, role, over):
        return self.faster(case, self.role[role], over)

    def speedups(self, role, over):
        return [v for v in (self.speedup(case, role, over) for case in self.cases) if v]

    def solve(self, case, role):
        """Seconds of a lower solve, or half a pair."""
        name = self.role[role]
        pair = case.seconds(name, "apply")
        return case.seconds(name, "lower") or (pair and pair / 2)

    def analysis(self, case, role):
        name = self.role[role]
        return case.rows[name].analysis() if name in case.rows else None


def parts_of(case):
    return int(case.note.partition("=")[2] or 0)


def triangles(study, roles):
    """(entries a row, levels, case, part, role of the fastest) of every triangle on which all roles were measured."""
    for case in study.cases:
        for part in ("lower", "upper"):
            times = {role: case.seconds(study.role[role], part) for role in roles}
            if all(times.values()) and case.levels[part] > 1:
                yield case.entries(part) / case.n, case.levels[part], case, part, min(times, key=times.get)


def precision_ratios(cases):
    """{strategy: ratios of its rate in double to that with a factor in single precision}, lower solves."""
    full = {(case.matrix, case.n): case for case in cases if not case.note}
    ratios = collections.defaultdict(list)
    for single in cases:
        double = full.get((single.matrix, single.n)) if single.note == "single" else None
        for name in single.rows if double else ():
            ratio = double.seconds(name, "lower") and single.seconds(name, "lower")
            if ratio:
                ratios[name].append(ratio / double.seconds(name, "lower"))
    return ratios


def bins_of(study):
    """{granularity, rounded down to halves: cases}, ascending."""
    found = collections.defaultdict(list)
    for case in study.cases:
        value = case.granularity("lower")
        if value is not None:
            found[2 * value // 1 / 2].append(case)
    return dict(sorted(found.items()))


def winners(cases, names):
    """{strategy: on how many of the cases its lower solve is the fastest of the names}"""
    count = collections.Counter()
    for case in cases:
        times = {name: case.seconds(name, "lower") for name in names if case.seconds(name, "lower")}
        if times:
            count[min(times, key=times.get)] += 1
    return count
