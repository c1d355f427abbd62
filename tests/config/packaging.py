#!/usr/bin/env python3
"""The files of config/packaging, plugin/python/pyproject.toml and the workflow of .github, as far as they can be looked
at without the tools that they are for: they parse, name options that CMake has, scripts that exist, and one version.

    python3 tests/config/packaging.py

Spack's and PETSc's modules are stand-ins, with which the packages' own code runs. Ends with
`RESULT passed failed skipped`.
"""

import contextlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import types

from verdicts import Failure, Skip, expect, run_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / "config/packaging"
FILES = [p for p in sorted(PACKAGING.rglob("*")) if p.suffix in (".py", ".yaml", "") and p.is_file()]
FILES += [ROOT / "plugin/python/pyproject.toml", ROOT / ".github/workflows/ci.yml"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def cmake_options():
    paths = [ROOT / "CMakeLists.txt", *ROOT.glob("config/cmake/*.cmake")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return set(re.findall(r"(?:\boption\(|\bset\()(SYNCFREE_\w+)(?= [^)]*\"|\s+\S+ CACHE)", text))


def version():
    return re.search(r"project\(syncfree VERSION ([\d.]+)", read("CMakeLists.txt"))[1]


def load_yaml(name):
    try:
        import yaml
    except ImportError as error:
        raise Skip("this Python has no yaml") from error
    return yaml.safe_load(read(name))


def options_are_those_of_cmake():
    known = cmake_options()
    expect({"SYNCFREE_CUDA", "SYNCFREE_TESTS", "SYNCFREE_PYTHON_DIR"} <= known, f"found only {known}")
    named = 0
    for path in FILES:
        for name in re.findall(r"-D(SYNCFREE_\w+)|\(\"(SYNCFREE_\w+)\"", path.read_text(encoding="utf-8")):
            named += 1
            expect("".join(name) in known, f"{path}: {''.join(name)} is no option of CMake")
    expect(named >= 9, f"only {named} options were found")


def there_is_one_version_and_one_range_of_petsc():
    wanted = version()
    pattern = re.search(r"^regex = '(.*)'$", read("plugin/python/pyproject.toml"), re.M)[1]
    expect(re.search(pattern, read("CMakeLists.txt"))["value"] == wanted, "pyproject.toml reads another version")
    expect(f'version("{wanted}")' in read("config/packaging/spack/package.py"), "Spack's version is another one")
    expect(load_yaml("config/packaging/conda/recipe.yaml")["context"]["version"] == wanted, "conda's is another one")
    oldest = re.search(r"find_package\(PETSc ([\d.]+) REQUIRED", read("CMakeLists.txt"))[1]
    newest = re.search(rf"PETSc {re.escape(oldest)} to ([\d.]+\d) with shared libraries", read("README.md"))[1]
    expect(f"petsc@{oldest}:{newest} +shared" in read("config/packaging/spack/package.py"), "Spack's PETSc is another")
    expect(newest in load_yaml("config/packaging/conda/variants.yaml")["petsc"], "conda's PETSc is another")


def run_module(path, modules):
    saved = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)  # pylint: disable=exec-used
    finally:
        for name, old in saved.items():
            sys.modules.pop(name)
            if old:
                sys.modules[name] = old
    return module


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    return module


class SpackStandIn:
    """What the methods of Spack's package use of itself and of its spec."""

    cuda_arch_values = ("80", "90")

    def __init__(self, variants):
        self.run_tests = False
        self.spec = self
        self.prefix = "/petsc"
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("90",))}
        self.chosen = variants

    def __getitem__(self, name):
        expect(name == "petsc", f"takes a dependency {name}")
        return self

    def satisfies(self, what):
        return what in self.chosen

    def define(self, name, value):
        text = {True: "ON", False: "OFF"}.get(value) if isinstance(value, bool) else value
        return f"-D{name}={';'.join(text) if isinstance(text, tuple) else text}"

    def define_from_variant(self, name, variant):
        return self.define(name, f"+{variant}" in self.chosen)


