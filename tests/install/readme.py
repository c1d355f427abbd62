#!/usr/bin/env python3
"""README's own lines, pasted: from an empty HOME and prefix to a solve by options, in C and in Python.

    python3 tests/install/readme.py --petsc-dir D [--petsc-arch A] --program P --work W

D, A   the PETSc to build for; Debian's is left to be found, as README has it
P      a program of PETSc's that solves with a KSP and does not know this library, for README's ./your_program
W      a folder of our own

The lines are taken from README.md: where it has them no more, or has a block of code that is not known here, that is a
failure. What build/host has compiled comes from ccache. Ends with `RESULT passed failed skipped`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = []

# Blocks that other stages run, or that need a GPU
ELSEWHERE = (r"^build/syncfree_bench .* aijcusparse", r"^bash config/demo\.sh", r"-dm_mat_type aijcusparse")

C_PROGRAM = """
  PetscInt n = 100;
  Mat      A;
  Vec      b, x;
  KSP      ksp;
  PC       pc;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, NULL, &A));
  for (PetscInt i = 0; i < n; i++) {
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
    if (i + 1 < n) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
"""
C_END = """
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  return 0;
}
"""
PYTHON_PROGRAM = """
from petsc4py import PETSc
n = 100
A = PETSc.Mat().createAIJ([n, n], nnz=3)
for i in range(n):
    for j in range(max(i - 1, 0), min(i + 2, n)):
        A.setValue(i, j, 2.0 if i == j else -1.0)
