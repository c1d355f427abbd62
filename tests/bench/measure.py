#!/usr/bin/env python3
"""Measures what RESULTS.md, README.md and the charts show; the list of runs and their commands is runs.py.

    python3 tests/bench/measure.py --list | --parts
    python3 tests/bench/measure.py --part K | --only NAME...  [--build FOLDER] [--matrices FOLDER]
                                   [--vendor FOLDER | --any-vendor]
                                   [--commit COMMIT] [--date DAY] [--results FOLDER] [--work FOLDER]
                                   [--within SECONDS]
    python3 tests/bench/measure.py --take FOLDER...
    python3 tests/bench/measure.py --smoke --build build/host

Parts are lists of runs that take less than nine minutes together, for machines that are lent for ten. --build has
syncfree_bench, libsyncfree_ilu.so and examples/ (bratu, reaction, poisson, convection); --vendor has another
libcusparse.so than CUDA's, which has one algorithm only before 12.9.4 and is refused without --any-vendor. --within
starts no run that is expected to end later than that, and names it. A run replaces its files in --results only if it
has not failed, all lines name the commit and one machine, and no column of the file that it replaces is missing;
runs.csv there lists files and dates. Logs and the files of failed runs stay in --work. --take brings such folders of
other machines into --results; then results.py makes the pages. --smoke runs all of it with tiny sizes on the host, for
smoke.py.

Ends with the number of runs that failed.
"""

import argparse
import csv
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import rows
import runs
from checks import Failure, expect

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "tests/bench/results"
COLUMNS = ("name", "file", "date", "lines_of", "remark")  # of runs.csv
PART = 530  # seconds


def environment(options):
    """That of config/setup.sh, which keeps MPI from tying threads to one core, and what the lines of the files name."""
    text = subprocess.run(["bash", "-c", ". config/setup.sh && env -0"], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout
    env = dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)
    paths = [str(options.vendor or ""), env.get("LD_LIBRARY_PATH", ""), "/usr/local/cuda/lib64"]
    env.update(SYNCFREE_COMMIT=options.commit, OPENBLAS_NUM_THREADS="1", LD_LIBRARY_PATH=":".join(filter(None, paths)))
    return env


def machine(where):
    """The card or the processor, as syncfree_bench calls it."""
    if where == "cpu":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        raise Failure("there is no NVIDIA GPU here") from None


def words_of(command, options, made, folder):
    """The command with all names filled in."""
    file_of = lambda name: str(options.matrices / f"{name}.petsc.gz")  # noqa: E731
    names = {"$build": str(options.build), "$matrices": str(options.matrices), "$csv": str(made),
             "$folder": str(folder), "$real": ",".join(map(file_of, runs.REAL))}
    words = [re.sub(r"\$\w+", lambda found: names.get(found[0], found[0]), word) for word in command.words]
    if words[0] in ("$gpu", "$cpu"):
        options_of_gpu = runs.GPU.split() if words[0] == "$gpu" else []
        words = [str(options.build / "syncfree_bench"), *options_of_gpu, *words[1:], "-bench_csv", str(made)]
    return words


def execute(words, env, log, seconds):
    with open(log, "w", encoding="utf-8") as file:
        file.write(" ".join(words) + "\n")
        file.flush()
        try:
            done = subprocess.run(words, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT, check=False,
                                  timeout=seconds)
            status = f"status {done.returncode}" if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            status = str(error)[-200:]
    expect(not status, f"{status}; {log} ends with\n" + "\n".join(log.read_text(errors="replace").splitlines()[-8:]))


def read(path):
    """(columns, lines)"""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        return reader.fieldnames or [], list(reader)


def join(paths, columns, path):
    """Writes the lines of all files into one, each with the columns of its command."""
    found = [read(one) for one in paths]
    head = [*found[0][0], *columns[0]]
    for one, (fields, lines), more in zip(paths, found, columns):
        expect([*fields, *more] == head, f"{one} has other columns than {paths[0]}")
        expect(lines, f"{one} has no lines")
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, head, lineterminator="\n")
        writer.writeheader()
        for (_, lines), more in zip(found, columns):
            writer.writerows({**line, **more} for line in lines)


def measure(one, options, env):
    """Runs the commands; {name: file that was made}."""
    folder = options.work / one.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "made").mkdir(parents=True)
    env = {**env, "SYNCFREE_MACHINE": machine(one.where)}
    if one.where == "cpu":
        env["CUDA_VISIBLE_DEVICES"] = ""
    paths = [folder / f"{k}.csv" for k in range(len(one.commands))]
    for command, path in zip(one.commands, paths):
        execute(words_of(command, options, path, folder / "made"), env, path.with_suffix(".txt"), 60 + 3 * one.seconds)
    if all("$folder" not in command.words for command in one.commands):
        join(paths, [command.columns for command in one.commands], folder / "made/all.csv")
        return {next(iter(one.files)): folder / "made/all.csv"}
    return {name: folder / "made" / pathlib.Path(file).name for name, file in one.files.items()}