def spack_hands_cmake_what_the_variants_say():
    said = []
    directives = "license version variant depends_on extends conflicts".split()
    spack = {name: (lambda *a, _name=name, **k: said.append((_name, a[0]))) for name in directives}
    spack.update(when=lambda *a: contextlib.nullcontext(), python_platlib="lib/python", __all__=[])
    spack["__all__"] = list(spack)[:-1]
    package = type("Package", (SpackStandIn,), {})
    cuda = type("Cuda", (), {"cuda_arch_values": SpackStandIn.cuda_arch_values})
    modules = {name: stand_in(name) for name in ("spack", "spack_repo", "spack_repo.builtin",
                                                 "spack_repo.builtin.build_systems")}
    modules["spack.package"] = stand_in("spack.package", **spack)
    modules["spack_repo.builtin.build_systems.cmake"] = stand_in("cmake", CMakePackage=package)
    modules["spack_repo.builtin.build_systems.cuda"] = stand_in("cuda", CudaPackage=cuda)
    found = run_module(PACKAGING / "spack/package.py", modules).PetscSyncfree
    expect(("depends_on", "petsc cuda_arch=90") in said and ("variant", "python") in said, said)
    for cuda_on, python_on, arch in itertools.product((0, 1), (0, 1), (0, 1)):
        chosen = ["+cuda"] * cuda_on + ["+python"] * python_on + ["cuda_arch=none"] * (1 - arch)
        args = found(chosen).cmake_args()
        expect("-DPETSC_DIR=/petsc" in args and "-DPETSC_ARCH=" in args, args)
        expect(f"-DSYNCFREE_CUDA={'ON' if cuda_on else 'OFF'}" in args, args)
        expect(("-DCMAKE_CUDA_ARCHITECTURES=90" in args) == bool(cuda_on and arch), args)
        expect(("-DSYNCFREE_PYTHON_DIR=lib/python" in args) == bool(python_on), args)


class PetscStandIn:
    """What the methods of the package file of PETSc's configure use of PETSc's classes."""

    def __init__(self, framework):
        self.framework, self.argDB = framework, framework.argDB
        self.posts, self.checks, self.language = [], [], ""
        self.installDir = self.packageDir = "/source"
        self.externalPackagesDir, self.arch = "/petsc/arch/externalpackages", "arch"
        self.petscdir = types.SimpleNamespace(dir="/petsc")
        self.make = types.SimpleNamespace(make_np=2)
        self.setCompilers = types.SimpleNamespace(sharedLibraryExt="so")

    def setupDependencies(self, framework):
        self.cmake = types.SimpleNamespace(found=1, cmake="/usr/bin/cmake")

    def checkSharedLibrariesEnabled(self):
        return self.framework.shared

    @contextlib.contextmanager
    def Language(self, language):
        self.language = language
        yield

    def getCompiler(self):
        return {"C": "mpicc", "Cxx": "mpicxx", "CUDA": "/cuda/bin/nvcc"}[self.language]

    def addPost(self, folder, rules):
        self.posts += rules

    def addMakeCheck(self, folder, rule):
        self.checks.append(rule)


def rules_of_petsc(found=(), **options):
    """The commands that configure would write for make; `found` are the packages that PETSc has."""
    def require(name, _):
        flag = ["-DCMAKE_CUDA_ARCHITECTURES=90"]
        return types.SimpleNamespace(found=name in found, getCmakeCUDAArchFlag=lambda: flag)

    shared = options.pop("shared", True)
    argument_db = {"prefix": "", **options}
    framework = types.SimpleNamespace(argDB=argument_db, clArgDB=argument_db, shared=shared, require=require)
    package = stand_in("config.package", CMakePackage=PetscStandIn)
    modules = {"config": stand_in("config", package=package), "config.package": package}
    made = run_module(PACKAGING / "petsc/syncfree.py", modules).Configure(framework)
    expect(made.download[0].endswith(str(ROOT)), made.download)
    made.setupDependencies(framework)
    expect(made.Install(), "forgot to return the folder")
    return "\n".join(made.posts), made.checks[0]


def petsc_builds_it_for_where_petsc_will_be():
    posts, check = rules_of_petsc()
    for part in ("-DPETSC_DIR=/petsc -DPETSC_ARCH=arch", "PREFIX=/petsc/arch ", 'CXX_COMPILER="mpicxx"', "CUDA=OFF"):
        expect(part in posts, f"{part} is not in {posts}")
    expect("PYTHON_DIR" not in posts and "-dll_append /petsc/arch/lib/libsyncfree_ilu.so" in check, posts + check)
    name = re.search(r"/libpetsc(\w+)\.so", posts)[1]
    expect(f"PetscDLLibraryRegister_petsc{name}(void)" in read("plugin/register.cpp"), f"no entry point of {name}")
    expect(f'PetscLoadDynamicLibrary("{name}"' in read("config/packaging/petsc/petsc.patch"), f"{name} is not loaded")
    posts, check = rules_of_petsc(("config.packages.CUDA", "config.packages.petsc4py"), prefix="/opt/petsc",
                                  **{"download-syncfree-cmake-arguments": "-DMORE=1"})
    for part in ("-DPETSC_DIR=/opt/petsc -DPETSC_ARCH= ", "PREFIX=/opt/petsc ", "CUDA=ON", "ARCHITECTURES=90",
                 "-DMORE=1", 'CMAKE_CUDA_COMPILER="/cuda/bin/nvcc"', "-DSYNCFREE_PYTHON_DIR=lib"):
        expect(part in posts, f"{part} is not in {posts}")
    try:
        rules_of_petsc(shared=False)
    except RuntimeError as error:
        expect("shared" in str(error), error)
    else:
        raise Failure("static libraries are not refused")


