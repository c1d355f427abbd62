#!/usr/bin/env python3
"""Conformance by take-over: PETSc's own examples, unmodified, with our constructors registered as
`ilu`, `icc` and `sor`.

    python3 config/conformance.py --petsc-dir D --petsc-arch A --library L --work W [--only PATTERNS] [--jobs N]

The cases are tests of PETSc, named in tests/petsc/conformance/{reference,found,sor}.txt; their
arguments and reference outputs are those of the PETSc under test. A case is one or several runs (the
values of a loop), and runs are what is counted. Each case is done twice with the same programs and the same library:
first with PETSc's own constructors, then with ours.

    fails or skips in the baseline    listed, not counted; but see below
    not ours                          our constructor was not called, or its factor never made: listed, not counted
    passed                            PETSc's own comparison with PETSc's own reference output succeeds
    passed but for view text          it does after `without_our_view` on both sides
    allowed to fail                   allow.txt names it with a reason; counted as skipped
    failed                            everything else

With SYNCFREE_TEST_OPTIONS, which PETSC_OPTIONS gets, PETSc's reference outputs are those of other options. Where only
the comparison with them fails in the baseline, the baseline's own output is a reference, too: a run that is equal to
it passes as if but for view text. How many runs factored a matrix of the device is printed.

It is a failure if a case is unknown to a PETSc for which the lists were made, and if less than
four fifths of the cases count. Ends with `RESULT passed failed skipped`.
"""

import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import harness

LISTS = harness.ROOT / "tests/petsc/conformance"
LISTED_FOR = ((3, 18), (3, 26))
TIMEOUT = 120  # s, one run; a hang is a failure with a name
PASSED = ("passed", "passed but for view text")
OTHER_OPTIONS = os.environ.get("SYNCFREE_TEST_OPTIONS", "")


def read_list(path):
    """[(first word, rest)] of the lines; `#` begins a comment."""
    lines = (line.split("#")[0].split(None, 1) for line in path.read_text().splitlines())
    return [(words[0], words[1].strip() if len(words) > 1 else "") for words in lines if words]


def petsc_version(options):
    for folder in ("include", f"{options.petsc_arch}/include"):
        header = pathlib.Path(options.petsc_dir) / folder / "petscversion.h"
        if header.is_file():
            text = header.read_text()
            return tuple(
                int(re.search(rf"define PETSC_VERSION_{part}\s+(\d+)", text)[1]) for part in ("MAJOR", "MINOR")
            )
    return harness.give_up(f"no petscversion.h under {options.petsc_dir}")


def wanted_cases(version):
    """Names of the cases that this version of PETSc should have; a line may end in `since 3.x` or `until 3.x`."""
    names = []
    for path in (LISTS / name for name in ("reference.txt", "found.txt", "sor.txt")):
        for name, rest in read_list(path):
            limits = dict(re.findall(r"(since|until) (\d+\.\d+)", rest))
            limits = {word: tuple(map(int, limit.split("."))) for word, limit in limits.items()}
            if limits.get("since", version) <= version <= limits.get("until", version):
                names.append(name)
    return names


# ---- what is built and how it is run


def takeover_library(options):
    """CMake builds it next to the plugin; made here where it did not."""
    beside = options.library.parent / "libsyncfree_takeover.so"
    if beside.is_file():
        return beside
    made, flags = options.work / "libsyncfree_takeover.so", harness.petsc_flags(options, "--cflags", "--libs")
    # C++20 and CUDA's headers are for PETSc's own, where it has CUDA
    subprocess.run(
        [
            "mpicxx",
            "-std=c++20",
            "-O1",
            "-w",
            "-shared",
            "-fPIC",
            str(harness.ROOT / "tests/petsc/takeover.cpp"),
            "-o",
            str(made),
            *flags,
            "-isystem",
            "/usr/local/cuda/include",
        ],
        check=True,
    )
    return made


