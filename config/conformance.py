#!/usr/bin/env python3
"""Conformance by take-over: PETSc's own examples, unmodified, with our constructors registered as
`ilu` and `icc`.

    python3 config/conformance.py --petsc-dir D --petsc-arch A --library L --work W [--only PATTERN] [--jobs N]

Each case of tests/petsc/conformance/cases.txt runs twice with the same library and machine: first with
PETSc's own constructors (the baseline), then with ours. Its arguments and reference output are
those of the PETSc under test. A case counts if the baseline passes and our constructor was really
called; it fails if it then does not pass with ours.

Outputs that differ from the reference are compared once more without the text in which a view must
differ (see `filtered`), and are counted apart. Entries of allow.txt have a reason each and count as
skipped. Ends with `RESULT passed failed skipped`.
"""

import collections
import concurrent.futures
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys

import harness

CASES = harness.ROOT / "tests/petsc/conformance"
LOG = "takeover.log"


def read_list(path):
    """{name: rest of the line}; `#` begins a comment."""
    entries = {}
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split(None, 1)
        if words:
            entries[words[0]] = words[1] if len(words) > 1 else ""
    return entries


def find_scripts(work):
    """{label: script} of everything that the harness generated."""
    scripts = {}
    for script in work.rglob("run*.sh"):
        label = re.search(r"^label='([^']+)'", script.read_text(errors="replace"), re.M)
        if label:
            scripts[label[1]] = script
    return scripts


def build(options, folder, work, scripts, env):
    """Compiles each program once; one that does not compile fails in the baseline and is listed there."""
    programs = set()
    for script in scripts:
        program = re.search(r"^exec='\.\./([^']+)'", script.read_text(errors="replace"), re.M)
        if program:
            programs.add(str(script.parent / program[1]))
    print(f"compiling {len(programs)} programs", flush=True)
    log = work / "compile.log"
    with open(log, "w") as file:
        subprocess.run(["make", "-k", "-j", options.jobs, "-f", str(folder / "gmakefile.test"), *sorted(programs),
                        f"PETSC_DIR={options.petsc_dir}", f"PETSC_ARCH={options.petsc_arch}", f"TESTDIR={work}",
                        f"PYTHON={sys.executable}"], env=env, stdout=file, stderr=subprocess.STDOUT)


Outcome = collections.namedtuple("Outcome", "ok skipped text outputs taken_over")


def run(script, env, keep):
    """Runs a test script; its outputs are copied to `keep`."""
    folder = script.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        text = subprocess.run(["bash", str(script)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, text=True, errors="replace").stdout
    except subprocess.TimeoutExpired as expired:
        text = f"not ok {script.stem} # no end within {expired.timeout} s\n"
    shutil.rmtree(keep, ignore_errors=True)
    outputs = {}
    if folder.is_dir():
        shutil.copytree(folder, keep)
        outputs = {str(path.relative_to(keep)): path for path in sorted(keep.rglob("*.tmp"))}
    results = re.findall(r"^\s*(ok|not ok) \S+(.*)$", text, re.M)
    return Outcome(ok=bool(results) and all(state == "ok" for state, _ in results),
                   skipped=not results or all("# SKIP" in rest or "# TODO" in rest for _, rest in results),
                   text=text, outputs=outputs, taken_over=any(keep.rglob(LOG)))


def filtered(path):
    """Text without what a view of our PC must print otherwise than PETSc's: the names of the types, the
    type and package of the factored matrix with its inode and block-size lines, and our own lines."""
    kept, in_factor = [], False
    for line in path.read_text(errors="replace").splitlines():
        if "Factored matrix follows" in line:
            in_factor = True
        elif in_factor and re.match(r"\s*type: ", line):
            in_factor = False
            continue
        if re.search(r"package used to perform factorization|I-node routines|^\s*block size is \d|^\s*syncfree", line):
            continue
        kept.append(re.sub(r"syncfree_(ilu|icc)", r"\1", line).strip())
    return "\n".join(line for line in kept if line) + "\n"


def same_but_for_views(petsc_dir, petsc_arch, baseline, ours, work):
    """Do all outputs agree by PETSc's own comparison once the views are filtered?"""
    if not ours.outputs or ours.outputs.keys() != baseline.outputs.keys():
        return False
    differ = next(p for p in (pathlib.Path(petsc_dir) / "lib/petsc/bin/petscdiff",
                              pathlib.Path(petsc_dir) / petsc_arch / "lib/petsc/bin/petscdiff") if p.exists())
    for name, path in ours.outputs.items():
        left, right = (pathlib.Path(f"{path}.{side}") for side in ("baseline", "ours"))
        left.write_text(filtered(baseline.outputs[name]))
        right.write_text(filtered(path))
        if subprocess.run([str(differ), str(left), str(right)], stdout=subprocess.DEVNULL, cwd=work).returncode:
            return False
    return True


def judge(options, label, script, work, env):
    """(verdict, text) of one case."""
    baseline = run(script, env["baseline"], work / "kept" / label / "baseline")
    if baseline.skipped:
        return "skips in the baseline", baseline.text
    if not baseline.ok:
        return "fails in the baseline", baseline.text
    ours = run(script, env["ours"], work / "kept" / label / "ours")
    if not ours.taken_over:
        return "not ours", ""
    if ours.ok:
        return "passed", ""
    command_failed = re.search(r"^\s*not ok (?!diff-)", ours.text, re.M)
    if not command_failed and same_but_for_views(options.petsc_dir, options.petsc_arch, baseline, ours, work):
        return "passed but for view text", ""
    return "failed", ours.text


def main():
    options = harness.arguments()
    options.library = pathlib.Path(options.library).resolve()
    takeover = options.library.parent / "libsyncfree_takeover.so"
    work = pathlib.Path(options.work).resolve()
    env = {"baseline": harness.environment(options, options.library),
           "ours": harness.environment(options, options.library, takeover)}
    env["ours"]["SYNCFREE_TAKEOVER_LOG"] = LOG
    env["ours"]["OMP_NUM_THREADS"] = "2"
    folder = harness.generate(options, None, work, env["baseline"])
    cases, allowed = read_list(CASES / "cases.txt"), read_list(CASES / "allow.txt")
    scripts = {label: path for label, path in find_scripts(work).items()
               if label in cases and fnmatch.fnmatch(label, options.only or "*")}
    print(f"{len(cases) - len(scripts)} of {len(cases)} cases do not exist in this PETSc or were not asked for")
    build(options, folder, work, scripts.values(), env["baseline"])

    verdicts = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(int(options.jobs)) as pool:
        futures = {pool.submit(judge, options, label, script, work, env): label for label, script in sorted(scripts.items())}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            label, (verdict, text) = futures[future], future.result()
            if verdict == "failed" and label in allowed:
                verdict = "allowed to fail"
            verdicts[verdict].append(label)
            print(f"[{done}/{len(futures)}] {label}: {verdict}", flush=True)
            if verdict == "failed":
                print(text[-4000:], flush=True)

    for verdict, labels in sorted(verdicts.items()):
        print(f"{verdict}: {len(labels)}")
        if verdict not in ("passed", "passed but for view text"):
            for label in sorted(labels):
                print(f"  {label} {allowed.get(label, '') if verdict == 'allowed to fail' else ''}")
    passed = len(verdicts["passed"]) + len(verdicts["passed but for view text"])
    failed = len(verdicts["failed"]) + (passed == 0)
    print(f"RESULT {passed} {failed} {len(verdicts['allowed to fail'])}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