A.assemble()
x, b = A.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
pc = ksp.getPC()
"""
PYTHON_END = """
ksp.setFromOptions()
ksp.solve(b, x)
"""
LAUNCHER = """#!/usr/bin/env bash
# Compiles the file of the tree that was copied, from the folder and with the options of build/host: ccache has the answer.
export HOME={home}
tree={tree} root={root} arguments=()
case "$*" in *"$tree/build/"*) exec ccache "$@" ;; esac # CMake's own trials
for argument; do
  case $argument in CMakeFiles/*) argument=$PWD/$argument ;; *) argument=${{argument//"$tree"/"$root"}} ;; esac
  arguments+=("$argument")
  if [ "$argument" = -Wpedantic ]; then arguments+=({more}); fi
done
cd "$root/build/host" && exec ccache "${{arguments[@]}}"
"""


class Failure(Exception):
    """What does not hold."""


class Skip(Exception):
    """Why a test cannot run here."""


class Place:
    """README's blocks, a copy of the repository and an empty HOME."""

    def __init__(self, args):
        self.work, self.program = pathlib.Path(args.work).resolve(), os.path.abspath(args.program)
        shutil.rmtree(self.work, ignore_errors=True)
        self.tree, self.home, self.used = self.work / "tree", self.work / "home", set()
        self.readme = (ROOT / "README.md").read_text(encoding="utf-8")
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```$", self.readme, re.M | re.S)
        self.home.mkdir(parents=True)
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns("build", ".git"), symlinks=True)
        os.symlink(self.program, self.tree / "your_program")
        drop = "PETSC_DIR PETSC_ARCH PETSC_OPTIONS PKG_CONFIG_PATH PYTHONPATH CMAKE_PREFIX_PATH CI".split()
        self.env = {name: value for name, value in os.environ.items() if name not in drop}
        self.env["HOME"] = str(self.home)
        self.debian = args.petsc_dir.startswith("/usr/lib/petscdir/")
        if not self.debian:
            self.env.update(PETSC_DIR=args.petsc_dir, PETSC_ARCH=args.petsc_arch)
        if shutil.which("ccache") and (ROOT / "build/host").is_dir():
            self._compile_by_ccache()

    def _compile_by_ccache(self):
        launcher = self.work / "launcher"
        more = "-Werror" if os.environ.get("CI") == "true" else ""
        text = LAUNCHER.format(home=os.environ["HOME"], tree=self.tree, root=ROOT, more=more)
        launcher.write_text(text, encoding="utf-8")
        launcher.chmod(0o755)
        for language in ("C", "CXX", "CUDA"):
            self.env[f"CMAKE_{language}_COMPILER_LAUNCHER"] = str(launcher)

    def block(self, language, first):
        """The one block of README in this language that has a line like this, as text."""
        found = [k for k, (of, text) in enumerate(self.blocks) if of == language and re.search(first, text, re.M)]
        if len(found) != 1:
            raise Failure(f"README.md has {len(found)} blocks ```{language} with a line like {first}")
        self.used.add(found[0])
        return self.blocks[found[0]][1]

    def piece(self, pattern):
        """What README says in a line of text."""
        found = re.search(pattern, self.readme, re.M)
        if not found:
            raise Failure(f"README.md has no line like {pattern}")
        return found[1] if found.groups() else found[0]

    def pasted(self, lines, folder=None):
        """The output of a shell that got these lines."""
        command = ["bash", "-c", f"set -eu -o pipefail\n: ${{PETSC_DIR=}} ${{PETSC_ARCH=}} ${{PETSC_OPTIONS=}}\n{lines}"]
        done = subprocess.run(command, cwd=folder or self.tree, env=self.env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failure(f"these lines end with status {done.returncode}:\n{lines}\n{done.stdout[-4000:]}")
        return done.stdout

    def solves(self, lines, folder=None):
        """The same; the last line is a program that takes PETSc's options. It converges with our PC."""
        output = self.pasted(f"{lines.rstrip()} -ksp_converged_reason -ksp_view", folder)
        for word in (r"Linear solve converged due to CONVERGED_", r"^ *type: syncfree_ilu$"):
            if not re.search(word, output, re.M):
                raise Failure(f"no line like {word} after\n{lines}\n{output[-4000:]}")
        return output


def test(function):
    TESTS.append(function)
    return function


@test
def the_four_lines_install_and_load_the_library(place):
    lines = place.block("", r"^cmake -B build ")
    words = [line.split()[0] for line in lines.splitlines()]
    if words != ["cmake", "cmake", "cmake", "export"]:
        raise Failure(f"the lines to install are {words}")
    output = place.solves(f"{lines}./your_program -pc_type syncfree_ilu")
    path = re.search(r"^ +(export PYTHONPATH=.*)$", output, re.M)
    if not path:
        raise Failure(f"the install prints no line with PYTHONPATH:\n{output[-4000:]}")
    place.python_path = path[1]


@test
def the_first_line_solves(place):
    place.solves(place.block("", r"^\./your_program -dll_append /path/").replace("/path/to", "$HOME/syncfree/lib"))


@test
def options_alone_solve(place):
    options = place.piece(r"^\| any, by its command line \| `(-dll_append [^`]*)` \|$")
    place.solves(f"./your_program {options}")


@test
def lines_in_petscrc_load_and_select_the_library(place):
    place.piece(r"or both in `~/\.petscrc`, one option a line")
    petscrc = place.home / ".petscrc"
    library = f"{place.home}/syncfree/lib/libsyncfree_ilu.so"
    petscrc.write_text(f"-dll_append {library}\n-pc_type syncfree_ilu\n", encoding="utf-8")
    try:
        place.solves("./your_program")
    finally:
        petscrc.unlink()


def c_program(place):
    lines = place.block("c", r"^#include <syncfree_petsc\.h>$")
    include, rest = lines.split("\n", 1)
    begin, end = rest.split("...\n")
    folder = place.work / "c"
    folder.mkdir(exist_ok=True)
    text = f"#include <petscksp.h>\n{include}\nint main(int argc, char **argv)\n{{\n{begin}{C_PROGRAM}{end}{C_END}"
    (folder / "program.c").write_text(text, encoding="utf-8")
    return folder


@test
def a_c_program_links_the_library_by_pkg_config(place):
    place.solves(place.block("", r"^mpicc program\.c ") + "./program", c_program(place))


@test
def a_c_program_links_the_library_by_cmake(place):
    package, target = place.piece(r"`(find_package\(syncfree\))`"), place.piece(r"`(syncfree::syncfree_ilu)`")
    place.piece(r"`CMAKE_PREFIX_PATH`")
    folder = c_program(place)
    text = f"project(program C)\n{package}\nadd_executable(program program.c)\ntarget_link_libraries(program {target})\n"
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.22)\n{text}", encoding="utf-8")
    lines = 'export CMAKE_PREFIX_PATH=$HOME/syncfree\ncmake -B build -DPETSC_DIR="$PETSC_DIR" -DPETSC_ARCH="$PETSC_ARCH"'
    place.solves(f"{lines}\ncmake --build build\nbuild/program", folder)


@test
def a_python_program_imports_the_module(place):
    lines = place.block("python", r"^import syncfree_ilu$")
    if not place.debian:
        raise Skip("petsc4py is Debian's, which belongs to Debian's PETSc")
    begin, end = lines.split("...\n")
    (place.work / "program.py").write_text(begin + PYTHON_PROGRAM + end + PYTHON_END, encoding="utf-8")
    place.solves(f"{place.python_path}\n/usr/bin/python3 program.py", place.work)


@test
def no_block_of_code_is_left_out(place):
    for k, (language, text) in enumerate(place.blocks):
        if k not in place.used and not any(re.search(pattern, text, re.M) for pattern in ELSEWHERE):
            raise Failure(f"README.md has a block ```{language} that is not tried here:\n{text}")


def has_cuda(args):
    configured = [pathlib.Path(args.petsc_dir, arch, "include/petscconf.h") for arch in (args.petsc_arch, "")]
    text = next(path.read_text(encoding="utf-8") for path in configured if path.exists())
    return "define PETSC_HAVE_CUDA " in text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("--petsc-dir", "--program", "--work"):
        parser.add_argument(name, required=True)
    parser.add_argument("--petsc-arch", default="")
    args, counts = parser.parse_args(), [0, 0, 0]
    if has_cuda(args):
        print("skipped: PETSc has CUDA, and the kernels would be compiled anew\nRESULT 0 0 1")
        return 0
    place = Place(args)
    for function in TESTS:
        begin, kind, detail = time.time(), 0, ""
        try:
            function(place)
        except Skip as skip:
            kind, detail = 2, f": {skip}"
        except Failure as failure:
            kind, detail = 1, f": {failure}"
        counts[kind] += 1
        print(f"{('passed', 'FAILED', 'skipped')[kind]:8} {function.__name__} ({time.time() - begin:.1f} s){detail}", flush=True)
        if kind == 1 and function is TESTS[0]:
            break  # the others need what it installs
    print("RESULT", *counts)
    return bool(counts[1])


if __name__ == "__main__":
    sys.exit(main())
