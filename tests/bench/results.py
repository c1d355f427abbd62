#!/usr/bin/env python3
"""Makes tests/bench/RESULTS.md, and numbers in README.md and plugin/MANUAL.md, from the files in tests/bench/results.

    python3 tests/bench/results.py            writes RESULTS.md and the numbers in README.md and MANUAL.md
    python3 tests/bench/results.py --check    fails if one of them is not what this program would write, or if a file in
                                              the folder belongs to no run of the list in runs.csv

A number in RESULTS.md comes from a CSV file and from nowhere else. Files and list are measure.py's, the tables are in
result_tables.py, numbers of the other pages in readme_numbers.py and manual_numbers.py. --charts FOLDER draws PNGs
there as well; --results names another folder with files, beside which its page is written.
"""

import argparse
import csv
import difflib
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import rows
import runs

HERE = pathlib.Path(__file__).resolve().parent
FOLDER, PAGE, TOP = HERE / "results", HERE / "RESULTS.md", HERE.parent.parent
PYTHON = "/usr/bin/python3"  # the one with Debian's matplotlib
MOST_COLUMNS = 8
TEXT_WIDTH = 120

RUNS = {}  # name -> (file, date of the library, commit whose lines count if not all do, what else a reader must know)


def use(folder):
    """Takes files and list of that folder."""
    global FOLDER  # noqa: PLW0603  (every table reads it)
    FOLDER = folder
    RUNS.clear()
    with open(folder / "runs.csv", encoding="utf-8", newline="") as file:
        RUNS.update((name, rest) for name, *rest in list(csv.reader(file))[1:])


HEAD = """# Results

Made by `python3 tests/bench/results.py` from the CSV files in [results](results); do not edit. One question, one table,
of the newest run that answers it. How to measure: [README.md](README.md). What was tried and dropped:
[EXPERIMENTS.md](EXPERIMENTS.md).

- Numbers are medians of one run on a machine that did nothing else, unless a table says otherwise. Quartiles are in the
  CSV files.{compared}
- GPU runs: one NVIDIA {cards}, 16 cores of an Intel Xeon, PETSc 3.26.1 with CUDA 13.0, double precision,
  32-bit indices. CPU runs: that Xeon, PETSc 3.26.1.
- *Set-up* is the first `PCSetUp` for a matrix, *refresh* one after new values with the same pattern, *apply* one
  `PCApply`: L and U together.
{vendor}
- "n times" is a ratio of speeds: 2 is twice as fast, 0.5 takes twice as long. Means are geometric.
- Matrices: `7pt` 128^3 is a 7-point stencil on that grid, `elasticity` has three unknowns a node; `syncfree_bench
  -help` describes the others. *Levels* are those of L: the longest chain of rows that wait for each other.

`python3 tests/bench/measure.py` runs the commands and keeps what they write. In them `$csv` is the file for the
results (`-bench_csv $csv` of `syncfree_bench` is left out), `$folder` one for several, `$matrices` a folder with the
real matrices, `$real` all those of R4 in it, with commas between them, and

```
build=build/gpu    # where there is no GPU: build/host
gpu="$build/syncfree_bench {gpu}"
cpu="$build/syncfree_bench"
```
"""
COMPARED = " Runs on different cards are not comparable: an H100 has 3.35 TB/s, an H200 4.8."


def identifier(name):
    return f"R{list(RUNS).index(name) + 1}"


def path_of(name):
    return FOLDER / RUNS[name][0]


def counts(name, fields):
    """False for a line of another library than the newest, in a file with several."""
    return fields.get("commit") == (RUNS[name][2] or fields.get("commit"))


def lines_of(name):
    """Its lines as dictionaries; of a file with several libraries those of the newest."""
    with open(path_of(name), encoding="utf-8", newline="") as file:
        return [f for f in csv.DictReader(file) if counts(name, f)]


def origin(name):
    """(machine, commit)"""
    if name == "sweep":
        return tuple(path_of(name).read_text(encoding="utf-8").splitlines()[0].lstrip("# ").split(", commit "))
    first = lines_of(name)[0]
    return first.get("machine") or "NVIDIA H200", first["commit"]


def card(*names):
    """Of these runs: H200, or several with `and` between them."""
    found = [re.search(r"\b[A-Z]+\d+\b", origin(name)[0]) for name in names]
    return " and ".join(sorted({one[0] for one in found if one})) or "none"


def aged(name, since, text):
    """What must be said of a run as long as its library is of before that day."""
    return text if RUNS[name][1] < since else ""


def vendor():
    """Which library it is, from the files that say so."""
    versions, old = set(), set()
    for name in (name for name in RUNS if name != "sweep"):
        found = {f.get("vendor") for f in lines_of(name) if f.get("strategy") == "cusparse"}
        versions |= set(filter(rows.several_algorithms, found))
        if aged(name, "2026-11-27", "older") and found & {None, ""}:
            old.add("of CUDA 13.0")
        old |= found - {None, ""} - versions
    texts = [f"cuSPARSE {', '.join(sorted(versions))} (SpSV by the faster of its algorithms, SpSM)"] if versions else []
    texts += [f"cuSPARSE {', '.join(sorted(old))} (SpSV, SpSM), which has the default algorithm only"] if old else []
    petsc = "*PETSc* is `-pc_type ilu` on the same matrix; on a GPU PETSc solves with cuSPARSE and factors on the CPU."
    return "- " + fill(f"*Vendor* is {', in older runs '.join(texts)}. {petsc}", 2)


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
    whole = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in whole)


