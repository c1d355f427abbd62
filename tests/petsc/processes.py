#!/usr/bin/env python3
"""Tests that need whole processes: how the plugin is loaded, and what happens on several ranks (reports.py: what it
prints).

    python3 tests/petsc/processes.py --petsc-dir D --petsc-arch A --library L --work W
        [--other-petsc-dir D2 --other-petsc-arch A2 --other-library L2] [--other-kinds L3...]

D, A     the PETSc that L was built for
L        libsyncfree_ilu.so
W        a folder of our own for compiled programs
D2, L2   another PETSc and the library built for that one: each library must refuse the other's program in words
L3       libraries for PETSc of this release with other scalars or indices: they must refuse this one's program

Compiles program.c, cycles.cpp, one_rank.cpp and layouts.cpp of this folder and runs them with every kind of option. A run that does
not end in time is a failure called "hangs". The last line is `RESULT passed failed skipped`; the exit status is 0 if
none failed.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.join(HERE, "..", "..", "plugin")
PYTHON = "/usr/bin/python3"  # the one that Debian's petsc4py belongs to
TESTS = []


class Failure(Exception):
    """A test's expectation does not hold; the text says which."""


class Skip(Exception):
    """A test cannot run here; the text says why."""


class Run:
    """What a finished process left behind."""

    def __init__(self, command, status, output):
        self.command, self.status, self.output = command, status, output

    def fail(self, text):
        command, tail = " ".join(self.command), self.output[-3000:]
        raise Failure(f"{text}\n    command: {command}\n    status: {self.status}\n    output: ...{tail}")

    def expect(self, condition, text):
        if not condition:
            self.fail(text)
        return self

    def ok(self):
        return self.expect(self.status == 0, "ended with an error")

    def has(self, *parts):
        for part in parts:
            self.expect(part in self.output, f"{part!r} is not in the output")
        return self

    def lacks(self, part):
        return self.expect(part not in self.output, f"{part!r} is in the output")

    def ranks(self):
        """[(rank, reason, iterations, residual)] of the lines that program.c prints."""
        found = re.findall(r"^RANK (\d+) reason (\w+) iterations (\d+) residual (\S+)$", self.output, re.M)
        return [(int(r), reason, int(n), float(x)) for r, reason, n, x in found]

    def converged(self, ranks):
        """All ranks converged with the same number of steps, which is returned."""
        self.ok()
        lines = self.ranks()
        self.expect(len(lines) == ranks, f"{ranks} ranks were to report, {len(lines)} did")
        for _, reason, n, residual in lines:
            self.expect(reason.startswith("CONVERGED"), "did not converge")
            self.expect(n == lines[0][2], "ranks disagree on the number of steps")
            self.expect(residual < 1e-4, "the residual is large")
        return lines[0][2]

    def pc_failed(self, ranks):
        """Every rank saw DIVERGED_PC_FAILED, and the program ended in order."""
        self.ok()
        reasons = [line[1] for line in self.ranks()]
        self.expect(reasons == ["DIVERGED_PC_FAILED"] * ranks, f"the ranks say {reasons}")


