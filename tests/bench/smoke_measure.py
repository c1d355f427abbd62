"""Every command of runs.py with tiny sizes on the host, and the pages from what they write: measure.py --smoke.

Strategies of the device have stand-ins, whose lines get the device's names, so that all tables find what they read. The
numbers mean nothing. Not run: the sweep, which is a CUDA program of its own; its file is the published one.
"""

import contextlib
import csv
import io
import pathlib
import shutil
import subprocess
import sys
import time
import types

import measure
import runs
from checks import Failure, expect

STAND_INS = {"cusparse": "serial", "level_order": "blocks", "csr_writing_first": "sync_free"}
OF_PAPERS = {"cusparse": "sync_free", "level_order": "recursive_block", "csr_writing_first": "loop"}
THREADS = {"16": "2"}
ROWS = {"dense": 40, "beam": 486, "kkt": 432, "7pt": 64, "27pt": 64}  # of each matrix; else FEW
FEW = 200
ONE = "1"
TINY = {
    "-bench_time": "0.001", "-bench_repetitions": ONE, "-bench_hpcg_like": "16", "-bench_hpcg_like_check": "16",
    "-bench_max_it": "300", "--bratu": "6", "--reaction": "3", "--ranks": ONE, "--gpus": ONE, "--repeat": ONE,
}
DEVICE_ONLY = {"-bench_pc_syncfree_expected_applies"}  # options that nothing reads on the host
MATRIX = "small"


def tiny(option, value):
    """The value of an option, for some milliseconds on the host."""
    if option == "-bench_matrices":
        names = dict.fromkeys(item.split(":")[0] for item in value.split(","))
        return ",".join(f"{name}:{ROWS.get(name, FEW)}" for name in names)
    if option == "-bench_sizes":
        return "64"
    if option == "--grid":
        return "6" if int(value) < 100 else "5"
    if option == "-bench_threads":
        return ",".join(THREADS.get(count, count) for count in value.split(","))
    if option == "-bench_strategies":
        return ",".join(dict.fromkeys(STAND_INS.get(name, name) for name in value.split(",")))
    return TINY.get(option, value)


def smaller(command):
    """The command, for the host."""
    words = list(command.words)
    if words[0] == "$gpu":
        words[:1] = ["$cpu", *(["-bench_threads", ONE] if "-bench_threads" not in words else [])]
    if "tests/bench/papers.sh" in words:
        words[words.index("--device")] = "--small"
    result = []
    while words:
        word = words.pop(0)
        if word in DEVICE_ONLY:
            words.pop(0)
        elif word == "-bench_files":
            words.pop(0)
            result += [word, f"$matrices/{MATRIX}.mtx"]
        elif word != "--device":
            given = bool(words) and word.startswith("-") and not words[0].startswith("-")
            result += [word, tiny(word, words.pop(0))] if given else [word]
    result += ["--host"] if "tests/bench/scaling.py" in result else []
    needed = {"$cpu": ("-bench_time", "-bench_repetitions"), "python3": ("--repeat",)}.get(result[0], ())
    for option in needed:
        result += [option, TINY[option]] if option not in result else []
    return runs.Command(tuple(result), command.columns)


