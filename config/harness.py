#!/usr/bin/env python3
"""Runs the TEST blocks of our examples with PETSc's own test harness, the plugin loaded.

    python3 config/harness.py --petsc-dir D --petsc-arch A --library L --work W [--only PATTERN] [--jobs N]

Needs gmakefile.test and its scripts, which Debian ships in libpetsc*-dev-examples and PETSc
installs under share/petsc/examples. Ends with `RESULT passed failed skipped`; no test found is a failure.
"""

import argparse
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
    parser.add_argument("--library", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", default="2")
    return parser.parse_args()


def harness_folder(petsc_dir):
    """The folder with gmakefile.test: a PETSc source tree or an installed prefix."""
    for folder in (pathlib.Path(petsc_dir) / "share/petsc/examples", pathlib.Path(petsc_dir)):
        if (folder / "gmakefile.test").is_file():
            return folder
    sys.exit(f"no gmakefile.test under {petsc_dir}; install PETSc's examples (Debian: libpetsc*-dev-examples)\nRESULT 0 1 0")


def environment(options, *libraries):
    """What a test sees: the libraries loaded by PETSC_OPTIONS."""
    env = dict(os.environ)
    env["PETSC_OPTIONS"] = "-dll_append " + ",".join(str(library) for library in libraries)
    env.update(PETSC_DIR=options.petsc_dir, PETSC_ARCH=options.petsc_arch)
    # Open MPI refuses root and more ranks than cores unless told otherwise
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    return env


def generate(options, source, work, env):
    """Test scripts of the examples under `source`, None for PETSc's own."""
    folder = harness_folder(options.petsc_dir)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / ".DIR").touch()  # without it gmakefile.test makes the list anew, for PETSc's own examples
    srcdir = [f"--srcdir={source}"] if source else []
    subprocess.run([sys.executable, str(folder / "config/gmakegentest.py"), f"--petsc-dir={options.petsc_dir}",
                    f"--petsc-arch={options.petsc_arch}", f"--testdir={work}", *srcdir],
                   env=env, check=True, stdout=subprocess.DEVNULL)
    return folder


def count(output):
    """Passed, failed and skipped tests of a TAP text; a command and its diff are two tests."""
    passed = failed = skipped = 0
    for line in output.splitlines():
        match = re.match(r"\s*(ok|not ok) (\S+)\s*(.*)", line)
        if not match:
            continue
        if "# SKIP" in line or "# TODO" in line:
            skipped += 1
            print(f"skipped {match[2]} {match[3]}")
        elif match[1] == "ok":
            passed += 1
        else:
            failed += 1
    return passed, failed, skipped


def main():
    options = arguments()
    work = pathlib.Path(options.work).resolve()
    source = ROOT / "examples"
    env = environment(options, pathlib.Path(options.library).resolve())
    folder = generate(options, source, work, env)
    command = ["make", "-j", options.jobs, "-f", str(folder / "gmakefile.test"), "test", f"PETSC_DIR={options.petsc_dir}",
               f"PETSC_ARCH={options.petsc_arch}", f"TESTDIR={work}", f"TESTSRCDIR={source}", f"PYTHON={sys.executable}",
               "TIMEOUT=100"]
    if options.only:
        command.append(f"gmakesearch={options.only}")
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(result.stdout)
    passed, failed, skipped = count(result.stdout)
    if passed + failed == 0:
        print("no test was found")
        failed = 1
    print(f"RESULT {passed} {failed} {skipped}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