class Petsc:
    """One PETSc installation with the programs compiled for it."""

    def __init__(self, directory, arch, library, work):
        self.directory, self.library, self.work = directory, os.path.abspath(library), work
        self.prefix = os.path.join(directory, arch) if arch else directory
        self.version = self._version()
        self.cuda = "#define PETSC_HAVE_CUDA 1" in self._read("petscconf.h")
        os.makedirs(work, exist_ok=True)
        self.program = os.path.join(work, "program")
        self.cycles = os.path.join(work, "cycles")
        self.one_rank, self.layouts = os.path.join(work, "one_rank"), os.path.join(work, "layouts")

    def _read(self, header):
        for folder in (os.path.join(self.prefix, "include"), os.path.join(self.directory, "include")):
            path = os.path.join(folder, header)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return file.read()
        raise SystemExit(f"processes.py: {header} is not in {self.directory}: is --petsc-dir right?")

    def _version(self):
        text = self._read("petscversion.h")
        number = [re.search(rf"#define PETSC_VERSION_{part}\s+(\d+)", text).group(1) for part in ("MAJOR", "MINOR")]
        return ".".join(number)

    def environment(self, **more):
        env = dict(os.environ)
        env.pop("PETSC_OPTIONS", None)
        env.pop("OMP_NUM_THREADS", None)
        if os.geteuid() == 0:  # in a container
            env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env.update(
            OMPI_MCA_rmaps_base_oversubscribe="1",
            OMPI_MCA_hwloc_base_binding_policy="none",
            OMPI_MCA_orte_create_session_dirs="1",  # for mpiexec, see config/setup.sh
        )
        if os.path.isdir("/usr/local/cuda/lib64"):
            env["LD_LIBRARY_PATH"] = ":".join(filter(None, [env.get("LD_LIBRARY_PATH"), "/usr/local/cuda/lib64"]))
        env.update(more)
        return env

    def flags(self):
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(self.prefix, "lib", "pkgconfig"))
        return run(["pkg-config", "--cflags", "--libs", "PETSc"], 60, env).ok().output.split()

    def _library_folders(self, flags):
        folders = [flag[2:] for flag in flags if flag.startswith("-L")] + [os.path.join(self.prefix, "lib")]
        return [f"-Wl,-rpath,{folder}" for folder in folders]

    def compile_c(self, source, program):
        flags = self.flags()
        run(["mpicc", "-O1", source, "-o", program, *flags, *self._library_folders(flags), "-lm"], 120, self.environment()).ok()

    def compile(self):
        flags = self.flags()
        rpaths, env = self._library_folders(flags), self.environment()
        self.compile_c(os.path.join(HERE, "program.c"), self.program)
        ours = [f"-I{PLUGIN}", self.library, f"-Wl,-rpath,{os.path.dirname(self.library)}"]
        for program in (self.cycles, self.one_rank, self.layouts):
            source = os.path.join(HERE, os.path.basename(program) + ".cpp")
            run(["mpicxx", "-std=c++17", "-O1", source, "-o", program, *ours, *flags, *rpaths], 120, env).ok()

    def start(self, options, ranks=1, timeout=60, program=None, **more):
        """Runs program.c on some ranks; `options` is one string."""
        extra = ["-use_gpu_aware_mpi", "0"] if self.cuda else []
        command = [program or self.program, *options.split(), *extra]
        if ranks > 1:
            command = ["mpiexec", "-n", str(ranks), *command]
        return run(command, timeout, self.environment(**more))

    def plugin(self, options, ranks=1, **more):
        """The same with the plugin loaded."""
        return self.start(f"-dll_append {self.library} {options}", ranks, **more)


