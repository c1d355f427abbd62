#!/usr/bin/env python3
"""Checks the rules of the house that a compiler does not: who includes whom, where memory orders may
stand, how long files, lines and the maps of the code may be, what may lie at the top of the repository, and what
pages of documentation may say: links that resolve, no commits where users read, every option and strategy."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = [
    p
    for folder in ("include", "src", "plugin", "tests", "examples", "config")
    for p in sorted((ROOT / folder).rglob("*"))
    if p.suffix in (".hpp", ".cpp", ".h", ".c", ".cuh", ".cu", ".py", ".sh", ".cmake")
]
TOP = set("""plugin src include tests examples config CMakeLists.txt README.md CMakePresets.json LICENSE CHANGELOG.md
             CITATION.cff .ci .github .clang-format .clang-tidy .editorconfig .gitignore""".split())

# Pages that must exist, and how many lines they may have: to be read in one go
MAPS = {"README.md": 200, "src/README.md": 170, "src/cuda/README.md": 200}
# What users read has no history, so no commits.
FOR_USERS = (
    "README.md",
    "plugin/MANUAL.md",
    "plugin/MANUAL_PAGES.md",
    "plugin/FRAMEWORKS.md",
    "include/syncfree/LOOPS.md",
    "examples/README.md",
)
# What README once said of itself, and what it must not stop saying.
STALE = re.compile(r"compiled, not run|stand-ins|not timed since|slow kernel|The aim is")
SAID = (
    r"^- Memory: .* times PETSc's factor",
    r"^- Small systems: ",
    r"Threads spin",
    r"by an iteration\)",
    r"\(the last not tried yet\)",
    r"^\*\*`-dll_append` must be there when PETSc starts",
    r"`-dm_mat_type aijcusparse -dm_vec_type cuda` \|$",
    r"`-mat_type aijcusparse -vec_type cuda` \|$",
    r"`-use_gpu_aware_mpi 0` \|$",
)
README_COLUMNS = 150
COMMIT = re.compile(r"\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,40}\b")

# What a room of src/core may include of the others; each header names its room. The model that chooses tiles also gives
# the order in which a plan takes them.
CORE_ROOMS = {
    "support": "support/",
    "pattern": "support/",
    "symbolic": "support/|pattern/",
    "schedule": "support/|pattern/",
    "choose": "support/|pattern/grid",
    "ordering": "support/|pattern/",
    "plan": "support/|pattern/|schedule/|choose/grid_times",
    "reorder": "support/|pattern/|schedule/|choose/|ordering/|plan/merge_plan|reorder/",
}

# The same for src/cuda: a room is a stage of the data's walk, and a folder of solve one algorithm. What of solve stands
# in no such folder is what all of these have in common.
CUDA_ROOMS = {
    "base": "base/",
    "sync": "base/|sync/",
    "analysis": "base/|sync/|analysis/",
    "ordering": "base/|sync/|analysis/|ordering/",
    "factor": "base/|sync/|analysis/|factor/|solve/solver",  # the one of L finds pivots of the factorization
    "sweep": "base/|sync/|analysis/|factor/|sweep/",
    "solve": r"base/|sync/|analysis/|solve/\w+\.",
    "solve/level_order": r"base/|sync/|analysis/|solve/\w+\.|solve/level_order/",
    "solve/dense": r"base/|sync/|analysis/|solve/\w+\.|solve/dense/",
    "solve/merged": r"base/|sync/|analysis/|solve/\w+\.|solve/level_order/|solve/merged/",
    "solve/tiled": r"base/|sync/|analysis/|solve/\w+\.|solve/tiled/",
    "solve/wavefront": r"base/|sync/|analysis/|solve/\w+\.|solve/wavefront/",
    "solve/baselines": r"base/|sync/|analysis/|solve/\w+\.|solve/level_order/|solve/baselines/",
    "backend": "",
}

# (files that a rule is for, what they must not include, why); device is what may see CUDA
DEVICE = r"src/cuda/|include/syncfree/cuda/|plugin/.*cuda|tests/(cuda|bench)/"
INCLUDES = [
    (r"(?!plugin/|examples/|tests/(petsc|install|bench|fuzz)/)", r"petsc",
     "PETSc is for plugin, examples and its tests"),
    (rf"(?!{DEVICE})", r"cuda|cusparse|cub/", "CUDA is for src/cuda, include/syncfree/cuda and one file of plugin"),
    (r"include/", r"src/|core/|host/|\.\./", "include never includes src"),
    (r"src/core/", r"(\.\./)*(host|cuda|kokkos)/|omp\.h", "core knows no backend"),
    *((rf"src/core/{room}/", rf"core/(?!{seen})", f"the room {room} of core sees {seen.replace('|', ', ')}")
      for room, seen in CORE_ROOMS.items()),
    *((rf"src/cuda/{room}/[^/]+$", rf"cuda/(?!std/|atomic|{seen})", f"the room {room} of cuda sees only {seen}")
      for room, seen in CUDA_ROOMS.items()),
    (r"src/host/", r"(\.\./)*(cuda|kokkos)/", "backends do not know each other"),
    (r"src/cuda/", r"(\.\./)*(host|kokkos)/", "backends do not know each other"),
    (r"src/kokkos/", r"(\.\./)*(host|cuda)/", "backends do not know each other"),
    (r"plugin/", r"(\.\./)*(src|core|host)/", "plugin includes the public headers only"),
]
ORDERS = r"memory_order|__ATOMIC_|cuda::atomic|omp\s+(atomic|flush)|ld\.acquire|st\.release"
BESIDE_LANGUAGE = r"\batomic[A-Z]\w+\(|\basm\b|\b__(ldcg|ldcv|stcg|threadfence)\w*\("
# where memory order is explained
EXPLAINED = r"include/syncfree/(ready\.hpp|cuda/ready/)|src/cuda/sync/|tests/(model|schedules)/"
# PETSc does not break lines
PETSC_STYLE = ("plugin/", "examples/", "tests/petsc/", "tests/install/", "tests/bench/compare_")

# PETSc is C, through which no exception may pass (plugin/guard.hpp): what it is given to call, and what it exports
HANDED_OVER = (
    r"(?:\bops->\w+ *=(?!=)|(?:ComposeFunction|SolverTypeRegister|OrderingRegister|Destroy)\(.*,|RegisterFinalize\()"
    r" *([^,;()]+)\)*;"
)
EXPORTED = (
    r"^(?:PETSC_EXTERN )?PetscErrorCode ((?:PCSyncFree|PCCreate_|MatSyncFree|PetscDLLibrary)\w+)\([^;{]*\)\n"
    r"{(.*?)^}"
)


def unguarded(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for value in re.findall(HANDED_OVER, text):
        if not re.match(r"guarded<|nullptr|\w+->", value):  # of the inner type or the matrix, where PETSc had it from
            yield f"hands {value} to PETSc without guarded<>"
    for name, body in re.findall(EXPORTED, text, re.M | re.S):
        if not re.search(r"guarded<|return PCSyncFreeRegister\(\);", body):
            yield f"{name} does its work outside of guarded<>"


def breaches(name, text):
    lines = text.splitlines()
    code = name.endswith((".hpp", ".cpp", ".h", ".c", ".cuh", ".cu"))
    for header in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', text, re.M) if code else []:
        for files, forbidden, why in INCLUDES:
            if re.match(files, name) and re.match(forbidden, header):
                yield f"includes {header}: {why}"
    if code and re.search(ORDERS, text) and not re.match(EXPLAINED, name):
        yield "names a memory order; only ready.hpp and the folder ready do"
    if re.match("src/|include/", name) and re.search(BESIDE_LANGUAGE, re.sub(r"//.*", "", text)) and not re.match(
        EXPLAINED, name
    ):
        yield "has an atomic operation or inline assembly; only the folders ready and sync do"
    if name.startswith("plugin/") and code:
        yield from unguarded(text)
    if name.endswith(".sh") and re.search(r"^[^#\n]*(/tmp\b|\bTMPDIR\b(?!=))", text, re.M):
        yield "names a place in a folder that all share; mktemp makes one that nobody can foresee"
    if len(lines) > 600:
        yield f"has {len(lines)} lines, 600 are enough"
    if not name.startswith(PETSC_STYLE):
        for number, line in enumerate(lines, 1):
            if len(line) > 120:
                yield f"line {number} has {len(line)} columns, 120 are enough"


def missing_options():
    """Options of the table of the plugin that a manual page, the manual or a test does not name, or names beside it."""
    table = (ROOT / "plugin/settings.cpp").read_text(encoding="utf-8")
    options = re.findall(r'^  {"(\w+)", +"PC\w+", +".*?", +(true|false), +(true|false),', table, re.M)
    pages = (ROOT / "plugin/pc_syncfree.cpp").read_text(encoding="utf-8").split("/*MC")[1:]
    pages += (ROOT / "plugin/pc_sor.cpp").read_text(encoding="utf-8").split("/*MC")[1:]
    manual = (ROOT / "plugin/MANUAL.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tests = (ROOT / "tests/petsc/set_up_test.cpp").read_text(encoding="utf-8")
    if not options or len(pages) != 3:
        yield "plugin/settings.cpp: the table of options or the manual pages of the three PCs are not where they were"
    for name, factors, sweeps in options:
        if factors == "true" and f'{{"{name}", ' not in tests:
            yield f"tests/petsc/set_up_test.cpp: has no value for -pc_syncfree_{name}"
        if f"\n| `-pc_syncfree_{name}` |" not in manual:
            yield f"plugin/MANUAL.md: has no row for -pc_syncfree_{name}"
        for page in pages:
            has = sweeps if "PCSYNCFREESOR -" in page else factors
            if (f"-pc_syncfree_{name} " in page) != (has == "true"):
                yield f"plugin: a manual page and the table of options disagree on -pc_syncfree_{name}"
    known = {name for name, _, _ in options}
    for page, text in (("README.md", readme), ("plugin/MANUAL.md", manual)):
        for name in sorted(set(re.findall(r"-pc_syncfree_(\w+)", text)) - known):
            yield f"{page}: names -pc_syncfree_{name}, which is no option"


def missing_strategies():
    """Strategies of the list that the tables of the manual do not name with their place and reproducibility."""
    manual = (ROOT / "plugin/MANUAL.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in manual.splitlines() if line.startswith("| `")]
    listed = (ROOT / "src/core/choose/strategy_list.hpp").read_text(encoding="utf-8")
    found = 0
    for part in re.split(r"#define SYNCFREE_", listed)[1:]:
        place = "GPU" if part.startswith("ALL_CUDA") else "CPU"
        for name, reproducible in re.findall(r"X\((\w+), (true|false),", part):
            found += 1
            word = "yes" if reproducible == "true" else "no"
            if not any(
                len(row) == 4 and f"`{name}`" in row[0] and place in row[1] and row[3] in (word, "GPU no, CPU yes")
                for row in rows
            ):
                yield f"plugin/MANUAL.md: no table says of {name} that it is on the {place} and reproducible: {word}"
    if not found:
        yield "src/core/choose/strategy_list.hpp: the list of strategies is not where it was"


# Words that comments of the code do without (house style: ordinary technical English), and names that were given up
ODD_WORDS = r"\b(?:\w*manieth|nobody|somebody|everybody|in vain|at hand|is told of)\b"
PLAIN_ENGLISH = ("src/", "include/")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
OTHERS_NAMES = {"take_turn", "not_a_number", "look_at", "put_in"}  # which something else has, too


def old_names():
    """Compound names that config/renames.txt gives up wherever they stand."""
    lines = (ROOT / "config/renames.txt").read_text(encoding="utf-8").splitlines()
    words = [line.split("#")[0].split() for line in lines]
    names = {w[0] for w in words if len(w) == 2 and re.search(r"_|[a-z][A-Z]", w[0])} - OTHERS_NAMES
    return re.compile(r"\b(?:%s)\b" % "|".join(sorted(names)))


def odd_words(name, text, given_up):
    if not name.endswith((".hpp", ".cpp", ".h", ".c", ".cuh", ".cu")):
        return
    for word in sorted(set(given_up.findall(text))):
        yield f"says {word}, which has another name now (config/renames.txt)"
    if name.startswith(PLAIN_ENGLISH):
        for comment in COMMENT.findall(text):
            for word in re.findall(ODD_WORDS, comment):
                yield f"says '{word}' in a comment"


# From this commit on subjects are `area: what` of at most 72 columns.
FIRST_SUBJECT = "0d2feaf"


def subjects():
    """(what is wrong with subjects, whether there is a history to look at)"""
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%h %s", f"{FIRST_SUBJECT}..HEAD"]
    if not shutil.which("git"):
        return [], False
    log = subprocess.run(command, capture_output=True, text=True)
    wrong = []
    for commit, subject in (line.split(" ", 1) for line in log.stdout.splitlines()):
        if len(subject) > 72 or not re.match(r"[a-z][\w/.,* -]*: \S", subject):
            wrong.append(f"commit {commit}: the subject is not `area: what` of at most 72 columns: {subject}")
    return wrong, log.returncode == 0


def tracked():
    """Names at the top of the repository, as far as git knows them; where there is no git, all but the build."""
    if not shutil.which("git"):
        return {path.name for path in ROOT.iterdir()} - {"build", ".git"}
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    return {line.split("/")[0] for line in listing.stdout.splitlines()}


def pages():
    """Markdown files, as far as git knows them or does not ignore them, with their text and without code blocks."""
    names = []
    if shutil.which("git"):
        listing = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
        names = subprocess.run(listing, capture_output=True, text=True).stdout.splitlines()
    if not names:
        paths = (path.relative_to(ROOT) for path in ROOT.rglob("*.md"))
        names = [path.as_posix() for path in paths if path.parts[0] != "build"]
    for name in sorted(set(names)):
        if (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            yield name, re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(text):
    """Names that GitHub gives to the headings of a page."""
    headings = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in re.findall(r"^#+ +(.+?) *$", text, re.M))
    return {heading.replace(" ", "-") for heading in headings}


def flaws_of_pages():
    texts = dict(pages())
    linked = {"README.md"}
    for name, text in texts.items():
        for link in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (ROOT / name).parent.joinpath(path).resolve() if path else ROOT / name
            page = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else None
            if page is None or not target.exists():
                yield f"{name}: the link {link} leads nowhere"
            elif anchor and anchor not in anchors(texts.get(page, "")):
                yield f"{name}: {page} has no heading for the link {link}"
            if page != name:
                linked.add(page)
    for name in sorted(set(texts) - linked):
        yield f"{name}: no other page links to it"
    for name in FOR_USERS:
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        if not text:
            yield f"{name}: is missing"
        for commit in sorted(set(COMMIT.findall(text))):
            yield f"{name}: names the commit {commit}; tests/bench says which version a number is of"
        if STALE.search(text):
            yield f"{name}: says again {STALE.search(text)[0]!r}"
    yield from flaws_of_readme((ROOT / "README.md").read_text(encoding="utf-8"))


def flaws_of_readme(text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > README_COLUMNS:
            yield f"README.md: line {number} has {len(line)} columns, {README_COLUMNS} are enough"
    for said in SAID:
        if not re.search(said, text, re.M):
            yield f"README.md: nothing fits {said!r} any more, which users need"


def flaws_of_maps():
    for name, most in MAPS.items():
        path = ROOT / name
        if not path.is_file():
            yield f"{name}: is missing"
            continue
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > most:
            yield f"{name}: has {lines} lines, {most} are enough"


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    given_up = old_names()
    found = [f"{name}: has no place at the top" for name in sorted(tracked() - TOP)]
    found += (*flaws_of_maps(), *flaws_of_pages())
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        for part, rooms in (("core", CORE_ROOMS), ("cuda", CUDA_ROOMS)):
            if name.startswith(f"src/{part}/") and name[len(f"src/{part}/"):].rpartition("/")[0] not in rooms:
                found.append(f"{name}: is in no room of {part}")
        text = path.read_text(encoding="utf-8")
        found += [f"{name}: {breach}" for breach in (*breaches(name, text), *odd_words(name, text, given_up))]
    found += (*missing_options(), *missing_strategies())
    wrong, has_history = subjects()
    found += wrong
    print("\n".join(found) or f"{len(SOURCES)} files keep the rules")
    if not has_history:
        print("subjects of commits: skipped, there is no history")
    print("RESULT", int(not found), int(bool(found)), int(not has_history))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