def the_recipe_of_conda_has_what_it_names():
    recipe, variants = (load_yaml(f"config/packaging/conda/{name}.yaml") for name in ("recipe", "variants"))
    text = read("config/packaging/conda/recipe.yaml")
    given = {*recipe["context"], *variants, "not", "if", "else", "in", "hash", "linux", "split", "replace", "compiler",
             "stdlib", "pin_subpackage", "upper_bound"}
    for expression in re.findall(r"\${{(.*?)}}", text):
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", expression)))
        expect(words <= given, f"{expression} names {words - given}")
    tree = PACKAGING / "conda" / recipe["source"]["path"]
    for name in (recipe["about"]["license_file"], *recipe["tests"][1]["files"]["source"]):
        expect((tree / name).is_file(), f"there is no {name}")


def dockerfile_and_workflow_run_scripts_that_exist():
    text = read("config/packaging/docker/Dockerfile")
    workflow = load_yaml(".github/workflows/ci.yml")
    steps = [step.get("run", "") for step in workflow["jobs"]["test"]["steps"]]
    expect("bash .ci/run" in steps, steps)
    scripts = re.findall(r"bash(?: |\", \")([\w./-]+)", "\n".join((text, *steps)))
    expect(len(scripts) >= 4, scripts)
    for name in scripts:
        expect((ROOT / name).is_file(), f"there is no {name}")
    expect(re.findall(r"^FROM \S+ AS (\w+)$", text, re.M) == ["cpu", "cuda"], "the stages are others")


def release_files_of(tree, folder, *options):
    """Runs release.py of that tree, with a library that links one other."""
    return subprocess.run([sys.executable, "config/release.py", folder, "--library", "/bin/sh", *options], cwd=tree,
                          capture_output=True, text=True, check=False)


def a_release_is_its_commit_with_sums_and_what_it_links():
    if not (ROOT / ".git").exists():
        raise Skip("this tree is no git repository")
    with tempfile.TemporaryDirectory() as place:
        tree, one, two = (pathlib.Path(place) / name for name in ("tree", "one", "two"))
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
        for folder in (one, two):
            made = release_files_of(tree, folder, "--unreleased")
            expect(made.returncode == 0, made.stderr)
        name = f"petsc-syncfree-{version()}"
        archive, sbom = one / f"{name}.tar.gz", one / f"{name}.spdx.json"
        expect(archive.read_bytes() == (two / archive.name).read_bytes(), "two archives of one commit differ")
        expect(subprocess.run(["sha256sum", "-c", "--status", "SHA256SUMS"], cwd=one, check=False).returncode == 0,
               "the sums are others")
        with tarfile.open(archive) as file:
            names = set(file.getnames())
        wanted = {f"{name}/{n}" for n in ("CMakeLists.txt", "plugin/register.cpp", "config/demo.sh")}
        expect(wanted <= names and f"{name}/.git" not in names, f"the archive lacks {wanted - names}")
        described = json.loads(sbom.read_text(encoding="utf-8"))
        expect([p["name"] for p in described["packages"]] == ["petsc-syncfree", "libc.so.6"], described["packages"])
        expect(described["packages"][1].get("versionInfo"), "libc has no version")
        (tree / "README.md").write_text("changed", encoding="utf-8")
        refused = release_files_of(tree, one, "--unreleased")
        expect(refused.returncode != 0 and "README.md" in refused.stderr, f"a changed file passed: {refused.stderr}")


TESTS = (
    a_release_is_its_commit_with_sums_and_what_it_links,
    options_are_those_of_cmake,
    there_is_one_version_and_one_range_of_petsc,
    spack_hands_cmake_what_the_variants_say,
    petsc_builds_it_for_where_petsc_will_be,
    the_recipe_of_conda_has_what_it_names,
    dockerfile_and_workflow_run_scripts_that_exist,
)


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, TESTS))