def write_matrix(path):
    """Symmetric, positive definite, 30 rows."""
    n = 30
    lines = ["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {2 * n - 1}"]
    lines += [f"{k} {k} 4" for k in range(1, n + 1)] + [f"{k + 1} {k} -1" for k in range(1, n)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def renamed(path, stand_ins):
    """A copy in which strategies and numbers of threads have the names that a GPU and 16 cores would have given them,
    with what only a GPU's lines have."""
    back = {host: device for device, host in stand_ins.items()}
    threads = {few: many for many, few in THREADS.items()}
    fields, lines = measure.read(path)
    for line in lines:
        name, slash, count = (line.get("contender") or "").partition("/")
        strategy = line.get("strategy") or ""
        line.update(strategy=back.get(strategy, strategy), contender=back.get(name, threads.get(name, name)) + slash +
                    threads.get(count, count), threads=threads.get(line.get("threads"), line.get("threads")))
        if line["strategy"] == "cusparse" and "vendor" in line:
            line.update(vendor="12.9.4", lower_algorithm="0", upper_algorithm="2")
        if line.get("peak_bytes") == "":
            line["peak_bytes"] = line["memory_bytes"]
        if line.get("ran") in back:
            line["ran"] = back[line["ran"]]
    copy = path.with_suffix(".renamed.csv")
    with open(copy, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(lines)
    return copy


def carry_out(one, options, env):
    small = runs.Run(one.name, "cpu", 20, tuple(map(smaller, one.commands)), one.files)
    made = measure.measure(small, options, env)
    for name, path in made.items():  # the small run of papers.sh has fewer of these
        if name.startswith("parts_") and not path.exists():
            shutil.copyfile(made["parts_16"], path)
    for name, path in made.items():
        copy = renamed(path, OF_PAPERS if one.name == "papers" else STAND_INS)
        measure.check(name, copy, options.commit)
        entry = (one.files[name].replace("CARD", "smoke"), options.date, "", "")
        measure.publish(name, copy, entry, options.results)


def make_pages(options):
    """All tables from the files made here."""
    shutil.copyfile(measure.RESULTS / "sweep.csv", options.results / "sweep.csv")
    with open(options.results / "runs.csv", "a", encoding="utf-8") as file:
        file.write(f"sweep,sweep.csv,{options.date},,\n")
    script = pathlib.Path(__file__).parent / "results.py"
    done = subprocess.run([sys.executable, str(script), "--results", str(options.results)], capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 0, f"results.py: {done.stderr[-1500:]}")


def refused(what, *arguments):
    """What the failure says."""
    try:
        what(*arguments)
    except Failure as failure:
        return str(failure)
    return "nothing"


def parts_hold_each_run_once(_):
    """For smoke.py: also where runs are longer than a part."""
    for seconds in (60, 200, measure.PART, 10**6):
        parts = runs.parts(seconds)
        names = [one.name for part in parts for one in part]
        expect(sorted(names) == sorted(one.name for one in runs.RUNS), f"{seconds}: {names}")
        for part in parts:
            expect(len({one.where for one in part}) == 1, f"{seconds}: {part} mixes places")
            expect(len(part) == 1 or sum(one.seconds for one in part) <= seconds, f"{seconds}: {part} is too long")
    expect(len(runs.parts(10**6)) == 3, "more parts than places")


def only_sound_files_replace_others(bench):
    """For smoke.py: one small run through all of measure.py, and what must not get into the folder of results."""
    work = bench.work / "published"
    shutil.rmtree(work, ignore_errors=True)
    options = types.SimpleNamespace(build=bench.program.parent, matrices=work, results=work / "results", vendor=None,
                                    work=work / "work", commit="abc", date="2026-01-01", remark="made up")
    env = measure.environment(options)
    text = "-bench_symbolic 1 -bench_threads 1 -bench_kinds ilu -bench_matrices 7pt:64 -bench_time 0.001"
    good, bad = (runs.run("symbolic", "cpu", 20, runs.bench("$cpu", text + more)) for more in ("", " -bench_no 1"))
    expect("symbolic " in measure.carry_out(good, options, env), "no line of the table")
    (name, entry), = measure.listed(options.results).items()
    path = options.results / entry[0]
    expect((name, entry[1:]) == ("symbolic", ("2026-01-01", "", "made up")) and path.exists(), f"{name}: {entry}")
    before = path.read_text(encoding="utf-8")
    expect("there is no option -bench_no" in refused(measure.carry_out, bad, options, env), "takes a failed run")
    more = types.SimpleNamespace(**{**vars(options), "commit": "def"})
    expect("not of def" in refused(measure.carry_out, good, more, env), "takes another commit's file")
    expect(path.read_text(encoding="utf-8") == before, "a run that failed has changed the file")
    head, *lines = before.splitlines()
    for text, words in (("\n".join([head.replace(",note", ""), *lines]), "lacks the columns note"),
                        ("\n".join([head, lines[0], lines[0].replace(",abc,", ",xyz,")]), "not of abc"),
                        ("\n".join([head, lines[0], lines[1][:-9]]), "of {"), (head, "has no lines")):
        (work / "wrong.csv").write_text(text + "\n", encoding="utf-8")
        said = refused(measure.check, "symbolic", work / "wrong.csv", "abc")
        expect(words in said, f"takes\n{text}\nand says {said}")
    taken = types.SimpleNamespace(results=work / "taken")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed = measure.take(options.results, taken)
    expect(failed == 0, said.getvalue())
    expect((taken.results / entry[0]).read_text(encoding="utf-8") == before, "takes something else")
    path.write_text(head + "\n" + lines[0] + "\n" + lines[1][:20] + "\n", encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed = measure.take(options.results, taken)
    expect(failed == 1 and "FAILED" in said.getvalue(), "takes a file that is cut")
    expect((taken.results / entry[0]).read_text(encoding="utf-8") == before, "a cut file has replaced another")


def main(options):
    begin, failed = time.monotonic(), 0
    options.commit, options.date, options.vendor = "smoke", "2026-11-28", None
    options.build, options.work = options.build.resolve(), options.work.resolve()
    options.results = options.matrices = options.work / "results"
    shutil.rmtree(options.results, ignore_errors=True)
    options.results.mkdir(parents=True)
    write_matrix(options.matrices / f"{MATRIX}.mtx")
    env = measure.environment(options)
    for one in (one for one in runs.RUNS if one.name != "sweep"):
        before = time.monotonic()
        try:
            carry_out(one, options, env)
            print(f"{one.name:12} {time.monotonic() - before:5.1f} s", flush=True)
        except Failure as failure:
            failed += 1
            print(f"{one.name:12} FAILED: {failure}", flush=True)
    try:
        expect(not failed, "no pages without all files")
        make_pages(options)
    except Failure as failure:
        failed += 1
        print(f"pages        FAILED: {failure}")
    print(f"{len(runs.RUNS) - 1} runs and the pages in {time.monotonic() - begin:.1f} s, {failed} failed")
    return failed != 0
