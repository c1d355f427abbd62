#!/usr/bin/env python3
"""Makes tests/bench/RESULTS.md from the CSV files in tests/bench/results.

    python3 tests/bench/results.py            writes RESULTS.md
    python3 tests/bench/results.py --check    fails if RESULTS.md is not what this program would write, or if a file in
                                              the folder belongs to no run of the list below

A number in RESULTS.md comes from a CSV file and from nowhere else. To publish a new run, put its CSV file into
tests/bench/results, name it in RUNS, and remove the file that it supersedes. The tables are in result_tables.py.
"""

import argparse
import csv
import difflib
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
FOLDER, PAGE = HERE / "results", HERE / "RESULTS.md"
MOST_COLUMNS = 8
TEXT_WIDTH = 120

# Runs: name in this program -> (file, date of the library, what else a reader must know of the run)
RUNS = {
    "default": ("default_h200.csv", "2026-11-26", ""),
    "planes": ("planes_h100.csv", "2026-11-26", ""),
    "lines": ("lines_h100.csv", "2026-11-25", "its lines of an older library are not used"),
    "files": ("files_h200.csv", "2026-11-26", ""),
    "files1000": ("files1000_h200.csv", "2026-11-26", ""),
    "odd": ("odd_small_h200.csv", "2026-11-26", ""),
    "untuned": ("odd_h200.csv", "2026-11-25", ""),
    "chains": ("chains_h200.csv", "2026-11-24", ""),
    "fill": ("fill_h200.csv", "2026-11-25", ""),
    "icc": ("icc_h200.csv", "2026-11-25", ""),
    "columns": ("columns_h200.csv", "2026-11-26", ""),
    "solves_h100": ("lines_solves_h100.csv", "2026-11-25", ""),
    "solves_200": ("poisson_h200.csv", "2026-11-22", ""),
    "solves": ("solves_h200.csv", "2026-11-22", ""),
    "gamg": ("gamg_h200.csv", "2026-11-21", ""),
    "orders": ("orders_h200.csv", "2026-11-28", "six calls; multicolor, cyclic, ABMC and `7pt` 8,000,000 `a2fe8db` "
               "of 2026-11-27; the load of the machine was 7 and 2 at the start of the newest two"),
    "sor": ("sor_h200.csv", "2026-11-22", ""),
    "examples": ("examples_h200.csv", "2026-11-23", "one run each"),
    "ranks": ("ranks_h200.csv", "2026-11-22", "copied from a printed table, with its few digits"),
    "threads": ("threads_h200.csv", "2026-11-27", "the load of the machine was 6 at the start"),
    "demo": ("demo_xeon.csv", "2026-11-21", "copied from a printed table, with its few digits"),
    "symbolic": ("symbolic_h200.csv", "2026-11-22", "on the CPU of that machine; ended by a time limit after 16 of 18"),
    "loop": ("loop_h200.csv", "2026-11-22", ""),
    "papers": ("papers/solves.csv", "2026-11-21", ""),
    "double": ("papers/double.csv", "2026-11-21", ""),
    "single": ("papers/single.csv", "2026-11-21", ""),
    "parts_4": ("papers/parts_4.csv", "2026-11-21", ""),
    "parts_16": ("papers/parts_16.csv", "2026-11-21", ""),
    "parts_64": ("papers/parts_64.csv", "2026-11-21", ""),
    "parts_256": ("papers/parts_256.csv", "2026-11-21", ""),
    "waves": ("papers/waves.csv", "2026-11-22", ""),
    "sequential": ("papers/sequential.csv", "2026-11-22", ""),
    "sweep": ("sweep.csv", "2026-11-21", ""),
    "blocks": ("blocks_h200.csv", "2026-11-28", "second of two rounds of four calls, alternated"),
    "hpcg_like": ("hpcg_like_h200.csv", "2026-11-28", "two calls"),
}
LIBRARY = {"lines": "e018c01"}  # where a file holds lines of several

HEAD = """# Results

Made by `python3 tests/bench/results.py` from the CSV files in [results](results); do not edit. One question, one table,
of the newest run that answers it. How to measure: [README.md](README.md). What was tried and dropped:
[EXPERIMENTS.md](EXPERIMENTS.md).

- Numbers are medians of one run on a machine that did nothing else, unless a table says otherwise. Quartiles are in the
  CSV files. Runs on different cards are not comparable: an H100 has 3.35 TB/s, an H200 4.8.
- GPU runs: one NVIDIA H200 or H100 80GB, 16 cores of an Intel Xeon, PETSc 3.26.1 with CUDA 13.0, double precision,
  32-bit indices. CPU runs: that Xeon, PETSc 3.26.1.
- *Set-up* is the first `PCSetUp` for a matrix, *refresh* one after new values with the same pattern, *apply* one
  `PCApply`: L and U together.
- *Vendor* is cuSPARSE of CUDA 13.0 (SpSV, SpSM), which has the default algorithm only. *PETSc* is `-pc_type ilu` on the
  same matrix; on a GPU PETSc solves with cuSPARSE and factors on the CPU.
- "n times" is a ratio of speeds: 2 is twice as fast, 0.5 takes twice as long. Means are geometric.
- Matrices: `7pt` 128^3 is a 7-point stencil on that grid, `elasticity` has three unknowns a node; `syncfree_bench
  -help` describes the others. *Levels* are those of L: the longest chain of rows that wait for each other.

In the commands, `$gpu` and `$cpu` stand for

```
gpu="build/gpu/syncfree_bench -use_gpu_aware_mpi 0 -bench_mat_type aijcusparse -bench_threads 16"
cpu="build/host/syncfree_bench"
```
"""


