#!/usr/bin/env python3
"""The scripts of config/, tests/ and examples/ before they build anything: help, unknown arguments, what they install,
what they unpack; and whether tests/bench/RESULTS.md is what its program makes of the CSV files.

    python3 tests/config/scripts.py

Package managers are stand-ins that write down how they were called. Ends with `RESULT passed failed skipped`.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from verdicts import Skip, expect, run_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OF_BENCHMARKS = {"bench", "calibrate", "papers", "sweep"}
SCRIPTS = "bench calibrate demo gpu-test nightly papers petsc-cuda petsc-matrix sweep test thread_sanitizer".split()
INSTALLS = "bench demo nightly papers petsc-matrix test".split()  # on a machine without a GPU


def path_of(script):
    return f"{'tests/bench' if script in OF_BENCHMARKS else 'config'}/{script}.sh"


class Place:
    """A copy of config/ and of what the scripts read, with stand-ins for the commands of a package manager."""

    def __init__(self, folder):
        self.folder, self.bin, self.calls = folder, folder / "bin", folder / "calls"
        shutil.copytree(ROOT / "config", folder / "config")
        shutil.copytree(ROOT / "tests/bench", folder / "tests/bench", ignore=shutil.ignore_patterns("results"))
        shutil.copytree(ROOT / "examples/ksp/reference", folder / "examples/ksp/reference")
        self.bin.mkdir()
        self.stand_in("dpkg-query", "exit 1")  # nothing is installed
        self.stand_in("nvidia-smi", "exit 1")
        for name in ("apt-get", "sudo"):
            self.stand_in(name, "")

    def stand_in(self, name, text):
        (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{self.calls}\n{text}\n', encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def called(self):
        return self.calls.read_text(encoding="utf-8") if self.calls.exists() else ""

    def run(self, command, **more):
        self.calls.unlink(missing_ok=True)
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "", **more}
        for name in ("PETSC_DIR", "PETSC_ARCH", "SYNCFREE_INSTALL"):
            env.pop(name, None)
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False,
                              timeout=60, stdin=subprocess.DEVNULL)

    def script(self, name, *arguments):
        return self.run(["bash", path_of(name), *arguments])

    def shell(self, text, **more):
        return self.run(["bash", "-c", f". config/setup.sh; . config/petsc-source.sh; {text}"], **more)


def need_package_names(place):
    if not place.shell("petsc_series").stdout.strip():
        raise Skip("package names are not known for this system")


def help_is_the_head_of_the_script(place):
    for name in SCRIPTS:
        result = place.script(name, "--help")
        expect(result.returncode == 0, f"{name}: {result.stdout}{result.stderr}")
        head = (ROOT / path_of(name)).read_text(encoding="utf-8").split("\nset -")[0].splitlines()[1:]
        expect(result.stdout.splitlines() == [line[2:] for line in head], f"{name} --help: {result.stdout}")
        expect(f"bash {path_of(name)}" in result.stdout, f"{name} --help: {result.stdout}")
        expect(not (place.folder / "build/host").exists() and not place.called(), f"{name} --help did something")


def every_script_answers_help(place):
    paths = [p for folder in ("config", "tests", "examples") for p in sorted((ROOT / folder).rglob("*.*"))]
    texts = {p: p.read_text(encoding="utf-8") for p in paths if p.suffix in (".py", ".sh")}
    scripts = {p: t for p, t in texts.items() if ("__main__" in t if p.suffix == ".py" else t.startswith("#!"))}
    expect(len(scripts) > 35, f"only {len(scripts)} scripts were found")
    for path, text in scripts.items():
        run = [sys.executable if path.suffix == ".py" else "bash", str(path), "--help"]
        done = subprocess.run(run, cwd=place.folder, capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL)
        head = "usage: " if path.suffix == ".py" else text.splitlines()[1].removeprefix("# ")
        expect(done.returncode == 0 and done.stdout.startswith(head), f"{path}: {done.stdout}{done.stderr}")


DEMO_PROGRAM = """#!/usr/bin/env python3
import re, sys, time
time.sleep(0.3)
with open(re.search(":(.*):", " ".join(sys.argv))[1], "w") as file:
    file.write("Event Name,Time,Count\\nPCSetUp,1,1\\nPCApply,1,1\\nKSPSolve,1,1\\n")
