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


class Wave:
    """A matrix whose wavefronts are all of one length, and {contender: seconds of a lower solve}."""

    def __init__(self, case, seconds):
        self.count, self.seconds = case.levels["lower"], seconds
        self.length, self.flops = case.n / self.count, case.flops("lower")

    def speedup(self, over):
        """Times that the parallel loop is as fast; None if one of the two was not measured."""
        mine, other = self.seconds["loop"], self.seconds[over]
        return other / mine if mine and other else None

    def gflops(self, who):
        return rows.rate(self.flops, self.seconds[who])


def wavefronts(study, alone):
    """Waves by length and count; what one thread of the host takes is in the study `alone`."""
    host, found = {(case.matrix, case.n): case for case in alone.cases}, []
    for case in study.cases:
        seconds = {role: study.solve(case, role) for role in ("by_hand", "vendor")}
        seconds["loop"], single = case.seconds("loop", "lower"), host.get((case.matrix, case.n))
        for who, name in (("sequential", "serial"), ("one_thread", "loop")):
            seconds[who] = single and single.seconds(name, "lower")
        found.append(Wave(case, seconds))
    return sorted(found, key=lambda wave: (wave.length, wave.count))


def sweeps(waves, fixed, growing):
    """{value of `fixed`: two waves or more, ascending in `growing`}; one is "count", the other "length"."""
    found = collections.defaultdict(list)
    for wave in sorted(waves, key=lambda wave: getattr(wave, growing)):
        found[getattr(wave, fixed)].append(wave)
    return {value: found[value] for value in sorted(found) if len(found[value]) > 1}


def growths(waves, fixed, growing):
    """What the speedup over the vendor is multiplied by in each step of the sweeps."""
    steps = [pair for sweep in sweeps(waves, fixed, growing).values() for pair in zip(sweep, sweep[1:])]
    speedups = [(before.speedup("vendor"), after.speedup("vendor")) for before, after in steps]
    return [after / before for before, after in speedups if before and after]