def identifier(name):
    return f"R{list(RUNS).index(name) + 1}"


def path_of(name):
    return FOLDER / RUNS[name][0]


def lines_of(name):
    """Its lines as dictionaries; of a file with several libraries those of the newest."""
    with open(path_of(name), encoding="utf-8", newline="") as file:
        return [f for f in csv.DictReader(file) if f.get("commit") == LIBRARY.get(name, f.get("commit"))]


def origin(name):
    """(machine, commit)"""
    if name == "sweep":
        return tuple(path_of(name).read_text(encoding="utf-8").splitlines()[0].lstrip("# ").split(", commit "))
    first = lines_of(name)[0]
    return first.get("machine") or "NVIDIA H200", first["commit"]


def card(name):
    return "H100" if "H100" in origin(name)[0] else "H200"


def number(value, digits=3):
    """Without an exponent."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def times(value):
    """A ratio: two digits or more."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2g}"


def table(head, lines):
    """Lines of cells as Markdown."""
    if len(head) > MOST_COLUMNS or any(len(line) != len(head) for line in lines):
        raise ValueError(f"a table has {len(head)} columns, or a line of it another number: {head}")
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


printed = {}  # commands: the question where each is printed


def section(question, runs, where, text, command, lacks, remark=""):
    """`text` is a table or several; `runs` are names of RUNS; `lacks` says what the numbers do not show."""
    known = ", ".join(identifier(name) for name in runs)
    dates = sorted({RUNS[name][1] for name in runs})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    origins = f"Run{'s' * (len(runs) > 1)} {known}, library of {when}."
    parts = [f"## {question}", f"{where}. {origins}", text, remark, f"Not shown: {lacks}"]
    if command in printed:
        parts.append(f"The command is that of [{printed[command]}](#{anchor(printed[command])})")
    else:
        printed[command] = question
        parts.append(f"Again:\n\n```\n{command}\n```")
    return "\n\n".join(part if part.startswith(("|", "#", "Again")) else fill(part) for part in parts if part)


def anchor(question):
    """As forges name the place of a heading."""
    return re.sub(r"[^\w\- ]", "", question.lower()).replace(" ", "-")


def contents(sections):
    questions = [text.splitlines()[0].removeprefix("## ") for text in sections]
    return "\n".join(f"- [{question}](#{anchor(question)})" for question in questions)


def fill(text):
    return textwrap.fill(text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)


def provenance():
    lines = []
    for name, (file, date, note) in RUNS.items():
        machine, commit = origin(name)
        machine = machine.replace("(R)", "").replace(" 80GB HBM3", "").replace(" Processor", "")
        lines.append([identifier(name), f"[{file}](results/{file})", machine, date, f"`{commit}`", note])
    return "## Runs\n\n" + table(["run", "file", "machine", "date of the library", "commit", "remark"], lines)


def page():
    import result_tables  # noqa: PLC0415  (it uses what is above)

    sections = [*result_tables.sections(), provenance()]
    return "\n\n".join([HEAD.strip(), contents(sections), *sections]) + "\n"


def strangers(text):
    """Files of the folder that no run has and the page does not link."""
    for path in sorted(p for p in FOLDER.rglob("*") if p.is_file()):
        name = path.relative_to(FOLDER).as_posix()
        if f"](results/{name})" not in text:
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    options = parser.parse_args()
    text = page()
    for name in (unknown := list(strangers(text))):
        print(f"error: tests/bench/results/{name} is named by no table and no run", file=sys.stderr)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
        return bool(unknown)
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if there != text:
        print("error: tests/bench/RESULTS.md is not what results.py makes of the CSV files", file=sys.stderr)
        print("\n".join(list(difflib.unified_diff(there.splitlines(), text.splitlines(), "RESULTS.md", "made",
                                                  lineterm="", n=0))[:20]), file=sys.stderr)
    return there != text or bool(unknown)


if __name__ == "__main__":
    sys.modules["results"] = sys.modules["__main__"]  # for result_tables, which imports it by that name
    sys.exit(main())
