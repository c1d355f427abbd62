#!/usr/bin/env python3
"""Checks the rules of the house that a compiler does not: who includes whom, where memory orders
may stand, how long files and lines may be."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = [p for folder in ("include", "src", "plugin", "tests", "examples")
           for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".hpp", ".cpp", ".h", ".c", ".cuh", ".cu")]


def included(text):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', text, re.M)


def breaches(path):
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text()
    lines = text.splitlines()
    petsc_allowed = name.startswith(("plugin/", "examples/", "tests/petsc/", "tests/install/", "tests/bench/"))
    for header in included(text):
        if header.startswith("petsc") and not petsc_allowed:
            yield f"includes {header}, PETSc's headers are for plugin, examples and tests with PETSc"
        if name.startswith("include/") and ("src/" in header or header.startswith("..")):
            yield f"includes {header}: include never includes src"
        if name.startswith("src/core/") and ("host/" in header or "cuda" in header or "omp.h" in header):
            yield f"includes {header}: core knows no backend"
        if name.startswith("src/host/") and "cuda" in header:
            yield f"includes {header}: backends do not know each other"
    if "memory_order" in text and not name.endswith(("ready.hpp", "ready.cuh")):
        yield "names a memory order; only ready.hpp and ready.cuh do"
    if len(lines) > 600 and not name.startswith("plugin/"):
        yield f"has {len(lines)} lines; 600 are enough"
    if not name.startswith(("plugin/", "tests/petsc/", "examples/", "tests/install/")):
        for number, line in enumerate(lines, 1):
            if len(line) > 120:
                yield f"line {number} has {len(line)} columns; 120 are enough"


def main():
    found = [f"{p.relative_to(ROOT)}: {breach}" for p in SOURCES for breach in breaches(p)]
    print("\n".join(found) or f"{len(SOURCES)} files keep the rules")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
