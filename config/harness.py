#!/usr/bin/env python3
"""Runs the TEST blocks of our examples with PETSc's own test harness, the plugin loaded.

    python3 config/harness.py --petsc-dir D --petsc-arch A --library L --work W [--only PATTERNS] [--jobs N]
                              [--source S]

Needs gmakefile.test and its scripts, which Debian ships in libpetsc*-dev-examples and PETSc
installs under share/petsc/examples. A TEST block becomes a script that runs the program and
compares its output; each of the two is one test of the count. A failing test prints its
output or its diff. A script without a result (its program did not compile) is a failure, and so is
finding no test at all. Ends with `RESULT passed failed skipped`.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--petsc-dir", required=True)
    parser.add_argument("--petsc-arch", default="")
    parser.add_argument(
        "--library", required=True, type=lambda path: pathlib.Path(path).resolve(), help="libsyncfree_ilu.so"
    )
    parser.add_argument(
        "--work",
        required=True,
        type=lambda path: pathlib.Path(path).resolve(),
        help="a folder to fill; what is in it is lost",
    )
    parser.add_argument("--only", default="*", help="run only tests whose names fit, for example 'ksp_*ex2_*,ts_*'")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--source", default=ROOT / "examples", type=pathlib.Path, help="another copy of our examples")
    options = parser.parse_args()
    if not options.library.is_file():
        give_up(f"there is no {options.library}")
    return options


def is_wanted(name, options):
    return any(fnmatch.fnmatch(name, pattern) for pattern in options.only.split(","))


def give_up(reason):
    print(f"error: {reason}\nRESULT 0 1 0")
    sys.exit(1)


def harness_folder(petsc_dir):
    """The folder with gmakefile.test: an installed prefix or a PETSc source tree."""
    for folder in (pathlib.Path(petsc_dir) / "share/petsc/examples", pathlib.Path(petsc_dir)):
        if (folder / "gmakefile.test").is_file():
            return folder
    return give_up(f"no gmakefile.test under {petsc_dir}; install PETSc's examples (Debian: libpetsc*-dev-examples)")


def environment(options, *libraries):
    """What a test sees: the libraries loaded by PETSC_OPTIONS, with the options of SYNCFREE_TEST_OPTIONS before them,
    and nothing of the caller's PETSc or make."""
    env = dict(os.environ)
    more = os.environ.get("SYNCFREE_TEST_OPTIONS", "")
    env["PETSC_OPTIONS"] = f"{more} -dll_append " + ",".join(str(library) for library in libraries)
    env.update(PETSC_DIR=options.petsc_dir, PETSC_ARCH=options.petsc_arch)
    if os.geteuid() == 0:  # in a container
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Open MPI refuses more ranks than cores unless told otherwise; and by itself it
    # binds every program that runs alone to core 0, also when two run at once
    env.update(
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_mpi_yield_when_idle="1",
        OPENBLAS_NUM_THREADS="1",
    )
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    return env


