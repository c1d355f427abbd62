#!/usr/bin/env python3
"""Compares what compute-sanitizer's racecheck reports with a list of hand-overs that are meant.

    python3 config/racecheck.py LIST REPORT

A line of LIST names two functions, or one that meets itself, in the order of the alphabet, and behind a bar says why
their accesses to the same place are no race. `exit` or `entry` in place of the second: it accesses shared memory of
another thread block, which the tool thinks might have ended, or not begun. The program needs -lineinfo, which brings
the functions' names. Needs c++filt where the tool gives a file and a mangled name. Ends with 0 where all reports are
on the list and the tool came to its end, and not to its limit of hazards, after which it looks for no more.
"""

import argparse
import collections
import functools
import os
import re
import subprocess
import sys

ACCESS = re.compile(r"(?:Read|Write) access at (.*?)\+0x\w+(?: in (_Z\w+))?")
REMOTE = re.compile(r"Potential invalid .*\n=+ +at (.*?)\+0x\w+(?: in (_Z\w+))?.*\n.*\n"
                    r".* in a block that might (?:not have (entered)|have already exited)")
MOST_HAZARDS = "NV_COMPUTE_SANITIZER_MAX_RACECHECK_HAZARDS"


@functools.lru_cache(maxsize=None)
def demangled(name):
    """The signature."""
    return subprocess.run(["c++filt", name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def function_name(access):
    """Class and name, without namespaces, templates and arguments, of a signature or of a file and a mangled name."""
    signature, mangled = access
    if signature.startswith("/") and mangled:
        signature = demangled(mangled)
    depth, text = 0, ""
    for letter in signature.replace("<unnamed>::", ""):
        depth += (letter == "<") - (letter == ">")
        text += letter if depth == 0 and letter != ">" else ""
    return "::".join(text.split("(")[0].split()[-1].split("::")[-2:])


def reports(text):
    """The first access of each report with each of the others; one name where both are in the same function."""
    for block in re.findall(r"Race reported between .*\n(?:=+     and .*\n)*", text):
        first, *others = map(function_name, ACCESS.findall(block))
        for other in others:
            yield tuple(sorted({first, other}))
    for *access, not_entered in REMOTE.findall(text):
        yield tuple(sorted({function_name(access), "entry" if not_entered else "exit"}))


def is_at_limit(text):
    """Whether the tool has counted as many hazards as it does; it is silent about that, and then reports no more."""
    counted = sum(map(int, re.findall(r"\[(\d+) hazards?\]", text)))
    return counted >= int(os.environ.get(MOST_HAZARDS, 10_000_000))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("report")
    options = parser.parse_args()
    with open(options.list, encoding="utf-8") as file:
        meant = {tuple(sorted(line.split("|")[0].split())): line.split("|")[1].strip() for line in file if "|" in line}
    with open(options.report, encoding="utf-8", errors="replace") as file:
        text = file.read()
    seen = collections.Counter(reports(text))
    for names, count in seen.most_common():
        print(f"{count:6} {' and '.join(names)}: {meant.get(names, 'NOT ON THE LIST')}")
    if "RACECHECK SUMMARY" not in text:
        sys.exit("racecheck has not come to its end")
    if any(names not in meant for names in seen):
        sys.exit("racecheck reports what is not on the list")
    if is_at_limit(text):
        test = re.findall(r"^\[ RUN +\] (\S+)", text[: text.rindex("Race reported")], re.MULTILINE)[-1:]
        sys.exit(f"racecheck has come to its limit of hazards ({MOST_HAZARDS}) in {' '.join(test)}")


if __name__ == "__main__":
    main()