printed = {}  # names of runs.RUNS: the question where the commands are


def section(question, names, where, text, lacks, remark=""):
    """`text` is a table or several; `names` are those of RUNS; `lacks` says what the numbers do not show; {gpu} at the
    beginning of `where` becomes the card or the cards."""
    cards = card(*names)
    where = where.replace("{gpu}", f"On {'GPUs' if ' and ' in cards else 'a GPU'} ({cards})")
    known = ", ".join(identifier(name) for name in names)
    dates = sorted({RUNS[name][1] for name in names})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    origins = f"Run{'s' * (len(names) > 1)} {known}, library of {when}."
    parts = [f"## {question}", f"{where}. {origins}", text, remark, lacks and f"Not shown: {lacks}",
             *again(question, names)]
    return "\n\n".join(part if part.startswith(("|", "#", "Again")) else fill(part) for part in parts if part)


def again(question, names):
    """Commands that no other question has, and where the others are."""
    makers = runs.makers()
    wanted = dict.fromkeys(makers[name].name for name in names)
    elsewhere = dict.fromkeys(f"[{printed[name]}](#{anchor(printed[name])})" for name in wanted if name in printed)
    for one in (one for one in runs.RUNS if one.name in wanted and one.name not in printed):
        printed[one.name] = question
        commands = "\n".join(map(runs.text_of, one.commands))
        yield f"Again, `measure.py --only {one.name}`:\n\n```\n{commands}\n```"
    if elsewhere:
        yield f"The command{'s are those' if len(elsewhere) > 1 else ' is that'} of {', '.join(elsewhere)}"


def anchor(question):
    """As forges name the place of a heading."""
    return re.sub(r"[^\w\- ]", "", question.lower()).replace(" ", "-")


def contents(sections):
    questions = [text.splitlines()[0].removeprefix("## ") for text in sections]
    return "\n".join(f"- [{question}](#{anchor(question)})" for question in questions)


def fill(text, indent=0):
    """Lines of TEXT_WIDTH; all but the first begin with so many blanks, for which the first has room."""
    return textwrap.fill(text, TEXT_WIDTH - indent, break_long_words=False, break_on_hyphens=False).replace(
        "\n", "\n" + " " * indent)


def provenance():
    lines = []
    for name, (file, date, _, note) in RUNS.items():
        machine, commit = origin(name)
        machine = machine.replace("(R)", "").replace(" 80GB HBM3", "").replace(" Processor", "")
        lines.append([identifier(name), f"[{file}](results/{file})", machine, date, f"`{commit}`", note])
    return "## Runs\n\n" + table(["run", "file", "machine", "date of the library", "commit", "remark"], lines)


def page():
    import result_tables  # noqa: PLC0415  (it uses what is above)

    printed.clear()
    sections = [*result_tables.sections(), provenance()]
    cards = card(*RUNS)
    values = {"vendor": vendor(), "gpu": runs.GPU, "cards": "H200 or H100 80GB" if "H100" in cards else cards,
              "compared": COMPARED * (" and " in cards)}
    head = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], HEAD).strip()
    return "\n\n".join([head, contents(sections), *sections]) + "\n"


def strangers(text):
    """Files of the folder that no run has and the page does not link."""
    for path in sorted(p for p in FOLDER.rglob("*") if p.is_file()):
        name = path.relative_to(FOLDER).as_posix()
        if name != "runs.csv" and f"](results/{name})" not in text:
            yield f"tests/bench/results/{name} is named by no table and no run"


def differences(path, text):
    """Lines of the file that are not those of the text."""
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    if there == text:
        return []
    lines = difflib.unified_diff(there.splitlines(), text.splitlines(), path.name, "made", lineterm="", n=0)
    return [f"error: {path.name} is not what results.py makes of the CSV files", *list(lines)[:20]]


def draw(folder):
    """All charts: applications by matrix on the GPU and on CPU threads; the papers' figures and the heat maps as a run
    makes them, for machines that had no matplotlib."""
    import result_tables  # noqa: PLC0415  (it uses what is above)

    python = PYTHON if os.path.exists(PYTHON) else sys.executable
    for name in ("default", "threads"):
        command = [python, str(HERE / "plot.py"), "--draw", "speed", "--out", str(folder / name)]
        subprocess.run([*command, str(path_of(name))], check=True)
    command = [python, *result_tables.command_of_papers()[0][1:], "--out", str(folder / "papers")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (folder / "papers/papers.txt").write_text(done.stdout, encoding="utf-8")
    command = [python, str(HERE / "sweep/report.py"), str(path_of("sweep")), "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    parser.add_argument("--results", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--charts", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    import manual_numbers, readme_numbers  # noqa: E401, PLC0415  (they use what is above)

    use(options.results or FOLDER)
    made = {options.results.parent / "RESULTS.md" if options.results else PAGE: page()}
    for name, numbers in (("README.md", readme_numbers), ("plugin/MANUAL.md", manual_numbers)):
        if (TOP / name).exists() and not options.results:
            made[TOP / name] = numbers.filled((TOP / name).read_text(encoding="utf-8"))
    wrong = [f"error: {text}" for text in ([] if options.results else strangers(next(iter(made.values()))))]
    for path, text in made.items():
        if options.check:
            wrong += differences(path, text)
        else:
            path.write_text(text, encoding="utf-8")
    if options.charts:
        draw(options.charts)
    print("\n".join(wrong), file=sys.stderr, end="\n" * bool(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.modules["results"] = sys.modules["__main__"]  # for result_tables, which imports it by that name
    sys.exit(main())
