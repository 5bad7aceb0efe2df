"""Report what pytest did, event by event, into a file; runs inside the target's own interpreter.

Works with the interpreters and the versions of pytest that repositories use, so it needs nothing but both of them.
The code under test runs in the same process: every line is sealed with a key that is gone from the disk before that
code is loaded, and each seal covers the lines before it. What a test adds, changes or takes away shows.

PYTEST_DONT_REWRITE: it is loaded before pytest could, and has no assertions.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentos_exceptions import NAME_LIMIT, Describer, bound_text, cause_of, words_of  # type: ignore[import-not-found]
from agentos_guard import hide_from_collector, make_guard  # type: ignore[import-not-found]
from agentos_line_coverage import LineCoverage, follow_lines  # type: ignore[import-not-found]

FOLDER = "AGENTOS_REPORT_FOLDER"

OVERRULED: dict[str, Any] = {
    "maxfail": 0,
    "stepwise": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "collectonly": False,
    "setuponly": False,
    "setupplan": False,
    "usepdb": False,
    "trace": False,
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "forked": False,
    "reruns": None,
    "randomly_reorganize": False,
    "cov_source": [],
    "basetemp": None,
    "xmlpath": None,
    "pastebin": None,
    "showlocals": False,
    "tbstyle": "auto",
    "capture": "fd",
    "verbose": 0,
    "continue_on_collection_errors": True,
}
"""Options of a repository that would hide results, spread them over processes or write where nothing may be written."""


def overrule(options: Any) -> None:
    """Set the options that a whole and ordered report needs, as far as this pytest has them."""
    for name, value in OVERRULED.items():
        if hasattr(options, name):
            setattr(options, name, value)


def open_journal(path: str, key: bytes) -> Callable[[dict[str, Any]], None]:
    """Return the one way to add an event; the key is in no attribute of any object."""
    owner = os.getpid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o600)
    seal = ""
    # Taken now: a test may well replace any of them while it runs, and be reported before it puts them back.
    write, own_pid, new_seal = os.write, os.getpid, hmac.new
    encode = json.JSONEncoder(separators=(",", ":")).encode

    def add(event: dict[str, Any]) -> None:
        nonlocal seal
        if own_pid() != owner:
            return
        body = encode(event)
        seal = new_seal(key, (seal + body).encode("ascii"), "sha256").hexdigest()
        data = f"{seal} {body}\n".encode("ascii")
        while data:
            data = data[write(descriptor, data) :]

    return add


class Reporter:
    """The hooks that tell what happens."""

    def __init__(self, folder: str, add: Callable[[dict[str, Any]], None], coverage: LineCoverage) -> None:
        self.add = add
        self.coverage = coverage
        self.describer = Describer(folder)
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []
        self.counts = {"tests": 0, "selected": 0, "finished": 0, "phases": 0, "errors": 0}
        self.clock = time.monotonic
        self.started = self.clock()
        self.exit: int | None = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Any:
        overrule(early_config.known_args_namespace)
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo else None
        if error is not None and type(error).__name__ == "ConftestImportFailure":
            path = getattr(error, "path", None) or error.args[0]
            self.tell_error(self.describer.relative(str(path)), error, words_of(error))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Any:
        overrule(config.option)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if call is not None and call.excinfo is not None:
            if report.outcome == "skipped":
                self.tell("skipped_file", id=self.name(collector), message=bound_text(words_of(call.excinfo.value)))
            else:
                error = call.excinfo.value
                path = getattr(error, "path", None) if type(error).__name__ == "ConftestImportFailure" else None
                name = self.describer.relative(str(path)) if path else self.name(collector)
                self.tell_error(name, error, report.longreprtext)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Any:
        for item in items:
            self.number(item)
        yield

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        # From two on, assertions are explained whole; while collecting it would only show pytest's own frames.
        session.config.option.verbose = 2
        selected = [self.number(item) for item in session.items]
        self.counts["selected"] += len(selected)
        self.tell("selected", numbers=selected)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        number = self.number(item)
        self.coverage.arm()
        self.tell("begin", number=number)
        yield
        self.counts["finished"] += 1
        self.tell("finish", number=number)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        self.counts["phases"] += 1
        event = {"number": self.number(item), "when": str(call.when), "seconds": round(float(call.duration), 6)}
        event["outcome"] = judge(report, call)
        if call.excinfo is not None and event["outcome"] != "passed":
            event["failure"] = self.describer.describe(call.excinfo.value)
        if event["outcome"] not in ("passed", "skipped", "xfailed"):
            event["text"] = self.describer.bound(str(report.longreprtext))
            event["output"] = self.describer.bound("\n".join(f"{title}:\n{text}" for title, text in report.sections))
        self.tell("phase", **event)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: Any) -> None:
        self.exit = int(exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self.coverage.disarm()
        if self.exit is not None:
            seconds = round(self.clock() - self.started, 6)
            executed = self.coverage.executed()
            self.tell("end", counts=self.counts, exit=self.exit, seconds=seconds, executed=executed)

    def tell(self, event: str, **fields: Any) -> None:
        self.add({"event": event, **fields})

    def tell_error(self, name: str, error: BaseException, text: str) -> None:
        self.counts["errors"] += 1
        cause = cause_of(error)
        self.tell(
            "error", id=name[:NAME_LIMIT], failure=self.describer.describe(cause), text=self.describer.bound(text)
        )

    def name(self, node: Any) -> str:
        return str(node.nodeid)[:NAME_LIMIT]

    def number(self, item: Any) -> int:
        """Return the number of a test, and make it known the first time."""
        number = self.numbers.get(id(item))
        if number is None:
            number = self.numbers[id(item)] = len(self.kept)
            self.kept.append(item)
            self.counts["tests"] += 1
            path, line, _ = item.location
            original = getattr(item, "originalname", None)
            name = self.name(item)
            base = f"{item.parent.nodeid}::{original}"[:NAME_LIMIT] if original else name
            file = self.describer.relative(str(path))[:NAME_LIMIT]
            self.tell("test", number=number, id=name, base=base, file=file, line=(line or 0) + 1)
        return number


def judge(report: Any, call: Any) -> str:
    """Return how a phase ended; a report that says more than the call itself is not believed."""
    if report.outcome == "skipped":
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    if report.outcome == "passed" and call.excinfo is None:
        return "xpassed" if hasattr(report, "wasxfail") else "passed"
    return "failed"


def start() -> tuple[Reporter, Any] | None:
    """Take over the request that lies in the results folder, or do nothing when there is none; return what hooks in."""
    results = os.environ.pop(FOLDER, "")
    if not results:
        return None
    request_path = Path(results, "request.json")
    request = json.loads(request_path.read_text("utf-8"))
    request_path.unlink()
    folder = str(Path.cwd())
    coverage = follow_lines(folder, request["files"])
    add = open_journal(str(Path(results, "events")), bytes.fromhex(request["key"]))
    statements = {name: sorted(each.lines) for name, each in coverage.statements.items()}
    add({"event": "start", "statements": statements, "unreadable": coverage.unreadable})
    coverage.arm()
    reporter = Reporter(folder, add, coverage)
    return reporter, make_guard(folder, add, reporter)


def pytest_addoption(pluginmanager: Any) -> None:
    """Register the hooks, before the repository's own code is loaded."""
    hooks = start()
    if hooks is not None:
        pluginmanager.register(hooks[0], "agentos-report")
        pluginmanager.register(hooks[1], "agentos-guard")
        hide_from_collector()
