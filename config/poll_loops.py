#!/usr/bin/env python3
"""What the machine code of two builds has in each loop that waits, and before each named barrier.

    python3 config/poll_loops.py BEFORE AFTER [--kernels REGEX] [--all]

BEFORE and AFTER are object files, cubins or folders of object files. A loop that waits is a cycle through a load with
a memory order (LD.*STRONG) or a look at an mbarrier (SYNCS.PHASECHK); with --all also through a load of shared memory.
What it costs to find nothing is the shortest way from a look to the next one at the same place. For each kernel: these
numbers, registers, bytes of the stack, instructions that access local memory, of both builds.

A barrier of part of a block (bar.sync and bar.arrive with a number of threads) needs a warp that is together: in AFTER
a WARPSYNC must stand before it, with no branch or target of one in between.

Exit status 1 where a look takes more instructions than before, more instructions access local memory, or a warp may
come to a barrier in parts. Needs cuobjdump (CUDA toolkit, or pip's nvidia-cuda-cuobjdump) and c++filt.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?);")
WAITING_LOAD = re.compile(r"\bLDG?\.\S*STRONG|\bSYNCS\.PHASECHK|\bLDS\b")
OF_MEMORY = re.compile(r"STRONG|SYNCS")
HOT = r"solve_|factorize|run_loop|run_awaiting"
MOST = 400  # a longer way round is no loop that waits


def run(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not found; it comes with the CUDA toolkit, or with pip's nvidia-cuda-{command[0]}")
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def objects(place):
    path = pathlib.Path(place)
    if path.is_dir():
        return sorted(p for p in path.rglob("*.o") if ".cu." in p.name)
    return [path]


class Code:
    """The instructions of a kernel, by address."""

    def __init__(self):
        self.at, self.text = [], []

    def add(self, address, text):
        self.at.append(address)
        self.text.append(text)

    def successors(self):
        place = {a: k for k, a in enumerate(self.at)}
        after = []
        for k, text in enumerate(self.text):
            guard = re.match(r"@!?U?P\d+ ", text)
            body = text[guard.end():] if guard else text
            goes_on = k + 1 < len(self.at)
            ends = not guard and re.match(r"(EXIT|RET|BRX|JMX|BPT|KILL)\b", body)
            target = re.match(r"(?:BRA|JMP)\S*\s+(?:(!?U?P\d+|PT),\s*)?.*?(0x[0-9a-f]+|`\(\S+\))", body)
            here = set()
            if target and target[2] in ("", None):
                target = None
            if target:
                to = place.get(int(target[2], 16)) if target[2].startswith("0x") else None
                if to is not None:
                    here.add(to)
                always = not guard and not (target[1] and target[1] != "PT") and not re.match(r"BRA\.(DIV|CONV)", body)
                ends = ends or always
            if not ends and goes_on:
                here.add(k + 1)
            after.append(here)
        return after

    def looks(self):
        """(instructions, which memory) from one look at a place to the next one, of each place that is waited for: the
        mean where some follow each other before the loop begins again. Not of what is asked when a wait has lasted
        long, which is looked at on a longer way round through another place."""
        after = self.successors()
        places = collections.defaultdict(dict)  # by what is looked at: the way from each load to the next
        for k, text in enumerate(self.text):
            if WAITING_LOAD.search(text):
                again = {c for c, other in enumerate(self.text) if looked_at(other) == looked_at(text)}
                if way := shortest_way(after, k, again):
                    places[looked_at(text)][k] = way
        mean = {place: sum(map(len, ways.values())) / len(ways) for place, ways in places.items()}
        found = []
        for place, ways in places.items():
            passed = {looked_at(self.text[c]) for way in ways.values() for c in way} & mean.keys()
            if all(mean[other] >= mean[place] for other in passed):
                found.append((mean[place], "memory" if OF_MEMORY.search(place) else "shared"))
        return found

    def barriers_met_in_parts(self):
        """Addresses of barriers with a number of threads that a warp may reach in parts."""
        targets = {n for k, after in enumerate(self.successors()) for n in after if n != k + 1}
        found = []
        for k, text in enumerate(self.text):
            if not re.search(r"\bBAR\.(SYNC|ARV)\S* \w+, ", text):
                continue
            for before in range(k - 1, -1, -1):
                if "WARPSYNC" in self.text[before]:
                    break
                if before + 1 in targets or re.search(r"\bBRA\b|\bBSYNC\b", self.text[before]):
                    found.append(self.at[k])
                    break
        return found


def looked_at(text):
    """Kind of load and address, without guard and destination."""
    load = re.sub(r"^@!?U?P\d+ ", "", text)
    address = re.search(r"\[R?[^\[\]]*\]$|\[R\d+.*?\](?=,|$)", load)
    return f"{load.split()[0]} {address[0] if address else load}"


def shortest_way(after, start, ends):
    """The instructions from the one behind `start` to the first of `ends`, or nothing."""
    before, queue = {}, collections.deque((n, start) for n in after[start])
    while queue:
        k, from_ = queue.popleft()
        if k in before or len(before) > MOST:
            continue
        before[k] = from_
        if k in ends:
            way = [k]
            while before[way[-1]] != start:
                way.append(before[way[-1]])
            return way
        queue.extend((n, k) for n in after[k])
    return []


def names(mangled):
    """As a reader knows them, without parameters, which a type of may have changed."""
    text = subprocess.run(["c++filt", "-p"], input="\n".join(mangled), stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    short = (re.sub(r"syncfree::cuda::|\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", n) for n in text.splitlines())
    return dict(zip(mangled, short))


def kernels(files, wanted):
    """{name: (looks, registers, stack, accesses of local memory, barriers)}"""
    found = {}
    for file in files:
        code, usage = {}, {}
        current = None
        for line in run("cuobjdump", "-sass", str(file)).splitlines():
            head = re.match(r"\s+Function : (\S+)", line)
            if head:
                current = code.setdefault(head[1], Code())
            elif current is not None and (step := INSTRUCTION.match(line)):
                current.add(int(step[1], 16), step[2])
        name = None
        for line in run("cuobjdump", "-res-usage", str(file)).splitlines():
            head = re.match(r"\s*Function (\S+):", line)
            if head:
                name = head[1]
            elif name and (use := re.search(r"REG:(\d+) STACK:(\d+)", line)):
                usage[name], name = (int(use[1]), int(use[2])), None
        demangled = names(code)
        for mangled, body in code.items():
            name = demangled[mangled]
            if re.search(wanted, name):
                local = sum(bool(re.search(r"\b(LDL|STL)\b", text)) for text in body.text)
                found[name] = (body.looks(), *usage.get(mangled, (0, 0)), local, body.barriers_met_in_parts())
    return found


def listed(turns):
    """Each once, with how often it is there."""
    return ", ".join(f"{n:.3g}" + (f" x{turns.count(n)}" if turns.count(n) > 1 else "") for n in sorted(set(turns)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--kernels", default=HOT)
    parser.add_argument("--all", action="store_true", help="loops through plain loads of shared memory, too")
    options = parser.parse_args()
    before, after = (kernels(objects(p), options.kernels) for p in (options.before, options.after))
    worse = 0
    for name in sorted(before.keys() & after.keys()):
        rows = [v[name] for v in (before, after)]
        turns = [sorted(n for n, kind in row[0] if options.all or kind == "memory") for row in rows]
        if not any(turns):
            continue
        grown = turns[0] and turns[1] and any(a > b for a, b in zip(sorted(turns[1]), sorted(turns[0])))
        spilled = rows[1][3] > rows[0][3]
        parts = [f"{address:#x}" for address in rows[1][4]]
        worse += bool(grown or spilled or parts)
        notes = "".join(note for wrong, note in ((grown, "  LONGER"), (spilled, "  SPILLS"),
                                                 (parts, f"  BARRIERS {' '.join(parts)}")) if wrong)
        print(f"{name}\n  a look {listed(turns[0])} -> {listed(turns[1])}; registers {rows[0][1]} -> {rows[1][1]}; "
              f"stack {rows[0][2]} -> {rows[1][2]}; local accesses {rows[0][3]} -> {rows[1][3]}{notes}")
    missing = before.keys() ^ after.keys()
    print(f"{len(before.keys() & after.keys())} kernels in both, {len(missing)} in one; {worse} worse")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
