#!/usr/bin/env python3
"""Programs of others that use PETSc: does our PC do in them what PETSc's own does?

    python3 tests/petsc/programs.py --petsc-dir D --petsc-arch A --library L --work W

D, A, L, W   as for processes.py

Each program solves its problem with PETSc's ilu and with ours and ends in an error unless steps and answers agree;
those in Python also if a failed pivot does not show. Skipped where the machine's petsc4py, and so slepc4py and dolfinx,
belong to another PETSc, or PETSc was built without Fortran. The last line is `RESULT passed failed skipped`; the exit
status is 0 if none failed.
"""

import os
import re
import shutil
import sys

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def program(petsc, name, *arguments, ranks=1, **more):
    """Runs a Python program of this folder on some ranks."""
    directory = processes.petsc4py_directory(petsc)
    if directory != os.path.realpath(petsc.directory):
        raise processes.Skip(f"petsc4py is for {directory}")
    command = [processes.PYTHON, os.path.join(HERE, name), *arguments]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks), *command]
    env = petsc.environment(PYTHONPATH=os.path.join(processes.PLUGIN, "python"), **more)
    result = processes.run(command, 120, env).ok().has("OK\n")
    print(result.output.strip())


@test
def slepc4py_finds_the_same_eigenvalues(petsc):
    program(petsc, "slepc4py_program.py", SYNCFREE_ILU_LIBRARY=petsc.library)


@test
def slepc4py_finds_the_same_eigenvalues_by_petsc_options(petsc):
    program(petsc, "slepc4py_program.py", "dll_append", PETSC_OPTIONS=f"-dll_append {petsc.library}")


@test
def slepc4py_finds_the_same_eigenvalues_on_two_ranks(petsc):
    program(petsc, "slepc4py_program.py", ranks=2, SYNCFREE_ILU_LIBRARY=petsc.library)


def dolfinx(petsc, ranks):
    cache = os.path.join(petsc.work, "cache")  # the compiled forms
    program(petsc, "dolfinx_program.py", ranks=ranks, PETSC_OPTIONS=f"-dll_append {petsc.library}", XDG_CACHE_HOME=cache)


@test
def dolfinx_solves_the_poisson_problem(petsc):
    dolfinx(petsc, 1)


@test
def dolfinx_solves_the_poisson_problem_on_two_ranks(petsc):
    dolfinx(petsc, 2)


@test
def fortran_solves_by_type_and_by_options(petsc):
    include, lib = (os.path.join(petsc.prefix, folder) for folder in ("include", "lib"))
    if not os.path.exists(os.path.join(include, "petscksp.mod")):
        raise processes.Skip("no Fortran modules of this PETSc")
    if not shutil.which("mpif90"):
        missing = processes.Failure if os.environ.get("CI") == "true" else processes.Skip
        raise missing("no mpif90")
    source = os.path.join(HERE, "fortran_program.F90")
    with open(source, encoding="utf-8") as program, open(os.path.join(HERE, "../../README.md"), encoding="utf-8") as readme:
        line = re.search(r"^\| Fortran \| as above, then `(call [^`]*)` or `-pc_type` \|$", readme.read(), re.M)
        if not line or line[1] not in program.read():
            raise processes.Failure("README's line for Fortran is not in the program")
    made = os.path.join(petsc.work, "fortran_program")
    links = [f"-L{lib}", f"-Wl,-rpath,{lib}", *(flag for flag in petsc.flags() if flag.startswith("-l"))]
    command = ["mpif90", "-ffree-line-length-none", f"-I{include}", source, "-o", made, *links]
    processes.run(command, 120, petsc.environment()).ok()
    result = processes.run([made, "-dll_append", petsc.library, "-ours_pc_type", "syncfree_ilu"], 60, petsc.environment())
    print(result.ok().has("OK, iterations: ").output.strip())


def main():
    args = processes.arguments()
    petsc = processes.Petsc(args.petsc_dir, args.petsc_arch, args.library, os.path.abspath(args.work))
    return processes.run_all(TESTS, args.only, petsc)


if __name__ == "__main__":
    sys.exit(main())
