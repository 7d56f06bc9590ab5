"""Runs rules one after another or side by side and prints one line for each.

A rule is a function that takes a world and raises when the rule does not hold; its name is the sentence it is declared with.
"""

import concurrent.futures
import sys
import time
import traceback


class Rules:
    """The rules of a suite, in the order they were declared."""

    def __init__(self):
        self.rows = []

    def __call__(self, sentence, protocol=None):
        """Declare the function below as a rule; with a protocol it holds for clients that speak it alone."""

        def declare(function):
            self.rows.append((sentence, protocol, function))
            return function

        return declare


def run(suite, world, rows, together=1):
    """Try every row on the world, some together, print a line for each, and return the number that failed."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(together) as pool:
        tries = [(sentence, pool.submit(function, world)) for sentence, _, function in rows]
        for sentence, future in tries:
            error = future.exception()
            say(suite, sentence, error)
            failed += error is not None
    return failed


def say(suite, sentence, error=None):
    """Print the line of one rule."""
    if error is None:
        print(f"ok   {suite}: {sentence}", flush=True)
        return
    found = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"FAIL {suite}: {sentence}: {found[:600]}", flush=True)
    last = traceback.extract_tb(error.__traceback__)
    for frame in last[:4]:
        print(f"     {frame.filename}:{frame.lineno} {frame.line}", file=sys.stderr, flush=True)


def equal(found, wanted, what="value"):
    """Raise unless found is what was wanted."""
    if found != wanted:
        raise AssertionError(f"{what}: found {found!r}, want {wanted!r}")


def true(condition, text):
    """Raise the text unless the condition holds."""
    if not condition:
        raise AssertionError(text)


def within(seconds, what, probe):
    """Probe until it returns something true, which is returned; raise after that many seconds."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s, last found {found!r}")
        time.sleep(0.05)
