#!/usr/bin/env python3
"""Have two builds the same machine code, kernel by kernel? For moves and renames, which must not change any.

    python3 config/same_code.py BEFORE AFTER [--renames FILE] [--kernels REGEX]

BEFORE and AFTER are object files, cubins or folders of object files. Kernels are matched by their demangled names, with
parameters, for each architecture; what differs by file name (anonymous namespaces) does not count. Compared are all
instructions with their addresses, registers, shared memory and stack; line numbers are not part of these. Kernels of
several files that have one name are compared as a set.

--renames FILE: a line `OLD NEW [WHERE]` for each identifier that has another name in AFTER; a # begins a comment.

Exit status 1 where a kernel has other code, or is in one build only. Needs cuobjdump (CUDA toolkit, or pip's
nvidia-cuda-cuobjdump) and c++filt.
"""
import argparse
import collections
import hashlib
import re
import subprocess
import sys

from poll_loops import INSTRUCTION, objects, run

USAGE = re.compile(r"(REG:\d+ STACK:\d+ SHARED:\d+ LOCAL:\d+)")


def read_renames(path):
    """{old: new}; of several lines for one name the first counts."""
    found = {}
    for number, line in enumerate(read_lines(path) if path else [], 1):
        words = line.split("#")[0].split()
        if len(words) not in (0, 2, 3):
            sys.exit(f"{path}:{number}: 'OLD NEW [WHERE]' is wanted, not '{line.strip()}'")
        if words:
            found.setdefault(words[0], words[1])
    return found


def read_lines(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readlines()
    except OSError as error:
        sys.exit(str(error))


def names(mangled, renames):
    """Without what a file's name or place decides."""
    done = subprocess.run(["c++filt"], input="\n".join(mangled), stdout=subprocess.PIPE, text=True, check=True)
    for name in done.stdout.splitlines():
        name = re.sub(r"_GLOBAL__N__\w+::|\(anonymous namespace\)::", "", name)
        yield re.sub(r"\w+", lambda word: renames.get(word[0], word[0]), name)


def kernels_of(file):
    """{(architecture, mangled name): lines of its code and what it uses}"""
    code = {}
    body = architecture = name = None
    for line in run("cuobjdump", "-sass", str(file)).splitlines():
        if arch := re.match(r"arch = (\S+)", line):
            architecture = arch[1]
        elif head := re.match(r"\s+Function : (\S+)", line):
            body = code.setdefault((architecture, head[1]), [])
        elif body is not None and (step := INSTRUCTION.match(line)):
            body.append(step[1] + " " + step[2])
    for line in run("cuobjdump", "-res-usage", str(file)).splitlines():
        if arch := re.search(r"arch = (\S+)", line):
            architecture = arch[1]
        elif head := re.match(r"\s*Function (\S+):", line):
            name = head[1]
        elif name and (use := USAGE.search(line)):
            code[architecture, name].append(use[1])
            name = None
    return code


def kernels(place, wanted, renames):
    """{(architecture, name): sorted digests of the code}, as kernels of several files may have one name."""
    found = collections.defaultdict(list)
    for file in objects(place):
        code = kernels_of(file)
        for (architecture, mangled), name in zip(code, names([m for _, m in code], renames)):
            if re.search(wanted, name):
                text = "\n".join(code[architecture, mangled])
                found[architecture, name].append(hashlib.sha256(text.encode()).hexdigest())
    return {key: sorted(digests) for key, digests in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--renames")
    parser.add_argument("--kernels", default="")
    options = parser.parse_args()
    before = kernels(options.before, options.kernels, read_renames(options.renames))
    after = kernels(options.after, options.kernels, {})
    if not before or not after:
        sys.exit(f"no kernel in {options.after if before else options.before}")
    differ = sorted(k for k in before.keys() & after.keys() if before[k] != after[k])
    for what, which in (("other code", differ), ("only before", sorted(before.keys() - after.keys())),
                        ("only after", sorted(after.keys() - before.keys()))):
        for architecture, name in which:
            print(f"{what}: {architecture} {name}")
    print(f"{len(before.keys() & after.keys()) - len(differ)} kernels have the same code, {len(differ)} other code, "
          f"{len(before.keys() - after.keys())} are only before, {len(after.keys() - before.keys())} only after")
    return 1 if differ or before.keys() != after.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