def build(options, scripts, env):
    """Compiles each program once. Light optimisation: less time, and both sides run the same program."""
    programs = sorted({str(program) for program in map(harness.program_of, scripts) if program})
    print(f"compiling {len(programs)} programs", flush=True)
    with open(options.work / "compile.log", "w") as log:
        subprocess.run(
            harness.make(options, "PCC_FLAGS=-O0 -fPIC -w", *programs),
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=options.work,
        )


def spies(options, scripts):
    """Environment of the test scripts: an mpiexec that gives every run a take-over log, and a petscdiff that keeps
    what it compares. Both know the run by the script's variables `tlabel` and `insize` (its ranks), which `bash -a`
    exports."""
    first = next(iter(scripts))
    folder = re.search(r"^petsc_bindir='(.*)'", first.read_text(errors="replace"), re.M)[1]
    return {
        "PETSCMPIEXEC": harness.launcher(
            options,
            first,
            """[ "$insize" = 1 ] || unset OMP_NUM_THREADS
export SYNCFREE_TAKEOVER_LOG="$PWD/$tlabel.pcs"
""",
        ),
        "PETSCDIFF": harness.write_tool(
            options.work / "petscdiff",
            f"""for last; do :; done
cp "$last" "$tlabel.out"
printf '%s\\n' {folder}/petscdiff "$@" >"$tlabel.args"
exec {folder}/petscdiff "$@"
""",
        ),
    }


def end(process):
    """Ends mpiexec and all its ranks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


Run = collections.namedtuple("Run", "command diff remark")  # command, diff: passed, failed or None for none
Outcome = collections.namedtuple("Outcome", "runs text keep")
Remarks = collections.namedtuple("Remarks", "other_numbers on_device")  # names of runs that passed


def run(script, env, keep):
    """Does a test script; its folder of outputs becomes `keep`."""
    folder = script.with_suffix("")
    for old in (folder, keep):
        shutil.rmtree(old, ignore_errors=True)
    process = subprocess.Popen(
        ["bash", "-a", str(script), "-t", str(TIMEOUT)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=10 * TIMEOUT)
    except subprocess.TimeoutExpired:
        end(process)
        text = process.communicate()[0] + f"\nnot ok {script.stem} # ended after {10 * TIMEOUT} s\n"
    keep.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        folder.rename(keep)
    return Outcome(runs=runs_of(text), text=text, keep=keep)


def runs_of(text):
    """{name: Run} of a TAP text: a command and its diff are one run."""
    runs = {}
    for state, name, remark in harness.parse_tap(text):
        if state == "skipped" and remark.startswith("SKIP Command failed"):
            continue
        is_diff = name.startswith("diff-")
        name = re.sub(r"^(diff|cmd)-", "", name)
        old = runs.get(name, Run(None, None, ""))
        runs[name] = old._replace(diff=state) if is_diff else old._replace(command=state, remark=remark)
    return runs


# ---- what is compared


def without_our_view(text):
    """Text without what a view of our PC prints otherwise than PETSc's. In a factored matrix (the lines indented deeper
    than their heading) these are the names of its type and of its package, and the lines on inodes and on block size 1,
    which are about data structures that we do not have. Everywhere: lines of ours, which begin with `syncfree`."""
    kept, heading = [], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if heading is not None and line.strip() and indent <= heading:
            heading = None
        if re.match(r"\s*syncfree\b", line):
            continue
        if heading is not None:
            if re.search(r"I-node routines|^\s*block size is 1$", line):
                continue
            line = re.sub(r"^(\s*(?:type|package used to perform factorization):) \w+", r"\1 ...", line)
        if re.match(r"\s*Factored matrix( follows)?:$", line.rstrip()):
            heading = indent
        kept.append(line)
    return "\n".join(kept) + "\n"


# PETSc's report of memory that was never freed; its own factors of the device lose some, and ours must not lose more
LOST = re.compile(r"^\[ *\d+\] *\d+ bytes .*\n", re.M)


def same_but_for_view(name, baseline, ours):
    """Does PETSc's comparison of both outputs, with the test's own flags and filters, succeed without our view?"""
    command = (ours.keep / f"diff-{name}.args").read_text().splitlines()[:-2]
    if "-F" in command:  # what the test filters out of its output it must filter out of both of ours
        command += ["-f", command[command.index("-F") + 1]]
    texts = [(outcome.keep / f"diff-{name}.out").read_text(errors="replace") for outcome in (baseline, ours)]
    if len(LOST.findall(texts[1])) <= len(LOST.findall(texts[0])):
        texts = [LOST.sub("", text) for text in texts]
    sides = []
    for outcome, text in zip((baseline, ours), texts):
        side = outcome.keep / f"diff-{name}.out.view"
        side.write_text(without_our_view(text))
        sides.append(str(side))
    return (
        subprocess.run(
            [*command, *sides], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ours.keep
        ).returncode
        == 0
    )


NUMBER = re.compile(r"[-+]?\d+(?:\.\d*(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")


def numbers_agree(name, baseline, ours):
    """PETSc's comparison does not look at floating-point numbers; do they agree to 1e-4, or to 1e-9 absolute, with
    the baseline's? For information: some tests print what is rounding error only."""
    if not (ours.keep / f"diff-{name}.out").is_file():
        return True
    left, right = (
        [
            float(number)
            for number in NUMBER.findall(
                without_our_view((outcome.keep / f"diff-{name}.out").read_text(errors="replace"))
            )
        ]
        for outcome in (baseline, ours)
    )
    return len(left) == len(right) and all(abs(a - b) <= 1e-9 + 1e-4 * max(abs(a), abs(b)) for a, b in zip(left, right))