def run(command, timeout, env):
    """Output and errors together; the whole process group is ended where it takes too long."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=env,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            Run(command, "none", output).fail(f"hangs: no end after {timeout} s")
    return Run(command, process.returncode, output)


def test(function):
    TESTS.append(function)
    return function


TYPES = [("syncfree_ilu", "ilu", "gmres", "1"), ("syncfree_icc", "icc", "cg", "0")]
STRATEGIES = ["serial", "level_set", "sync_free", "blocks"]
FRONTS = ["-pc_type {0}", "-pc_type bjacobi -sub_pc_type {0}", "-pc_type asm -sub_pc_type {0}"]


# ---- how it is loaded ----


@test
def loads_by_the_command_line(petsc):
    for ours, theirs, ksp, wind in TYPES:
        n = petsc.plugin(f"-pc_type {ours} -ksp_type {ksp} -wind {wind}").converged(1)
        expected = petsc.start(f"-pc_type {theirs} -ksp_type {ksp} -wind {wind}")
        expected.expect(expected.converged(1) == n, f"{ours} took {n} steps")


@test
def loads_by_the_environment(petsc):
    petsc.start("-pc_type syncfree_ilu", PETSC_OPTIONS=f"-dll_append {petsc.library}").converged(1)


@test
def loads_by_a_c_call_after_petscinitialize(petsc):
    petsc.start(f"-append {petsc.library} -pc_type syncfree_ilu").converged(1)


@test
def loads_without_its_suffix_and_twice(petsc):
    stem = petsc.library[: -len(".so")]
    petsc.start(f"-dll_append {stem} -append {petsc.library} -pc_type syncfree_icc -wind 0 -ksp_type cg").converged(1)


@test
def loads_on_several_ranks(petsc):
    petsc.plugin("-pc_type bjacobi -sub_pc_type syncfree_ilu", ranks=2).converged(2)
    petsc.start(f"-append {petsc.library} -pc_type bjacobi -sub_pc_type syncfree_ilu", ranks=2).converged(2)


@test
def is_unknown_where_it_is_not_loaded(petsc):
    result = petsc.start("-pc_type syncfree_ilu")
    result.expect(result.status != 0, "a type that nobody registered was found").has("syncfree_ilu")


def expect_cycles(petsc, strategy):
    """Three times PETSc in one process, with equal iterations; returns what was printed."""
    result = petsc.start(f"-strategy {strategy}", program=petsc.cycles).ok()
    pairs = re.findall(r"^CYCLE \d iterations (\d+) and (\d+)$", result.output, re.M)
    result.expect(len(pairs) == 3 and all(a == b for a, b in pairs) and len(set(pairs)) == 1, "the cycles differ")
    return result


@test
def survives_three_cycles_of_petscinitialize_and_petscfinalize(petsc):
    expect_cycles(petsc, "blocks")


@test
def kokkos_starts_once_is_silent_and_serves_ranks_without_rows(petsc):
    if "kokkos" not in petsc.plugin("-pc_type syncfree_ilu -help").output:
        raise Skip("this library was built without Kokkos Kernels")
    expect_cycles(petsc, "kokkos").lacks("Kokkos")
    expected = petsc.start("-pc_type bjacobi -sub_pc_type ilu -empty_rank 0", ranks=3).converged(3)
    kokkos = "-pc_type syncfree_ilu -pc_syncfree_strategy kokkos -empty_rank 0"
    result = petsc.plugin(kokkos, ranks=3)
    result.expect(result.converged(3) == expected, f"bjacobi+ilu took {expected} steps").lacks("Kokkos")
    petsc.plugin(f"{kokkos} -ksp_view", ranks=3).ok().has("syncfree strategy: kokkos (forced; Kokkos ")


@test
def works_in_petsc4py(petsc):
    petsc4py(petsc, [], SYNCFREE_ILU_LIBRARY=petsc.library)


@test
def works_in_petsc4py_by_petsc_options(petsc):
    petsc4py(petsc, ["dll_append"], PETSC_OPTIONS=f"-dll_append {petsc.library}")


def petsc4py(petsc, arguments, **more):
    directory = petsc4py_directory(petsc)
    if directory != os.path.realpath(petsc.directory):
        raise Skip(f"petsc4py is for {directory}")
    env = petsc.environment(PYTHONPATH=os.path.join(PLUGIN, "python"), **more)
    run([PYTHON, os.path.join(HERE, "petsc4py_program.py"), *arguments], 120, env).ok().has("OK")


def petsc4py_directory(petsc):
    """The PETSC_DIR of the machine's petsc4py."""
    probe = "import petsc4py, os; print(os.path.realpath(petsc4py.get_config()['PETSC_DIR']))"
    if not os.path.exists(PYTHON):
        raise Skip(f"no {PYTHON}")
    found = run([PYTHON, "-c", probe], 60, petsc.environment())
    if found.status != 0:
        raise Skip("petsc4py is not installed")
    return found.output.strip()


# ---- what it leaves behind ----


@test
def memory_is_all_returned(petsc):
    result = petsc.plugin("-pc_type syncfree_ilu -solves 3 -malloc_debug -malloc_dump -options_left 0").ok()
    result.expect(not re.search(r"^\[\s*0\]\s*\d+ bytes", result.output, re.M), "PetscMalloc'ed blocks are left")


@test
def objects_are_all_destroyed(petsc):
    petsc.plugin("-pc_type syncfree_ilu -solves 2 -objects_dump").ok().lacks("PC Object")


# ---- several ranks ----


