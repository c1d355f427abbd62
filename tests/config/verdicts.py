"""What scripts.py and packaging.py share: how a test fails or is skipped, and how tests are run."""

import argparse


class Failure(Exception):
    """What does not hold."""


class Skip(Exception):
    """Why a test cannot run here."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def verdict(run, test):
    try:
        run(test)
    except Skip as skip:
        return "skipped", f": {skip}"
    except Failure as failure:
        return "failed", f": {failure}"
    return "passed", ""


def run_tests(description, tests, run=lambda test: test()):
    """Runs each test, prints its verdict and `RESULT passed failed skipped`; true if one failed.

    description  of the program, for --help: its first paragraph counts
    run          calls a test
    """
    argparse.ArgumentParser(description=description.split("\n\n", 1)[0]).parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in tests:
        result, why = verdict(run, test)
        counts[result] += 1
        print(f"{result:8} {test.__name__}{why}")
    print(f"RESULT {counts['passed']} {counts['failed']} {counts['skipped']}")
    return counts["failed"] != 0