print("iterations 3, CONVERGED_RTOL\\ntrue residual 1e-9")
"""


def the_demo_warns_where_other_programs_use_the_cores(place):
    for name in ("poisson", "convection"):
        (place.folder / name).write_text(DEMO_PROGRAM, encoding="utf-8")
        (place.folder / name).chmod(0o755)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        # not a program that the demo started, so one of others
        folder = str(place.folder)
        done = place.run(["python3", "config/demo.py", "--folder", folder, "--library", "L", "--repeat", "1"])
    finally:
        for process in busy:
            process.kill()
            process.wait()
    expect(done.returncode == 0, done.stdout + done.stderr)
    expect(done.stdout.count("warning: disturbed; other programs used ") == 2, done.stdout)


DEVICE_PROGRAM = """#!/usr/bin/env python3
import pathlib, sys
arguments = " ".join(sys.argv)
log = pathlib.Path(sys.argv[0] + ".calls")
log.write_text((log.read_text() if log.exists() else "") + arguments + "\\n")
print("type: seqaijcusparse\\n  syncfree backend: cuda\\niterations 3, CONVERGED_RTOL\\ntrue residual 1e-9")
slow = "-pc_type ilu" in arguments and "convection" in arguments
for solve in (2.5,) if slow else (0.1, 0.7, 0.3):
    print(f"seconds: set-up {solve / 100}, new values 9, apply {solve / 1000}, solve {solve}")
