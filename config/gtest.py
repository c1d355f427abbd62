#!/usr/bin/env python3
"""Runs a GoogleTest program and ends with `RESULT passed failed skipped`.

    python3 config/gtest.py [--timeout SECONDS] PROGRAM [ARGUMENT ...]

A program that crashes or does not end in time counts as one more failure, whatever its tests
said before, and so does one that runs no test at all.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def count(report):
    passed = failed = skipped = 0
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test.get("failures"):
                failed += 1
                print(f"FAILED {suite['name']}.{test['name']}")
            elif test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
                skipped += 1
                print(f"skipped {suite['name']}.{test['name']}")
            else:
                passed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=1200)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        ended = None
        try:
            ended = subprocess.run([*options.command, f"--gtest_output=json:{path}", "--gtest_brief=1"],
                                   timeout=options.timeout).returncode
        except subprocess.TimeoutExpired:
            print(f"HANGS: {options.command[0]} did not end within {options.timeout:g} s")
        passed = failed = skipped = 0
        if os.path.exists(path):
            with open(path) as file:
                passed, failed, skipped = count(json.load(file))
        if (ended != 0 and failed == 0) or passed + failed + skipped == 0:
            print(f"FAILED {options.command[0]}: exit status {ended}, {passed} tests passed")
            failed += 1
    print(f"RESULT {passed} {failed} {skipped}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