def generate(options, source, env):
    """Writes the test scripts of the examples under `source` (None: PETSc's own); returns {name: script}."""
    folder, work = harness_folder(options.petsc_dir), options.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / ".DIR").touch()  # without it gmakefile.test makes the list anew, for PETSc's own examples
    srcdir = [f"--srcdir={source}"] if source else []
    done = subprocess.run(
        [
            sys.executable,
            str(folder / "config/gmakegentest.py"),
            f"--petsc-dir={options.petsc_dir}",
            f"--petsc-arch={options.petsc_arch}",
            f"--testdir={work}",
            *srcdir,
        ],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        print(done.stdout)
        give_up("PETSc's gmakegentest.py failed")
    scripts = {}
    for script in work.rglob("run*.sh"):
        label = re.search(r"^label='([^']+)'", script.read_text(errors="replace"), re.M)
        if label:
            scripts[label[1]] = script
    return {name: scripts[name] for name in sorted(scripts) if is_wanted(name, options)}


def write_tool(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def launcher(options, script, before=""):
    """An mpiexec for the test scripts, whose own `script` names; `before` are lines of shell that it does first."""
    real = re.search(r'^mpiexec=\$\{PETSCMPIEXEC:-"(.*)"\}', script.read_text(errors="replace"), re.M)[1]
    ours = pathlib.Path(__file__).resolve().parent.parent / "examples/ksp/reference/mpiexec"
    return write_tool(
        options.work / "mpiexec", f"{before}export REAL_MPIEXEC='{real}'\nexec sh '{ours}' \"$@\"\n"
    )


def program_of(script):
    """The program that a script runs, None if it only says why it skips."""
    found = re.search(r"^exec(?:utable)?='([^']+)'", script.read_text(errors="replace"), re.M)
    return (script.parent / "x" / found[1]).resolve() if found else None


def without_test(options, source, scripts):
    """The programs under `source` that use PETSc alone and have no TEST block; what includes our headers, too, is
    tested by tests/install with the installed library."""
    texts = {path.relative_to(source): path.read_text() for path in sorted(source.rglob("*.c*"))}
    programs = [path for path, text in texts.items() if "PetscCall(" in text and "<syncfree" not in text]
    labels = {path: f"{'_'.join(path.parent.parts)}-{path.stem}_" for path in programs}  # how its tests' names begin
    tested = [path for path in programs if any(name.startswith(labels[path]) for name in scripts)]
    return [path for path in programs if options.only == "*" and path not in tested]


def requirement(path):
    """What the tests of a program require, "" if nothing: PETSc makes no script where it lacks that."""
    found = re.search(r"/\*TEST.*?requires: ([^\n]*)", path.read_text(), re.S)
    return found[1] if found else ""


def petsc_flags(options, *which):
    """What PETSc's pkg-config file says, for example with --libs."""
    root = pathlib.Path(options.petsc_dir)
    env = dict(os.environ, PKG_CONFIG_PATH=f"{root / options.petsc_arch}/lib/pkgconfig:{root}/lib/pkgconfig")
    return subprocess.run(
        ["pkg-config", *which, "PETSc"], env=env, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split()


def make(options, *words):
    """The command line of PETSc's test makefile. Programs link PETSc only: the makefile would name all that PETSc
    was linked with, of which a machine that only runs it need not have the development files."""
    libraries = petsc_flags(options, "--libs")
    libraries += [f"-Wl,-rpath,{flag[2:]}" for flag in libraries if flag.startswith("-L")] + ["-lm"]
    return [
        "make",
        "-k",
        "-j",
        options.jobs,
        "-f",
        str(harness_folder(options.petsc_dir) / "gmakefile.test"),
        f"PETSC_DIR={options.petsc_dir}",
        f"PETSC_ARCH={options.petsc_arch}",
        f"TESTDIR={options.work}",
        f"PYTHON={sys.executable}",
        f"PETSC_TEST_LIB={' '.join(libraries)}",
        *words,
    ]


def parse_tap(text):
    """[(state, name, remark)] of a TAP text; state is passed, failed or skipped."""
    results = []
    for verdict, name, remark in re.findall(r"^ *(ok|not ok) (\S+)(?: # (.*))?$", text, re.M):
        skipped = remark.startswith(("SKIP", "TODO"))
        results.append(("skipped" if skipped else "passed" if verdict == "ok" else "failed", name, remark))
    return results


def output_of(text, name):
    """What a failed test printed: the comment lines behind its line of a TAP text."""
    found = re.search(rf"^ *not ok {re.escape(name)}(?: .*)?\n((?:#.*\n)*)", text, re.M)
    return found[1] if found else ""


def without_result(scripts, results):
    """Names of scripts of which no result is known; a result's name is a script's, with `diff-` before it or a
    loop's values behind it."""
    seen = {re.sub(r"^(diff|cmd)-", "", name).split("+")[0] for _, name, _ in results}
    return [name for name in scripts if name not in seen]


def run(options, source, env, scripts):
    """Runs the scripts with PETSc's makefile, shows what it prints, returns it."""
    command = make(
        options, "-Otarget", f"TESTSRCDIR={source}", "TIMEOUT=100", "test", "gmakesearch=" + " ".join(scripts)
    )
    lines = []
    with subprocess.Popen(
        command,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=options.work,
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines)


def main():
    options = arguments()
    source = options.source.resolve()
    env = environment(options, options.library)
    scripts = generate(options, source, env)
    if scripts:
        env["PETSCMPIEXEC"] = launcher(options, next(iter(scripts.values())))
    text = run(options, source, env, scripts) if scripts else ""
    results = parse_tap(text)
    count = {state: [result for result in results if result[0] == state] for state in ("passed", "failed", "skipped")}
    untested = without_test(options, source, scripts)
    needs = {path: requirement(source / path) for path in untested}
    count["skipped"] += [("skipped", path, f"requires {needs[path]}") for path in untested if needs[path]]
    for state in ("skipped", "failed"):
        for _, name, remark in count[state]:
            print(f"{state} {name} {remark}")
            if state == "failed":
                print(output_of(text, name)[:2000], end="")
    lost = [f"{name}: no result; did its program compile?" for name in without_result(scripts, results)]
    lost += [f"{path}: no TEST block" for path in untested if not needs[path]]
    for text in lost:
        print(f"failed {text}")
    passed, failed = len(count["passed"]), len(count["failed"]) + len(lost)
    if passed + failed == 0:
        print(f"no test was found under {source}")
        failed = 1
    print(f"RESULT {passed} {failed} {len(count['skipped'])}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