def taken_over(name, ours):
    """Was our factor made, or did our set-up end in an error? The take-over library wrote down what it saw."""
    log = ours.keep / f"{name}.pcs"
    return log.is_file() and re.search(r"^setup \w+ (syncfree|failed)$", log.read_text(), re.M) is not None


def on_device(name, ours):
    """Did our factorization get a matrix of the device?"""
    log = ours.keep / f"{name}.pcs"
    return log.is_file() and re.search(r"^matrix \w+ \w+(cusparse|kokkos)$", log.read_text(), re.M) is not None


def judge_run(name, baseline, ours):
    """The verdict on one run."""
    before = baseline.runs[name]
    after = ours.runs.get(name)
    if "skipped" in before:
        return f"skips in the baseline: {before.remark}"
    if OTHER_OPTIONS and (before.command, before.diff) == ("passed", "failed") and after and taken_over(name, ours):
        if (after.command, after.diff) == ("passed", "passed"):
            return "passed"
        if after.diff and same_but_for_view(name, baseline, ours):
            return "passed but for view text"
        return "fails in the baseline: its output is not PETSc's reference, and ours is neither"
    if "failed" in before:
        return f"fails in the baseline: {before.remark}"
    if after == before:
        return "passed" if taken_over(name, ours) else "not ours"
    if (
        after
        and after.command == "passed"
        and after.diff == "failed"
        and taken_over(name, ours)
        and same_but_for_view(name, baseline, ours)
    ):
        return "passed but for view text"
    return "failed"


def judge(name, script, work, env):
    """({run: verdict}, Remarks, text of the take-over, seconds) of one case."""
    begin = time.monotonic()
    baseline = run(script, env["baseline"], work / "kept" / name / "baseline")
    works = any(one.command == "passed" for one in baseline.runs.values())
    ours = run(script, env["ours"], work / "kept" / name / "ours") if works else baseline
    verdicts = {one: judge_run(one, baseline, ours) for one in baseline.runs} or {
        name: "fails in the baseline: no result"
    }
    passed = [one for one in verdicts if verdicts[one] in PASSED]
    remarks = Remarks(
        other_numbers=[one for one in passed if not numbers_agree(one, baseline, ours)],
        on_device=[one for one in passed if on_device(one, ours)],
    )
    return verdicts, remarks, ours.text, time.monotonic() - begin


