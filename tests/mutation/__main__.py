"""Runs the mutation check of the execution core: `python -m tests.mutation [module ...]`."""

import importlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.patching import patch

PACKAGE = "engine.execution"
FOLDER = Path("engine/execution")
TESTS = ["tests/engine/execution", "tests/engine/conformance"]
# A mutant that waits for ever is stopped by the timeout of a test, one that is merely slow is not.
OPTIONS = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:terminalreporter", "--timeout=30"]
REQUIRED_SCORE = 0.95
PATIENCE = 3
"""A mutant that takes so many times as long as the unchanged module hangs."""

# Which tests can notice a change at all: the others would only cost time.
SCHEDULING, SAMPLING = ("sched", "policy", "decisions"), ("row",)
WATCHING = {"scheduler": SCHEDULING, "policy": SCHEDULING, "leases": SCHEDULING, "row_sampling": SAMPLING}


class MutationCheck:
    """A pytest plugin that runs the collected tests once for every mutant, each time in a process forked for it."""

    def __init__(self, modules: list[str]) -> None:
        self._modules = modules
        self._has_failed = False
        self._seconds = 0.0
        self.killed = 0
        self.survivors: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._has_failed = self._has_failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in self._modules:
            self._check_module(module, _watching(module, session.items))
        return True

    def _check_module(self, module: str, items: list[pytest.Item]) -> None:
        source = (FOLDER / f"{module}.py").read_text()
        self._seconds, started = float("inf"), time.monotonic()
        if not self._survives(module, Mutant(0, "unchanged", source), items):
            raise pytest.UsageError(f"the tests of {module} fail without any change")
        self._seconds = PATIENCE * (time.monotonic() - started)
        for mutant in mutants(source):
            if self._survives(module, mutant, items):
                self.survivors.append(f"{module}:{mutant.line}: {mutant.what}")
                say(self.survivors[-1])
            else:
                self.killed += 1
        say(f"{module}: {len(self.survivors)} of {self.killed + len(self.survivors)} have survived so far")

    def _survives(self, module: str, mutant: Mutant, items: list[pytest.Item]) -> bool:
        child = os.fork()
        if child == 0:
            self._run_tests(module, mutant, items)
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status == 0
            time.sleep(0.01)
        # It hangs, which somebody would notice.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False

    def _run_tests(self, module: str, mutant: Mutant, items: list[pytest.Item]) -> None:
        try:
            patch(importlib.import_module(f"{PACKAGE}.{module}"), mutant.source)
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._has_failed:
                    os._exit(1)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a mutant may raise anything, and must not get back into the loop
            os._exit(1)


def _watching(module: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that may notice a change to `module`; those that try everything come last."""
    words = WATCHING.get(module)
    if words is None:
        chosen = [item for item in items if not any(word in item.nodeid for word in ("sched", "policy", "row"))]
    else:
        chosen = [item for item in items if any(word in item.nodeid for word in words)]
    return sorted(chosen, key=lambda item: "properties" in item.nodeid)


def say(line: str) -> None:
    """One line to whoever watches, at once."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def main(only: list[str]) -> int:
    """Name every survivor, then the score; fails below 95 %, and where a test fails without a change."""
    check = MutationCheck(only or sorted(path.stem for path in FOLDER.glob("[a-z]*.py")))
    if (status := pytest.main([*OPTIONS, *TESTS], plugins=[check])) != 0:
        return int(status)
    score = check.killed / (check.killed + len(check.survivors))
    say(f"{check.killed} of {check.killed + len(check.survivors)} mutants killed: {score:.1%}")
    return 0 if score >= REQUIRED_SCORE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