"""


def the_demo_on_a_device_starts_a_process_for_each_contender(place):
    for name in ("poisson", "convection"):
        (place.folder / name).write_text(DEVICE_PROGRAM, encoding="utf-8")
        (place.folder / name).chmod(0o755)
    folder = str(place.folder)
    command = ["python3", "config/demo.py", "--folder", folder, "--library", "L", "--repeat", "3", "--device", "D"]
    done = place.run(command)
    expect(done.returncode == 0, done.stdout + done.stderr)
    expect("medians of 3, of 1 where a solve takes over a second" in done.stdout, done.stdout)
    rows = [line.split()[-5:-1] for line in done.stdout.splitlines() if line.endswith("1.0e-09")]
    fast, slow = ["3", "3.0", "0.30", "300.0"], ["3", "25.0", "2.50", "2500.0"]
    expect(rows == [fast, fast, slow, fast], done.stdout)
    for name in ("poisson", "convection"):
        calls = (place.folder / f"{name}.calls").read_text(encoding="utf-8").splitlines()
        expect(len(calls) == 2 and all("-times 3" in call for call in calls), f"{calls}")


def results_are_made_from_the_csv_files(_):
    script = ROOT / "tests/bench/results.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)


def manual_pages_are_made_from_the_comments(place):
    script = ROOT / "config/manual_pages.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)
    shutil.copytree(ROOT / "plugin", place.folder / "plugin", dirs_exist_ok=True)
    source = place.folder / "plugin/register.cpp"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("Register - Registers", "Register - Announces", 1), encoding="utf-8")
    done = place.run(["python3", "config/manual_pages.py", "--check"])
    expect(done.returncode == 1 and "MANUAL_PAGES.md is not what" in done.stdout, f"a changed word: {done.stdout}")


def a_changed_number_or_a_file_too_many_is_found(place):
    shutil.copytree(ROOT / "tests/bench/results", place.folder / "tests/bench/results")
    page, command = place.folder / "tests/bench/RESULTS.md", ["python3", "tests/bench/results.py", "--check"]
    readme = pathlib.Path(shutil.copy(ROOT / "README.md", place.folder / "README.md"))
    done = place.run(command)
    expect(done.returncode == 0, f"refuses a copy of what is right: {done.stderr}")
    text = readme.read_text(encoding="utf-8")
    for before in (r"(\| 7-point, 128\^3 \|[^|]*\| )", r"(?s)(A whole solve.*?takes )"):
        readme.write_text(re.sub(before, r"\g<1>9", text, count=1), encoding="utf-8")
        done = place.run(command)
        expect(done.returncode == 1 and "README.md is not what" in done.stderr, f"behind {before}: {done.stderr}")
    readme.write_text(text, encoding="utf-8")
    (place.folder / "plugin").mkdir(exist_ok=True)
    manual = pathlib.Path(shutil.copy(ROOT / "plugin/MANUAL.md", place.folder / "plugin/MANUAL.md"))
    text = manual.read_text(encoding="utf-8")
    for before in (r"(\| CG, `syncfree_sor` \| )", r"(real matrices \(median )", r"(`7pt`, 100\^3 \|[^|]*\| )"):
        manual.write_text(re.sub(before, r"\g<1>9", text, count=1), encoding="utf-8")
        done = place.run(command)
        expect(done.returncode == 1 and "MANUAL.md is not what" in done.stderr, f"behind {before}: {done.stderr}")
    manual.write_text(text.replace("| CG, `syncfree_sor` |", "| CG by `syncfree_sor` |"), encoding="utf-8")
    done = place.run(command)
    expect(done.returncode == 1 and "must have one row" in done.stderr, f"a row that is gone: {done.stderr}")
    manual.write_text(text, encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("| mean |", "| means |", 1), encoding="utf-8")
    done = place.run(command)
    expect(done.returncode == 1 and "RESULTS.md is not what" in done.stderr, f"a changed word: {done.stderr}")
    page.write_text(text, encoding="utf-8")
    (place.folder / "tests/bench/results/old.csv").write_text("matrix\n", encoding="utf-8")
    done = place.run(command)
    expect(done.returncode == 1 and "old.csv is named by no table" in done.stderr, f"a stranger: {done.stderr}")


def unknown_arguments_are_refused(place):
    for name in SCRIPTS:
        if name == "gpu-test":  # looks for PETSc first
            continue
        result = place.script(name, "--nonsense")
        expect(result.returncode != 0 and "--nonsense" in result.stderr, f"{name}: {result.stdout}{result.stderr}")
        expect("apt-get" not in place.called(), f"{name} --nonsense: {place.called()}")


def no_install_lists_what_is_missing_and_stops(place):
    need_package_names(place)
    for name in INSTALLS:
        result = place.script(name, "--no-install")
        expect(result.returncode != 0, f"{name} goes on")
        expect("apt-get install" in result.stderr and "cmake" in result.stderr, f"{name}: {result.stderr}")
        expect("apt-get" not in place.called() and "sudo" not in place.called(), f"{name}: {place.called()}")


def no_install_downloads_and_unpacks_nothing(place):
    place.stand_in("dpkg-query", "echo install ok installed")
    place.stand_in("nvcc", "")
    for file in ("setup.sh", "gpu-test.sh"):  # this machine may have a PETSc there
        path = place.folder / "config" / file
        path.write_text(path.read_text(encoding="utf-8").replace("/opt", f"{place.folder}/opt"), encoding="utf-8")
    (place.folder / "carried").mkdir()
    (place.folder / "carried/petsc-cuda-9.tar.xz").write_bytes(b"planted")
    for name, words in (("petsc-matrix", "petsc==3.20.5 petsc==3.22.5"), ("petsc-cuda", "petsc==3.26.1"),
                        ("gpu-test", "carried/petsc-cuda-9.tar.xz is unpacked there")):
        command = ["bash", path_of(name), "--no-install"]
        result = place.run(command, CARRIED="carried", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
        expect(result.returncode != 0, f"{name} goes on")
        expect("without --no-install" in result.stderr and words in result.stderr, f"{name}: {result.stderr}")
    left = [path for path in (place.folder / "build").rglob("*") if path.is_file()]
    expect(not left and not (place.folder / "opt").exists(), f"left: {left}")
    archives = place.folder / "build/petsc-archives"  # with its source here it would still install
    archives.mkdir(parents=True)
    (archives / "petsc-3.26.1.tar.gz").write_bytes(b"planted")
    result = place.script("petsc-cuda", "--no-install")
    expect(result.returncode != 0 and "installed in" in result.stderr, f"{result.stdout}{result.stderr}")
    expect(not (place.folder / "build/petsc-cuda").exists(), "was installed")


def what_is_installed_is_said_before(place):
    need_package_names(place)
    place.stand_in("id", "echo 0")
    place.stand_in("apt-get", '[ "$1" != install ] || exit 7')
    result = place.shell("need_packages demo")
    expect("apt-get install --no-install-recommends build-essential" in result.stderr, result.stderr)
    expect(result.stderr.index("installing") < result.stderr.index("could not install"), result.stderr)
    expect(result.returncode != 0 and place.called().count("apt-get") == 2, place.called())


def users_without_root_are_told_the_command(place):
    need_package_names(place)
    place.stand_in("id", "echo 1000")
    place.stand_in("sudo", "exit 1")
    result = place.shell("need_packages demo")
    expect(result.returncode != 0 and "sudo apt-get install" in result.stderr, result.stderr)
    expect("apt-get" not in place.called(), place.called())


def a_failed_update_tells_its_cause(place):
    need_package_names(place)
    place.stand_in("id", "echo 0")
    place.stand_in("apt-get", 'case " $* " in *" update "*) echo "E: mirror.example is asleep" >&2; exit 100 ;; esac')
    result = place.shell("need_packages demo")
    expect("apt-get update failed" in result.stderr and "mirror.example is asleep" in result.stderr, result.stderr)
    expect("still missing" in result.stderr, result.stderr)


def open_mpi_may_run_as_root_for_root_only(place):
    for user, wanted in (("0", "1"), ("1000", "")):
        place.stand_in("id", f"echo {user}")
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": ""}
        said = place.shell('echo "$OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"', **env).stdout.strip()
        expect(said == 2 * wanted, f"user {user}: {said}")


def an_archive_with_another_checksum_is_not_unpacked(place):
    if not os.access("/opt", os.W_OK):
        raise Skip("/opt cannot be written")
    archive, before = place.folder / "petsc-cuda.tar.xz", set(os.listdir("/opt"))
    archive.write_bytes(b"planted")
    result = place.shell(f"unpack_petsc_cuda {archive}")
    expect(result.returncode != 0 and "has not the checksum" in result.stdout, result.stdout + result.stderr)
    own = hashlib.sha256(b"planted").hexdigest()
    result = place.shell(f"unpack_petsc_cuda {archive}", PETSC_CUDA_SHA256=own)
    expect(result.returncode != 0 and "does not unpack" in result.stdout, result.stdout + result.stderr)
    expect(set(os.listdir("/opt")) == before, f"left in /opt: {set(os.listdir('/opt')) - before}")


def petscs_source_is_checked_where_it_is_already(place):
    archives = place.folder / "build/petsc-archives"
    archives.mkdir(parents=True)
    (archives / "petsc-3.26.1.tar.gz").write_bytes(b"planted")
    result = place.shell(f"compile_petsc {place.folder}/source 3.26.1")
    expect(result.returncode != 0 and "has not the checksum" in result.stdout, result.stdout + result.stderr)
    result = place.shell(f"compile_petsc {place.folder}/source 3.99.9")
    expect(result.returncode != 0 and "3.99.9 has no checksum" in result.stdout, result.stdout + result.stderr)


def every_release_that_is_built_has_a_checksum(place):
    releases = place.shell("sed -n 's/^release=//p' config/petsc-cuda.sh; sed -n '/^3\\.[0-9].* 3/p' "
                           "config/petsc-matrix.sh | cut -d ' ' -f 2").stdout.split()
    expect(len(releases) == 7, f"releases {releases}")
    known = [line.split()[0] for line in place.shell("petsc_sums").stdout.splitlines()]
    expect(set(releases) == set(known), f"releases {releases}, checksums {known}")


LISTING = """
arch = sm_90
\t\tFunction : _Z{length}{name}Pi
        /*0000*/                   LDG.E R2, [R4] ;   /* 0x0 */
        /*0010*/                   IADD3 R2, R2, {added}, RZ ;   /* 0x1 */