@test
def a_parallel_matrix_takes_the_steps_of_block_jacobi(petsc):
    for ours, theirs, ksp, wind in TYPES:
        for ranks, levels in ((1, 1), (2, 0), (3, 1)):
            common = f"-ksp_type {ksp} -wind {wind} -ksp_rtol 1e-8"
            blocks = f"-pc_type bjacobi -sub_pc_factor_levels {levels} {common} -sub_pc_type"
            expected = petsc.start(f"{blocks} {theirs}", ranks=ranks).converged(ranks)
            direct = petsc.plugin(f"-pc_type {ours} -pc_factor_levels {levels} {common}", ranks=ranks)
            direct.expect(direct.converged(ranks) == expected, f"bjacobi+{theirs} took {expected} steps")
            inside = petsc.plugin(f"{blocks} {ours}", ranks=ranks)
            inside.expect(inside.converged(ranks) == expected, f"bjacobi+{theirs} took {expected} steps")


@test
def orderings_of_a_parallel_matrix_are_those_of_its_blocks(petsc):
    for ordering in ("rcm", "nd", "qmd", "1wd"):
        blocks = f"-pc_type bjacobi -sub_pc_type ilu -sub_pc_factor_mat_ordering_type {ordering}"
        expected = petsc.start(blocks, ranks=3).converged(3)
        direct = petsc.plugin(f"-pc_type syncfree_ilu -pc_factor_mat_ordering_type {ordering}", ranks=3)
        direct.expect(direct.converged(3) == expected, f"bjacobi+ilu with {ordering} took {expected} steps")
    for ordering in ("multicolor", "cyclic -{}pc_syncfree_cyclic_colors 5", "abmc -{}pc_syncfree_abmc_rows 4", "auto"):
        own, sub = (f"{p}pc_factor_mat_ordering_type syncfree_{ordering.format(p)}" for p in ("", "sub_"))
        expected = petsc.plugin(f"-pc_type bjacobi -sub_pc_type ilu -{sub}", ranks=3).converged(3)
        direct = petsc.plugin(f"-pc_type syncfree_ilu -{own}", ranks=3)
        direct.expect(direct.converged(3) == expected, f"bjacobi+ilu with {ordering} took {expected} steps")


@test
def a_pattern_that_changes_in_place_on_one_rank_is_noticed(petsc):
    rcm = "syncfree_ilu -pc_factor_mat_ordering_type rcm"
    colors = "syncfree_ilu -pc_factor_mat_ordering_type syncfree_multicolor"
    for pc in ("syncfree_ilu", rcm, colors, "syncfree_sor", "bjacobi -sub_pc_type syncfree_icc"):
        for ranks in (1, 3):
            options = f"-pc_type {pc} -ksp_type bcgs -ksp_rtol 1e-6 -solves 4 -turn -reset"
            used, afresh = (petsc.plugin(f"{options} {reset}", ranks=ranks).ok() for reset in (0, 1))
            used.expect(used.ranks() == afresh.ranks() and len(used.ranks()) == 4 * ranks, f"afresh: {afresh.output}")


@test
def several_blocks_a_rank_and_overlap(petsc):
    for outer in ("bjacobi -pc_bjacobi_blocks 6", "asm -pc_asm_overlap 2", "asm -pc_asm_blocks 4"):
        expected = petsc.start(f"-pc_type {outer} -sub_pc_type ilu", ranks=2).converged(2)
        ours = petsc.plugin(f"-pc_type {outer} -sub_pc_type syncfree_ilu -sub_pc_syncfree_threads 2", ranks=2)
        ours.expect(ours.converged(2) == expected, f"with ilu it took {expected} steps")


@test
def more_threads_than_cores_do_not_deadlock(petsc):
    for strategy in STRATEGIES:
        for front in FRONTS[:2]:
            prefix = "-sub_pc" if "sub_pc" in front else "-pc"
            settings = f"{prefix}_syncfree_strategy {strategy} {prefix}_syncfree_threads 4"
            options = f"{front.format('syncfree_ilu')} {settings} -nx 40 -solves 2"
            result = petsc.plugin(options, ranks=4, timeout=150).ok()
            reasons = [line[1] for line in result.ranks()]
            result.expect(len(reasons) == 8 and all(r.startswith("CONVERGED") for r in reasons), f"{reasons}")


