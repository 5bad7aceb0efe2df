"""Write a report of what pytest does, event by event, into a file.

Runs inside the interpreter of the repository, and works with the versions of Python and
pytest that repositories use, so it needs nothing else. The code under test runs in the
same process: every line is sealed with a key that is deleted from the disk before that
code is loaded, and each seal covers the lines before it. So lines that a test adds,
changes or removes are detected.

PYTEST_DONT_REWRITE: it is loaded before pytest could, and has no assertions.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from agentos_child_lines import FOLDER as CHILDREN  # type: ignore[import-not-found]
from agentos_exceptions import NAME_LIMIT, Describer, bound_text, cause_of, words_of  # type: ignore[import-not-found]
from agentos_guard import hide_from_collector, make_guard  # type: ignore[import-not-found]
from agentos_line_coverage import LineCoverage, follow_lines  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from agentos_guard import Add

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
"""Values for options that could hide results, distribute tests over processes or write
outside the results folder.
"""


def overrule(options: Any) -> None:
    """Set the options for a complete and ordered report, as far as this pytest has
    them.
    """
    for name, value in OVERRULED.items():
        if hasattr(options, name):
            setattr(options, name, value)


def open_journal(path: str, key: bytes) -> Add:
    """Return the function that adds an event; the key is in no attribute of any
    object.
    """
    owner = os.getpid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    flags |= getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o600)
    seal = ""
    # Looked up now: a test may replace any of them while it runs, and be reported
    # before it restores them.
    write = os.write
    own_pid = os.getpid
    new_seal = hmac.new
    encode = json.JSONEncoder(separators=(",", ":")).encode

    def add(event: dict[str, Any]) -> None:
        nonlocal seal
        if own_pid() != owner:
            return
        body = encode(event)
        sealed = (seal + body).encode("ascii")
        seal = new_seal(key, sealed, "sha256").hexdigest()
        data = f"{seal} {body}\n".encode("ascii")
        while data:
            data = data[write(descriptor, data) :]

    return add


class Reporter:
    """The hooks that report what happens."""

    def __init__(self, folder: str, add: Add, coverage: LineCoverage) -> None:
        self.add = add
        self.coverage = coverage
        self.describer = Describer(folder)
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []
        self.counts = {
            "tests": 0,
            "selected": 0,
            "finished": 0,
            "phases": 0,
            "errors": 0,
        }
        self.clock = time.monotonic
        self.started = self.clock()
        self.exit: int | None = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Any:
        overrule(early_config.known_args_namespace)
        outcome = yield
        error = None
        if outcome.excinfo:
            error = outcome.excinfo[1]
        if error is not None and type(error).__name__ == "ConftestImportFailure":
            path = getattr(error, "path", None) or error.args[0]
            name = self.describer.relative(str(path))
            self.tell_error(name, error, words_of(error))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Any:
        overrule(config.option)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if call is None or call.excinfo is None:
            return
        error = call.excinfo.value
        name = self.name(collector)
        if report.outcome == "skipped":
            message = bound_text(words_of(error))
            self.tell("skipped_file", id=name, message=message)
            return
        if type(error).__name__ == "ConftestImportFailure":
            path = getattr(error, "path", None)
            if path:
                name = self.describer.relative(str(path))
        self.tell_error(name, error, report.longreprtext)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Any:
        for item in items:
            self.number(item)
        yield

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        # At this level assertions are explained in full; while collecting it would only
        # show pytest's own frames.
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
        event = {
            "number": self.number(item),
            "when": str(call.when),
            "seconds": round(float(call.duration), 6),
        }
        event["outcome"] = judge(report, call)
        if call.excinfo is not None and event["outcome"] != "passed":
            event["failure"] = self.describer.describe(call.excinfo.value)
        if event["outcome"] not in ("passed", "skipped", "xfailed"):
            event["text"] = self.describer.bound(str(report.longreprtext))
            sections = [f"{title}:\n{text}" for title, text in report.sections]
            event["output"] = self.describer.bound("\n".join(sections))
        self.tell("phase", **event)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: Any) -> None:
        self.exit = int(exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self.coverage.disarm()
        if self.exit is not None:
            seconds = self.clock() - self.started
            executed = self.coverage.executed()
            self.tell(
                "end",
                counts=self.counts,
                exit=self.exit,
                seconds=round(seconds, 6),
                executed=executed,
            )

    def tell(self, event: str, **fields: Any) -> None:
        self.add({"event": event, **fields})

    def tell_error(self, name: str, error: BaseException, text: str) -> None:
        self.counts["errors"] += 1
        cause = cause_of(error)
        self.tell(
            "error",
            id=name[:NAME_LIMIT],
            failure=self.describer.describe(cause),
            text=self.describer.bound(text),
        )

    def name(self, node: Any) -> str:
        return str(node.nodeid)[:NAME_LIMIT]

    def number(self, item: Any) -> int:
        """Return the number of a test, and report it the first time."""
        known = self.numbers.get(id(item))
        if known is not None:
            return known
        number = len(self.kept)
        self.numbers[id(item)] = number
        self.kept.append(item)
        self.counts["tests"] += 1
        path, line, _ = item.location
        original = getattr(item, "originalname", None)
        name = self.name(item)
        base = name
        if original:
            base = f"{item.parent.nodeid}::{original}"
        file = self.describer.relative(str(path))
        self.tell(
            "test",
            number=number,
            id=name,
            base=base[:NAME_LIMIT],
            file=file[:NAME_LIMIT],
            line=(line or 0) + 1,
        )
        return number


def judge(report: Any, call: Any) -> str:
    """Return the outcome of a phase; a report of success is only trusted if the call
    raised nothing.
    """
    is_expected_failure = hasattr(report, "wasxfail")
    if report.outcome == "skipped":
        return "xfailed" if is_expected_failure else "skipped"
    if report.outcome == "passed" and call.excinfo is None:
        return "xpassed" if is_expected_failure else "passed"
    return "failed"


def start() -> tuple[Reporter, Any] | None:
    """Take the request from the results folder, if there is one, and return the
    hooks.
    """
    results = os.environ.pop(FOLDER, "")
    if not results:
        return None
    request_path = Path(results, "request.json")
    request = json.loads(request_path.read_text("utf-8"))
    request_path.unlink()
    folder = str(Path.cwd())
    children = str(Path(results, CHILDREN))
    coverage = follow_lines(folder, request["files"], children)
    key = bytes.fromhex(request["key"])
    add = open_journal(str(Path(results, "events")), key)
    statements = {}
    for name, each in coverage.statements.items():
        statements[name] = sorted(each.lines)
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
