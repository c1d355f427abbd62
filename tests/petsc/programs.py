#!/usr/bin/env python3
"""Programs of others that use PETSc: does our PC do in them what PETSc's own does?

    python3 tests/petsc/programs.py --petsc-dir D --petsc-arch A --library L --work W

D, A, L, W   as for processes.py

Each program solves its problem with PETSc's ilu and with ours and ends in an error unless steps and answers agree;
those of this folder in Python also if a failed pivot does not show. The programs of examples/frameworks are run, too.
Skipped where the machine's petsc4py, and so slepc4py and dolfinx, belong to another PETSc, where there is no deal.II, or
PETSc was built without Fortran. The last line is `RESULT passed failed skipped`; the exit
status is 0 if none failed.
"""

import os
import re
import shutil
import sys

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMEWORKS = os.path.join(HERE, "../../examples/frameworks")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def needs_petsc4py(petsc):
    directory = processes.petsc4py_directory(petsc)
    if directory != os.path.realpath(petsc.directory):
        raise processes.Skip(f"petsc4py is for {directory}")


def program(petsc, name, *arguments, ranks=1, **more):
    """Runs a Python program of this folder on some ranks."""
    needs_petsc4py(petsc)
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


def for_dolfinx(petsc):
    """Environment variables; the cache has the compiled forms, which are the same in all programs."""
    return {"PETSC_OPTIONS": f"-dll_append {petsc.library}", "XDG_CACHE_HOME": os.path.join(petsc.work, "cache")}


def dolfinx(petsc, ranks):
    program(petsc, "dolfinx_program.py", ranks=ranks, **for_dolfinx(petsc))


@test
def dolfinx_solves_the_poisson_problem(petsc):
    dolfinx(petsc, 1)


@test
def dolfinx_solves_the_poisson_problem_on_two_ranks(petsc):
    dolfinx(petsc, 2)


def steps(petsc, command, shows=(), **more):
    """Number of iterations that a program of examples/frameworks prints, with an error below 1e-7 where it knows one."""
    result = processes.run(command, 120, petsc.environment(**more)).ok().has(*shows)
    found = re.search(r"iterations: ([1-9]\d*)\b", result.output)
    error = re.search(r"error: (\S+)", result.output)
    result.expect(found, "prints no iterations").expect(not error or float(error[1]) < 1e-7, "the error is large")
    return int(found[1])


def same_steps(ours, theirs):
    if ours != theirs:
        raise processes.Failure(f"{ours} iterations, with PETSc's type {theirs}")


@test
def the_example_for_dolfinx_takes_the_steps_of_petsc(petsc):
    needs_petsc4py(petsc)
    command = [processes.PYTHON, os.path.join(FRAMEWORKS, "dolfinx_poisson.py")]
    shows, more = ("type: syncfree_icc\n", "syncfree strategy: "), for_dolfinx(petsc)
    ours = steps(petsc, [*command, "syncfree_icc"], shows, **more)
    same_steps(ours, steps(petsc, [*command, "icc"], ("type: icc\n",), **more))


@test
def the_example_for_slepc4py_takes_the_steps_of_petsc(petsc):
    needs_petsc4py(petsc)
    command = [processes.PYTHON, os.path.join(FRAMEWORKS, "slepc_modes.py")]
    more = {"PYTHONPATH": os.path.join(processes.PLUGIN, "python"), "SYNCFREE_ILU_LIBRARY": petsc.library}
    for solver, name in (("lobpcg", "icc"), ("gd", "ilu")):
        with_type = [*command, "-eps_type", solver, "-eps_view", "-st_pc_type"]
        shows = (f"{solver} with syncfree_{name}, converged: ", "syncfree strategy: ")
        ours = steps(petsc, [*with_type, f"syncfree_{name}"], shows, **more)
        same_steps(ours, steps(petsc, [*with_type, name], (f"{solver} with {name}, converged: ",), **more))


@test
def the_example_for_deal_ii_takes_the_steps_of_block_jacobi(petsc):
    made, env = os.path.join(petsc.work, "frameworks"), petsc.environment()
    configured = processes.run(["cmake", "-S", FRAMEWORKS, "-B", made, "-DCMAKE_BUILD_TYPE=Release"], 120, env)
    if 'configuration file provided by "deal.II"' in configured.output:
        raise processes.Skip("no deal.II")
    configured.ok()
    processes.run(["cmake", "--build", made], 600, env).ok()
    command = [os.path.join(made, "dealii_poisson"), "-dll_append", petsc.library, "-ksp_view"]
    for name in ("icc", "ilu"):
        ours = steps(petsc, [*command, "-pc_type", f"syncfree_{name}"], (f"PC syncfree_{name}, ", "syncfree strategy: "))
        same_steps(ours, steps(petsc, [*command, "-pc_type", "bjacobi", "-sub_pc_type", name], ("PC bjacobi, ",)))


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