@test
def omp_num_threads_sets_the_threads(petsc):
    options = "-pc_type syncfree_ilu -pc_syncfree_strategy level_set -ksp_view"
    petsc.plugin(options, OMP_NUM_THREADS="3").ok().has("threads: 3")
    petsc.plugin(options + " -omp_num_threads 2").ok().has("threads: 2")


def spoiled(petsc, kind):
    for ours, _, ksp, wind in TYPES:
        for front, strategy in zip(FRONTS, ("blocks", "sync_free", "level_set")):
            prefix = "-sub_pc" if "sub_pc" in front else "-pc"
            settings = f"{prefix}_syncfree_strategy {strategy} {prefix}_syncfree_threads 2"
            options = f"{front.format(ours)} {prefix}_factor_shift_type none {settings}"
            petsc.plugin(f"{options} -ksp_type {ksp} -wind {wind} {kind}", ranks=3).pc_failed(3)


@test
def a_zero_pivot_on_one_rank_of_three_fails_on_all(petsc):
    spoiled(petsc, "-zero_rank 1")


@test
def a_zero_pivot_on_the_last_rank_fails_on_all(petsc):
    for front in FRONTS:
        petsc.plugin(f"{front.format('syncfree_ilu')} -zero_rank 2", ranks=3).pc_failed(3)


@test
def a_nan_on_one_rank_of_three_fails_on_all(petsc):
    spoiled(petsc, "-nan_rank 1")
    sor = "-pc_type syncfree_sor -ksp_type gmres -wind 1 -nan_rank 1"
    petsc.plugin(sor, ranks=3).pc_failed(3)
    result = petsc.plugin(f"{sor} -ksp_error_if_not_converged", ranks=3)
    result.expect(result.status != 0, "no error").has("NaN or infinity in the matrix in row")


@test
def a_failure_as_an_error_ends_the_program(petsc):
    for front in FRONTS:
        result = petsc.plugin(f"{front.format('syncfree_ilu')} -zero_rank 1 -ksp_error_if_not_converged", ranks=3)
        result.expect(result.status != 0, "no error").has("pivot")


@test
def what_fails_on_one_rank_alone_is_an_error_on_all(petsc):
    """With SYNCFREE_ALL_FAILURES every allocation on each of two and three ranks, else on the last of two."""
    view, icc, inside = "-pc_syncfree_view :/dev/null", "syncfree_icc", "bjacobi -sub_pc_type syncfree_"
    kinds = ["syncfree_ilu", icc, "syncfree_sor", "syncfree_ilu -pc_factor_mat_ordering_type rcm"]
    kinds += [f"syncfree_ilu {view}", f"syncfree_sor {view}", f"{inside}ilu"]
    kinds += [f"syncfree_ilu -pc_factor_mat_ordering_type syncfree_{name}" for name in ("multicolor", "cyclic", "abmc")]
    runs = [(2, f"{kind} -every 5") for kind in kinds] + [(3, f"{icc} -rank -1 -every 37 -dense 6")]
    if os.environ.get("SYNCFREE_ALL_FAILURES"):
        kinds += [f"{inside}icc", f"{inside}sor", "syncfree_ilu -pc_syncfree_strategy level_set -pc_syncfree_threads 2"]
        runs = [(ranks, f"{kind} -rank -1") for ranks in (2, 3) for kind in kinds]
    for ranks, options in runs:
        result = petsc.start(f"-type {options}", ranks=ranks, timeout=900, program=petsc.one_rank).ok()
        for word in ("ALONE", "WRONG", "LEFT", "DEPTH", "ERROR"):
            result.lacks(word)
        agreed = re.search(r"^ALL (\d+) agreed$", result.output, re.M)
        result.expect(agreed and int(agreed[1]) > 10, "hardly any allocation was missed")


@test
def other_layouts_are_set_up_anew_and_rows_are_those_of_the_matrix(petsc):
    petsc.start("", ranks=2, program=petsc.layouts).ok().has("OK\nOK\n").lacks("WRONG")


