#!/usr/bin/env python3
"""Runs a GoogleTest program and ends with `RESULT passed failed skipped`.

    python3 config/gtest.py [--timeout SECONDS] [--jobs N] PROGRAM [ARGUMENT ...]

With --jobs the tests are dealt out to N processes at once. A process that crashes or does not end in
time counts as one more failure, whatever its tests said before, and is named with its last test; so
does a program that runs no test at all.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time


def count(report, log):
    """(passed, failed, skipped) of one process's report; what did not pass is printed."""
    reasons = dict(re.findall(r"^\[ RUN      \] (\S+)\n(?:(?!\[).*\n)*?.*: Skipped\n(.*)", log, re.M))
    passed = failed = skipped = 0
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("failures"):
                failed += 1
                print(f"FAILED {name}")
            elif test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
                skipped += 1
                print(f"skipped {name}: {reasons.get(name, 'no reason given')}")
            else:
                passed += 1
    return passed, failed, skipped


class Share:
    """One process and the tests that it was dealt."""

    def __init__(self, command, index, total, folder):
        self.report = os.path.join(folder, f"report{index}.json")
        self.log = os.path.join(folder, f"log{index}.txt")
        env = dict(os.environ, GTEST_TOTAL_SHARDS=str(total), GTEST_SHARD_INDEX=str(index))
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*command, f"--gtest_output=json:{self.report}"], env=env, stdout=log, stderr=subprocess.STDOUT
            )

    def finish(self, end):
        """Waits until `end`; returns (passed, failed, skipped)."""
        trouble = None
        try:
            status = self.process.wait(max(end - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status, trouble = None, "HANGS: killed at the end of its time"
        with open(self.log, encoding="utf-8", errors="replace") as file:
            log = file.read()
        counts = (0, 0, 0)
        if status is not None and os.path.exists(self.report):
            with open(self.report, encoding="utf-8") as file:
                counts = count(json.load(file), log)
        if status and counts[1] == 0:
            trouble = f"CRASHED: exit status {status}"
        if trouble or counts[1]:
            show(log, trouble)
        return counts[0], counts[1] + bool(trouble), counts[2]


def show(log, trouble):
    """What a process said first and last, without the tests that passed."""
    dull = r"^\[( RUN      |       OK |----------|  SKIPPED )\].*\n"
    said = re.sub(dull, "", log, flags=re.M)
    print(said if len(said) < 20000 else said[:6000] + "\n...\n" + said[-14000:])
    if trouble:
        started = re.findall(r"^\[ RUN      \] (.*)$", log, re.M)
        print(f"FAILED {trouble}, in {started[-1] if started else 'no test'}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=1200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    end = time.monotonic() + options.timeout
    with tempfile.TemporaryDirectory() as folder:
        shares = [Share(options.command, i, options.jobs, folder) for i in range(options.jobs)]
        passed, failed, skipped = map(sum, zip(*[share.finish(end) for share in shares]))
    if passed + failed + skipped == 0:
        print(f"FAILED {options.command[0]} runs no test")
        failed = 1
    print(f"RESULT {passed} {failed} {skipped}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
