"""Runs the mutation check of the execution core: `python -m tests.mutation [module ...]`."""

import importlib
import os
import sys
import threading
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.patching import patch

PACKAGE = "engine.execution"
FOLDER = Path("engine/execution")
TESTS = ["tests/engine/execution", "tests/engine/conformance"]
# A test that waits for ever is stopped by its timeout, one that begins anew each time by the mutant's.
OPTIONS = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:terminalreporter", "--timeout=10"]
SECONDS_A_MUTANT = 60
AT_ONCE = 6
"""Mutants tried at the same time: most of those that live long only wait."""
REQUIRED_SCORE = 0.95

# Which tests can notice a change at all: the others would only cost time.
SCHEDULING, SAMPLING = ("[sched_", "test_scheduler", "test_policy"), ("[rows_", "test_row_sampling")
WATCHING = {"scheduler": SCHEDULING, "policy": SCHEDULING, "leases": SCHEDULING, "row_sampling": SAMPLING}


class MutationCheck:
    """A pytest plugin that runs the collected tests once for every mutant, each time in a process forked for it."""

    def __init__(self, modules: list[str]) -> None:
        self._modules = modules
        self._has_failed = False
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
        if os.waitpid(self._try(module, source, items), 0)[1] != 0:
            raise pytest.UsageError(f"the tests of {module} fail without any change")
        running: dict[int, Mutant] = {}
        for mutant in mutants(source):
            if len(running) == AT_ONCE:
                self._await_one(module, running)
            running[self._try(module, mutant.source, items)] = mutant
        while running:
            self._await_one(module, running)
        say(f"{module}: {len(self.survivors)} of {self.killed + len(self.survivors)} have survived so far")

    def _await_one(self, module: str, running: dict[int, Mutant]) -> None:
        ended, status = os.wait()
        mutant = running.pop(ended)
        if status != 0:
            self.killed += 1
            return
        self.survivors.append(f"{module}:{mutant.line}: {mutant.what}")
        say(self.survivors[-1])

    def _try(self, module: str, source: str, items: list[pytest.Item]) -> int:
        """Start the process that runs the tests against `source`; it ends with 0 if they all pass."""
        child = os.fork()
        if child == 0:
            self._run_tests(module, source, items)
        return child

    def _run_tests(self, module: str, source: str, items: list[pytest.Item]) -> None:
        watchdog = threading.Timer(SECONDS_A_MUTANT, os._exit, args=(1,))
        watchdog.daemon = True
        watchdog.start()
        try:
            patch(importlib.import_module(f"{PACKAGE}.{module}"), source)
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._has_failed:
                    os._exit(1)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a mutant may raise anything, and must not get back into the loop
            os._exit(1)


def _watching(module: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that may notice a change to `module`; those that try everything come last."""
    unwatching = SCHEDULING + SAMPLING if module not in WATCHING else ()
    watching = (*WATCHING[module], "test_decisions") if module in WATCHING else ("",)
    chosen = [item for item in items if _has(item, watching) and not _has(item, unwatching)]
    for item in chosen:
        if "properties" in item.nodeid:
            item.add_marker(pytest.mark.timeout(SECONDS_A_MUTANT))
    return sorted(chosen, key=lambda item: "properties" in item.nodeid)


def _has(item: pytest.Item, words: tuple[str, ...]) -> bool:
    return any(word in item.nodeid for word in words)


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