@test
def a_rank_without_rows_solves_like_any_other(petsc):
    for ours, theirs, ksp, wind in TYPES:
        for empty in (0, 2):
            common = f"-empty_rank {empty} -ksp_type {ksp} -wind {wind}"
            expected = petsc.start(f"-pc_type bjacobi -sub_pc_type {theirs} {common}", ranks=3).converged(3)
            for front in FRONTS[:2]:
                result = petsc.plugin(f"{front.format(ours)} {common}", ranks=3)
                result.expect(result.converged(3) == expected, f"bjacobi+{theirs} took {expected} steps")


@test
def pcilu_of_a_parallel_matrix_stays_an_error_that_says_what_to_do(petsc):
    result = petsc.plugin("-pc_type ilu -pc_factor_mat_solver_type syncfree", ranks=2)
    result.expect(result.status != 0, "a local factor was taken for a parallel one").has("bjacobi")


@test
def matrices_of_dense_blocks_take_the_steps_of_block_jacobi(petsc):
    """BAIJ, and AIJ whose blocks have holes; PCASM has an overlap of points with BAIJ only."""
    baij, named, common = "-mat_type baij -mat_block_size 2", "pc_syncfree_block_size 2", "-ksp_rtol 1e-8 -ksp_view"
    for ranks, levels in ((1, 1), (2, 0), (2, 1)):
        inside = f"{common} -sub_pc_factor_levels {levels} -pc_type {{}} -sub_pc_type {{}}ilu".format
        direct = f"{common} -pc_factor_levels {levels} -pc_type syncfree_ilu"
        cases = {"asm": [f"{baij} {inside('asm', 'syncfree_')}"], "bjacobi": [f"{baij} {direct}", f"-{named} {direct}"]}
        cases["bjacobi"] += [f"{kind} {inside('bjacobi', 'syncfree_')}" for kind in (baij, f"-sub_{named}")]
        for outer, options in cases.items():
            expected = petsc.start(f"{baij} {inside(outer, '')}", ranks=ranks).converged(ranks)
            for ours in options:
                result = petsc.plugin(ours, ranks=ranks).has("syncfree block size: ", "2 (dense blocks")
                result.expect(result.converged(ranks) == expected, f"{outer}+ilu took {expected} steps")
    padded = petsc.plugin(f"-{named} {direct}", ranks=2).lacks("zeros added: sum 0")
    padded.has("syncfree block size: least 2, most 2 (dense blocks; levels of block rows); zeros added: sum ")


@test
def upper_triangles_take_the_steps_of_block_jacobi(petsc):
    for ranks in (1, 2):
        common = "-mat_type sbaij -wind 0 -mat_ignore_lower_triangular -ksp_type cg -ksp_rtol 1e-8"
        expected = petsc.start(f"{common} -pc_type bjacobi -sub_pc_type icc", ranks=ranks).converged(ranks)
        for ours in ("-pc_type syncfree_icc", "-pc_type bjacobi -sub_pc_type syncfree_icc"):
            result = petsc.plugin(f"{common} {ours}", ranks=ranks)
            result.expect(result.converged(ranks) == expected, f"bjacobi+icc took {expected} steps")


@test
def block_matrices_are_refused_in_words(petsc):
    for kind, ours in (("baij", "icc"), ("sbaij", "ilu")):
        result = petsc.plugin(f"-mat_type {kind} -pc_type syncfree_{ours} -wind 0 -mat_ignore_lower_triangular")
        result.expect(result.status != 0, "no error").has("MatConvert")


# ---- the wrong library ----


def refused_in_words(petsc, library, *words):
    """Each way of loading ends in an error, not in a signal, and the text has the words, here of both PETScs."""
    for how in (f"-dll_append {library}", f"-append {library}"):
        result = petsc.start(f"{how} -pc_type syncfree_ilu")
        result.expect(result.status != 0, f"a library for another PETSc was accepted: {words}")
        result.expect(result.status > 0, "ended by a signal")
        for word in ("Segmentation", "signal 11", "SEGV", "double free"):
            result.lacks(word)
        result.has(*words, "libsyncfree_ilu was built for ")