def listed(folder):
    """{name: (file, date, commit whose lines count, remark)} of runs.csv; empty where there is none."""
    path = folder / "runs.csv"
    return {line["name"]: tuple(line[name] for name in COLUMNS[1:]) for line in read(path)[1]} if path.exists() else {}


def check(name, path, commit):
    """Is the file what may replace that of this name? Returns the machine."""
    expect(path.exists(), f"{path} was not made")
    if name == "sweep":
        head = path.read_text(encoding="utf-8").splitlines()
        found = re.match(r"# (.+), commit (\S+)$", head[0]) if len(head) > 100 else None
        expect(found and found[2] == commit, f"{path} is no sweep of {commit}")
        return found[1]
    fields, lines = read(path)
    expect(lines, f"{path} has no lines")
    before = listed(RESULTS).get(name)
    missing = [field for field in read(RESULTS / before[0])[0] if field not in fields] if before else []
    expect(not missing, f"{path} lacks the columns {', '.join(missing)}")
    commits, machines = ({line.get(field) for line in lines} for field in ("commit", "machine"))
    expect(commits == {commit}, f"{path} is of {commits}, not of {commit}")
    expect(len(machines) == 1 and not machines & {"", None}, f"{path} is of the machines {machines}")
    for line in lines:
        expect(None not in line and None not in line.values(), f"{path} has a line that is cut: {line}")
        unnamed = line.get("strategy") == "cusparse" and line.get("vendor") == ""
        expect(not unnamed, f"{path} does not say which library the vendor's is: {line}")
    return machines.pop()