def text_of(name, text):
    """What the harness printed about one run: from its line to the next run's."""
    kept, inside = [], False
    for line in text.splitlines():
        match = re.match(r" *(?:ok|not ok) (?:diff-|cmd-)?(\S+)", line)
        if match:
            inside = match[1] == name
        if inside:
            kept.append(line[:200])
    return "\n".join(kept[:12] + (["..."] if len(kept) > 72 else []) + kept[12:][-60:])


# ---- the account


def report(verdicts, allowed, cases, unknown, version, times):
    """Prints all that did not simply pass and the last line; returns whether something failed."""
    groups = collections.defaultdict(list)
    for name, verdict in sorted(verdicts.items()):
        groups[verdict.split(":")[0]].append(name)
    for group, names in sorted(groups.items()):
        print(f"{group}: {len(names)}")
        for name in names if group not in PASSED else ():
            print(f"  {name}  {verdicts[name].partition(': ')[2]}")
    for name in unknown:
        print(f"PETSc {version[0]}.{version[1]} has no test {name}")
    passed, failed = (sum(len(groups[group]) for group in names) for names in (PASSED, ("failed",)))
    failed += len(unknown) if version in LISTED_FOR else 0
    for pattern, _ in allowed:
        if any(fnmatch.fnmatchcase(name, pattern) for group in PASSED for name in groups[group]):
            print(f"allow.txt: {pattern} passes")
    counted = {name.split("+")[0] for group in (*PASSED, "failed", "allowed to fail") for name in groups[group]}
    if passed == 0 or (not OTHER_OPTIONS and len(counted) < 0.8 * len(cases)):
        print(f"only {len(counted)} of {len(cases)} cases could be counted")
        failed += 1
    slowest = sorted(times, key=times.get)[-5:]
    print("slowest: " + ", ".join(f"{name} {times[name]:.0f} s" for name in reversed(slowest)))
    print(f"RESULT {passed} {failed} {len(groups['allowed to fail'])}")
    return failed != 0


def main():
    options = harness.arguments()
    baseline = harness.environment(options, options.library)
    available = harness.generate(options, None, baseline)
    version, allowed = petsc_version(options), read_list(LISTS / "allow.txt")
    wanted = [name for name in wanted_cases(version) if harness.is_wanted(name, options)]
    cases = {name: available[name] for name in wanted if name in available}
    if not cases:
        harness.give_up("no case was found")
    baseline.update(spies(options, cases.values()))
    # Two threads where there is one rank: the parallel code runs wherever our library finds it worth while. Several
    # ranks take the threads that the library gives them: more threads than cores cost many times the time.
    ours = dict(
        baseline, OMP_NUM_THREADS="2", PETSC_OPTIONS=baseline["PETSC_OPTIONS"] + f",{takeover_library(options)}"
    )
    build(options, cases.values(), baseline)

    verdicts, remarks, times = {}, Remarks([], []), {}
    with concurrent.futures.ThreadPoolExecutor(int(options.jobs)) as pool:
        futures = {
            pool.submit(judge, name, script, options.work, {"baseline": baseline, "ours": ours}): name
            for name, script in cases.items()
        }
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            found, more, text, times[futures[future]] = future.result()
            for all_of_them, some in zip(remarks, more):
                all_of_them.extend(some)
            for name, verdict in found.items():
                reasons = [reason for pattern, reason in allowed if fnmatch.fnmatchcase(name, pattern)]
                if verdict == "failed" and reasons:
                    verdict = f"allowed to fail: {reasons[0]}"
                verdicts[name] = verdict
                print(f"[{done}/{len(cases)}] {name}: {verdict}", flush=True)
                if verdict == "failed":
                    print(text_of(name, text), flush=True)
    for name in sorted(remarks.other_numbers):
        print(f"numbers differ from the baseline's: {name}")
    print(f"on the device: {len(remarks.on_device)} of those that passed")
    return report(verdicts, allowed, cases, [name for name in wanted if name not in cases], version, times)


if __name__ == "__main__":
    sys.exit(main())