@test
def a_library_for_another_petsc_is_refused_in_words(petsc, other=None):
    if not other:
        raise Skip("--other-petsc-dir and --other-library were not given")
    refused_in_words(petsc, other.library, other.version, petsc.version)


@test
def this_library_is_refused_in_words_by_another_petsc(petsc, other=None):
    if not other:
        raise Skip("--other-petsc-dir and --other-library were not given")
    refused_in_words(other, petsc.library, petsc.version, other.version)


@test
def libraries_for_other_scalars_or_indices_are_refused_in_words(petsc):
    if not petsc.other_kinds:
        raise Skip("--other-kinds was not given")
    for library in petsc.other_kinds:
        indices = "a PETSc with 64-bit indices, but this program's has 32-bit indices"
        scalars = "a PETSc whose scalar is COMPLEX, but this program's is DOUBLE"
        long = "64" in os.path.basename(os.path.dirname(library))
        refused_in_words(petsc, library, indices if long else scalars)


@test
def a_library_for_another_petsc_is_refused_in_petsc4py(petsc, other=None):
    if not other:
        raise Skip("--other-petsc-dir and --other-library were not given")
    ours, foreign = (petsc, other) if petsc4py_directory(petsc) == os.path.realpath(petsc.directory) else (other, petsc)
    env = petsc.environment(PYTHONPATH=os.path.join(PLUGIN, "python"), SYNCFREE_ILU_LIBRARY=foreign.library)
    result = run([PYTHON, os.path.join(HERE, "petsc4py_program.py")], 120, env)
    result.expect(result.status > 0, "was accepted, or ended by a signal").has(foreign.version)
    result.has(f"built for PETSc {ours.version}.", ", scalars float64, indices int32, PETSC_DIR=")


# ---- running them ----


def takes_other(function):
    return "other" in function.__code__.co_varnames[: function.__code__.co_argcount]


def run_one(function, petsc, other):
    start = time.time()
    try:
        if takes_other(function):
            function(petsc, other)
        else:
            function(petsc)
        verdict, detail = "passed", ""
    except Skip as skip:
        verdict, detail = "skipped", f": {skip}"
    except Failure as failure:
        verdict, detail = "FAILED", f": {failure}"
    print(f"{verdict:8} {function.__name__} ({time.time() - start:.1f} s){detail}", flush=True)
    return verdict


def run_all(tests, only, petsc, other=None):
    """Runs the tests whose name contains `only` (None: all) and prints the result; returns the exit status."""
    verdicts = [run_one(t, petsc, other) for t in tests if not only or only in t.__name__]
    counts = [verdicts.count(v) for v in ("passed", "FAILED", "skipped")]
    print("RESULT {} {} {}".format(*counts))
    return 0 if counts[1] == 0 and sum(counts) > 0 else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--petsc-dir", required=True)
    parser.add_argument("--petsc-arch", default="")
    parser.add_argument("--library", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--other-petsc-dir")
    parser.add_argument("--other-petsc-arch", default="")
    parser.add_argument("--other-library")
    parser.add_argument("--other-kinds", nargs="+", default=[])
    parser.add_argument("--only", help="run the tests whose name contains this")
    return parser.parse_args()


def main():
    args = arguments()
    for tool in ("mpicc", "mpicxx", "mpiexec", "pkg-config"):
        if not shutil.which(tool):
            raise SystemExit(f"processes.py: {tool} is missing")
    petsc = Petsc(args.petsc_dir, args.petsc_arch, args.library, os.path.join(args.work, "this"))
    petsc.other_kinds = [os.path.abspath(library) for library in args.other_kinds]
    other = None
    if args.other_petsc_dir and args.other_library:
        other = Petsc(args.other_petsc_dir, args.other_petsc_arch, args.other_library, os.path.join(args.work, "other"))
    try:
        for installation in filter(None, (petsc, other)):
            installation.compile()
    except Failure as failure:
        print(f"FAILED   the programs do not compile: {failure}")
        print("RESULT 0 1 0")
        return 1
    return run_all(TESTS, args.only, petsc, other)


if __name__ == "__main__":
    sys.exit(main())