"""
USAGE = """
arch = sm_90
 Function _Z{length}{name}Pi:
  REG:{registers} STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:536
"""


def renames_change_no_code_and_changes_are_told(place):
    place.stand_in("cuobjdump", 'cat "$2$1"')

    def build(folder, name, added=1, registers=8):
        (place.folder / folder).mkdir()
        words = {"name": name, "length": len(name), "added": added, "registers": registers}
        (place.folder / folder / "kernel.cu.o").write_text("")
        (place.folder / folder / "kernel.cu.o-sass").write_text(LISTING.format(**words))
        (place.folder / folder / "kernel.cu.o-res-usage").write_text(USAGE.format(**words))

    for folder, name, more in (("before", "first", {}), ("renamed", "second", {}), ("other", "second", {"added": 2}),
                               ("larger", "second", {"registers": 9})):
        build(folder, name, **more)
    (place.folder / "renames").write_text("first second  # by the table\n")
    for after, code, text in (("renamed", 0, "1 kernels have the same code, 0 other code"),
                              ("other", 1, "other code: sm_90 second(int*)"),
                              ("larger", 1, "other code: sm_90 second(int*)")):
        done = place.run(["python3", "config/same_code.py", "before", after, "--renames", "renames"])
        expect(done.returncode == code and text in done.stdout, f"{after}: {done.returncode}, {done.stdout}")
    done = place.run(["python3", "config/same_code.py", "before", "renamed"])
    expect(done.returncode == 1 and "only before: sm_90 first(int*)" in done.stdout, done.stdout)
    # of another file, with the same name
    for part in ("", "-sass", "-res-usage"):
        shutil.copy(place.folder / f"other/kernel.cu.o{part}", place.folder / f"renamed/more.cu.o{part}")
    done = place.run(["python3", "config/same_code.py", "before", "renamed", "--renames", "renames"])
    expect(done.returncode == 1 and "other code: sm_90 second(int*)" in done.stdout, done.stdout)
    (place.folder / "renames").write_text("first\n")
    done = place.run(["python3", "config/same_code.py", "before", "renamed", "--renames", "renames"])
    expect("renames:1: 'OLD NEW [WHERE]' is wanted" in done.stderr, done.stderr)


def the_table_of_names_knows_where_they_are(place):
    for line in (ROOT / "config/renames.txt").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        expect(len(words) in (0, 2, 3), f"'{line}' is no line of that table")
        expect(len(words) < 3 or (ROOT / words[2]).exists(), f"{words}: there is no such file")


TESTS = (
    help_is_the_head_of_the_script,
    every_script_answers_help,
    the_demo_warns_where_other_programs_use_the_cores,
    the_demo_on_a_device_starts_a_process_for_each_contender,
    results_are_made_from_the_csv_files,
    manual_pages_are_made_from_the_comments,
    a_changed_number_or_a_file_too_many_is_found,
    unknown_arguments_are_refused,
    no_install_lists_what_is_missing_and_stops,
    no_install_downloads_and_unpacks_nothing,
    what_is_installed_is_said_before,
    users_without_root_are_told_the_command,
    a_failed_update_tells_its_cause,
    open_mpi_may_run_as_root_for_root_only,
    an_archive_with_another_checksum_is_not_unpacked,
    petscs_source_is_checked_where_it_is_already,
    every_release_that_is_built_has_a_checksum,
    renames_change_no_code_and_changes_are_told,
    the_table_of_names_knows_where_they_are,
)


def run_in_a_place(test):
    with tempfile.TemporaryDirectory() as folder:
        test(Place(pathlib.Path(folder)))


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, TESTS, run_in_a_place))