def publish(name, path, entry, folder):
    """Puts the file into the folder of results and its list, and takes out what it supersedes."""
    entries = listed(folder)
    target, old = folder / entry[0], entries.get(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_suffix(".new")
    shutil.copyfile(path, new)
    os.replace(new, target)
    entries[name] = entry
    gone = [entries.pop(other)[0] for other in runs.makers()[name].supersedes if other in entries]
    gone += [old[0]] if old else []
    for file in set(gone) - {entry[0] for entry in entries.values()}:
        (folder / file).unlink(missing_ok=True)
    order = list(listed(RESULTS))  # so that the numbers of runs stay
    ordered = sorted(entries, key=lambda name: order.index(name) if name in order else len(order))
    with open(folder / "runs.new", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((name, *entries[name]) for name in ordered)
    os.replace(folder / "runs.new", folder / "runs.csv")


def publish_figures(made, target):
    """Pictures and the text that a script made beside its CSV files; those of an older run go with it."""
    found = [*made.glob("*.png"), *made.glob("papers.txt")]
    if found and target.name == "papers":
        for old in [*target.glob("*.png"), *target.glob("*.txt")]:
            old.unlink()
    for path in found:
        shutil.copyfile(path, target / path.name)


def name_of_card(name):
    found = re.search(r"\b[A-Z]+\d+\b", name) or re.search(r"Xeon|EPYC|Grace", name)
    return found[0].lower() if found else "cpu"


def carry_out(one, options, env):
    """One run from its commands to the list; a line of the table."""
    begin = time.monotonic()
    missing = [name for name in one.matrices() if not (options.matrices / f"{name}.petsc.gz").exists()]
    expect(not missing, f"{options.matrices} lacks {', '.join(missing)}")
    made = measure(one, options, env)
    machines = {name: check(name, path, options.commit) for name, path in made.items()}
    for name, path in made.items():
        file = one.files[name].replace("CARD", name_of_card(machines[name]))
        publish(name, path, (file, options.date, "", options.remark), options.results)
    publish_figures(options.work / one.name / "made", (options.results / file).parent)
    took, count = time.monotonic() - begin, sum(len(path.read_text().splitlines()) - 1 for path in made.values())
    means = summary(next(iter(made.values())))
    return f"{one.name:12} {took:6.0f} s, expected {one.seconds:3} {count:5} lines  {means}"


def summary(path):
    """Geometric means of an application's speed, where the file has applications."""
    if not {"spmv_ms", "contender", "apply_ms"} <= set(read(path)[0]):
        return ""
    cases = rows.read([path])
    means = {other: rows.geometric_mean([case.speedup("auto", other, "apply") for case in cases])
             for other in (rows.PETSC, "cusparse")}
    return ", ".join(f"{mean:.2f} times {other}'s speed" for other, mean in means.items() if mean)


def vendor_there(options, env):
    """Version of the cuSPARSE that the benchmark loads; it also shows that the benchmark runs."""
    made = options.work / "vendor.csv"
    command = runs.bench("$gpu", "-bench_matrices 7pt:1000 -bench_kinds ilu -bench_strategies cusparse "
                         "-bench_time 0.01")
    execute(words_of(command, options, made, options.work), env, made.with_suffix(".txt"), 120)
    return next(line["vendor"] for line in read(made)[1] if line["strategy"] == "cusparse")


def carry_out_all(wanted, options):
    env, failed, left, begin = environment(options), [], [], time.monotonic()
    options.work.mkdir(parents=True, exist_ok=True)
    if any(one.where == "gpu" for one in wanted) and not options.any_vendor:
        version = vendor_there(options, env)
        expect(rows.several_algorithms(version), f"cuSPARSE {version} has one algorithm only, and the vendor is "
               "measured by its fastest: name the folder of a newer one by --vendor, or say --any-vendor")
    for one in wanted:
        if time.monotonic() - begin + one.seconds > options.within:
            left.append(one.name)
            continue
        try:
            print(carry_out(one, options, env), flush=True)
        except Failure as failure:
            failed.append(one.name)
            print(f"{one.name:12} FAILED: {failure}", flush=True)
    if left:
        print(f"left for want of time: --only {' '.join(left)}")
    took = f"{len(wanted) - len(left)} runs in {time.monotonic() - begin:.0f} s"
    print(f"{took}, {len(failed)} failed {' '.join(failed)}")
    return len(failed) + len(left)


def take(folder, options):
    """Brings the files of another machine's folder into --results."""
    failed = 0
    for name, entry in listed(folder).items():
        try:
            path = folder / entry[0]
            head = re.match(r"# .+, commit (\S+)", path.read_text(encoding="utf-8"))  # of a sweep
            commit = head[1] if head else read(path)[1][0]["commit"]
            check(name, path, commit)
            publish(name, path, entry, options.results)
            print(f"{name:12} {entry[0]}, {commit}")
        except Failure as failure:
            failed += 1
            print(f"{name:12} FAILED: {failure}")
    for part in ("", "papers"):
        if (folder / part).is_dir():
            publish_figures(folder / part, options.results / part)
    print(f"{failed} failed")
    return failed


def show_list(parts):
    place = {one.name: k for k, part in enumerate(parts, 1) for one in part}
    print(f"{'run':12} {'where':5} {'seconds':>7} {'part':>4} {'matrices':>8}  file")
    for one in runs.RUNS:
        file = next(iter(one.files.values()))
        print(f"{one.name:12} {one.where:5} {one.seconds:7} {place[one.name]:4} {len(one.matrices()):8}  {file}")


def show_parts(parts):
    for k, part in enumerate(parts, 1):
        seconds, names = sum(one.seconds for one in part), " ".join(one.name for one in part)
        print(f"part {k}: {part[0].where:4} {seconds:4} s  {names}")


def git(*words):
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def complete(options):
    """What follows from options or from git."""
    commit = options.commit or os.environ.get("SYNCFREE_COMMIT") or git("describe", "--always", "--dirty", "--abbrev=7")
    if not commit or commit.endswith("-dirty"):
        sys.exit(f"error: the lines name a commit, and this tree's is '{commit}'; say --commit")
    options.commit = commit
    options.date = options.date or git("show", "-s", "--format=%cs", commit) or datetime.date.today().isoformat()
    load = os.getloadavg()[0]
    options.remark = f"the load of the machine was {load:.0f} at the start" if load >= 2 else ""
    for name in ("build", "results", "matrices", "work"):
        setattr(options, name, getattr(options, name).resolve())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true")
    what.add_argument("--parts", action="store_true")
    what.add_argument("--part", type=int, metavar="K")
    what.add_argument("--only", nargs="+", metavar="NAME", choices=[one.name for one in runs.RUNS])
    what.add_argument("--take", nargs="+", type=pathlib.Path, metavar="FOLDER")
    what.add_argument("--smoke", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--matrices", type=pathlib.Path, default=ROOT.parent / "shared/matrices")
    parser.add_argument("--vendor", type=pathlib.Path)
    parser.add_argument("--any-vendor", action="store_true")
    parser.add_argument("--within", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--commit")
    parser.add_argument("--date", help="of the library; default: of the commit, where git knows it, else today's")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/measure")
    options = parser.parse_args()
    parts = runs.parts(PART)
    if options.list or options.parts:
        (show_list if options.list else show_parts)(parts)
        return 0
    if options.take:
        return sum(take(folder, options) for folder in options.take) != 0
    if options.smoke:
        import smoke_measure  # noqa: PLC0415  (which uses this module)

        return smoke_measure.main(options)
    complete(options)
    if options.part is not None and not 1 <= options.part <= len(parts):
        sys.exit(f"error: there are parts 1 to {len(parts)}")
    wanted = parts[options.part - 1] if options.part else [one for one in runs.RUNS if one.name in options.only]
    try:
        return carry_out_all(wanted, options) != 0
    except Failure as failure:
        sys.exit(f"error: {failure}")


if __name__ == "__main__":
    sys.modules["measure"] = sys.modules["__main__"]  # for smoke_measure, which imports it by that name
    sys.exit(main())
