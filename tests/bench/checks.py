"""How smoke.py tests: a test is a function of the program, and raises what does not hold."""


class Failure(Exception):
    """What does not hold."""


class Skip(Exception):
    """Why a test cannot run here."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def verdict(test, bench):
    """Runs a test; prints and returns `passed`, `failed` or `skipped`."""
    try:
        test(bench)
    except Skip as skip:
        print(f"skipped  {test.__name__}: {skip}")
        return "skipped"
    except Failure as failure:
        print(f"FAILED   {test.__name__}: {failure}")
        return "failed"
    print(f"passed   {test.__name__}")
    return "passed"
