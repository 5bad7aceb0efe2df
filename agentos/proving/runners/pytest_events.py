"""Read the sealed report of a pytest run, and trust it only if all of it agrees."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentos.errors import BadInput
from agentos.proving.runners.requests import Invocation, RunnerExit
from agentos.proving.runners.runs import (
    RED,
    CollectionError,
    FileCoverage,
    TestOutcome,
    TestResult,
    TestRun,
)
from agentos.state.files import read_regular
from agentos.state.terminal_text import clean

EVENTS = "events"
REPORT_LIMIT = 64_000_000
_TAIL_LINES = 15
_TAIL_SIZE = 20_000
_USAGE_ERROR = 4
_NOTHING_RAN = 5
_LEAVE_ALONE = "code and tests must leave the test runner as it is"
_TAMPERED = "the report of the tests was tampered with"
_WRONG_FORM = "the report of the tests is not in the agreed form"

Event = Mapping[str, Any]
Events = list[Event]
Lines = Mapping[str, list[int]]


def read_run(invocation: Invocation, ended: RunnerExit) -> TestRun:
    """Return the results of a report; any disagreement becomes the run's problem."""
    path = invocation.results / EVENTS
    events, damage = read_sealed(path, invocation.key)
    try:
        progress = RunProgress(events)
        problem = _problem(progress, ended, damage)
        return TestRun(
            tests=progress.results(),
            collection_errors=progress.errors,
            skipped_files=tuple(progress.skipped_files),
            file_reasons=progress.file_reasons,
            coverage=progress.coverage(invocation.coverage_files),
            problem=problem,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        kind = type(error).__name__
        return TestRun(problem=f"{_WRONG_FORM} ({kind})")


def read_sealed(path: Path, key: bytes) -> tuple[Events, str]:
    """Return the events up to the first one with a wrong seal, and what is wrong with
    it.
    """
    if not path.exists():
        return [], ""
    try:
        data = read_regular(path, REPORT_LIMIT)
    except BadInput as error:
        return [], f"the report of the tests cannot be read: {error}"
    events: Events = []
    seal = b""
    lines = data.split(b"\n")
    unfinished_line = lines.pop()
    for number, line in enumerate(lines, 1):
        given, _, body = line.partition(b" ")
        code = hmac.new(key, seal + body, "sha256")
        seal = code.hexdigest().encode()
        if not hmac.compare_digest(given, seal):
            return events, f"{_TAMPERED} while they ran (line {number})"
        try:
            event = json.loads(body)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            return events, f"{_WRONG_FORM} (line {number})"
        events.append(event)
    if unfinished_line:
        return events, f"{_TAMPERED} or cut while they ran (its last line)"
    return events, ""


class RunProgress:
    """The events of a run, combined test by test."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.tests: Events = []
        self.selected: list[int] | None = None
        self.phases: dict[int, Events] = {}
        self.begun: list[int] = []
        self.finished: list[int] = []
        self.skipped_files: list[str] = []
        self.file_reasons: dict[str, str] = {}
        self.start: Event | None = None
        self.end: Event | None = None
        self.after_end = 0
        self.guarded = 0
        self.tampered = ""
        self._errors: Events = []
        for event in events:
            if self.end is not None:
                self.after_end += 1
            self._take(event)
        self.errors = tuple(map(_collection_error, self._errors))

    def _take(self, event: Event) -> None:
        match event["event"]:
            case "start":
                self.start = event
            case "test":
                if event["number"] != len(self.tests):
                    raise ValueError("tests are not numbered in order")
                self.tests.append(event)
            case "error":
                self._errors.append(event)
            case "skipped_file":
                name = _name(event["id"])
                self.skipped_files.append(name)
                self.file_reasons[name] = _text(event.get("message", ""))
            case "selected":
                if self.selected is None:
                    self.selected = []
                self.selected.extend(event["numbers"])
            case "begin":
                self.begun.append(event["number"])
            case "phase":
                self._take_phase(event)
            case "finish":
                self.finished.append(event["number"])
            case "guarded":
                self.guarded += event["tests"]
            case "tampered":
                if not self.tampered:
                    what = _name(event["what"])
                    moment = _name(event["moment"])
                    self.tampered = f"{what} was replaced, seen {moment}"
            case "end":
                self.end = event
            case other:
                raise ValueError(other)

    def _take_phase(self, event: Event) -> None:
        # A plugin that reruns a failed test starts again with the setup; the last
        # attempt counts.
        number = event["number"]
        if event["when"] == "setup":
            self.phases[number] = []
        phases = self.phases.setdefault(number, [])
        phases.append(event)

    @property
    def running(self) -> str:
        """Return the id of the last test that began and did not finish, if any."""
        finished = set(self.finished)
        for number in reversed(self.begun):
            if number not in finished:
                test = self.tests[number]
                return _name(test["id"])
        return ""

    def results(self) -> tuple[TestResult, ...]:
        """Return every collected test with its outcome."""
        selected = set(self.selected or ())
        finished = set(self.finished)
        begun = set(self.begun)
        found = []
        for test in self.tests:
            number = test["number"]
            if number in finished:
                phases = self.phases.get(number, [])
                found.append(_result(test, phases))
                continue
            outcome = TestOutcome.NOT_RUN
            if self.selected is not None and number not in selected:
                outcome = TestOutcome.DESELECTED
            elif number in begun:
                outcome = TestOutcome.UNFINISHED
            found.append(_without_failure(test, outcome))
        return tuple(found)

    def coverage(self, files: Sequence[str]) -> dict[str, FileCoverage]:
        """Return the lines of each requested file; one that was not measured has a
        problem.
        """
        statements: Lines = {}
        unreadable: Mapping[str, str] = {}
        executed: Lines = {}
        if self.start:
            statements = self.start["statements"]
            unreadable = self.start["unreadable"]
        if self.end:
            executed = self.end["executed"]
        found = {}
        for name in files:
            if name not in statements:
                problem = "the run ended before it could be measured"
                problem = str(unreadable.get(name, problem))
                found[name] = FileCoverage((), (), _text(problem))
                continue
            lines = set(statements[name])
            ran = set(executed.get(name, ()))
            if not ran <= lines:
                raise ValueError("lines ran that are not there")
            executed_lines = tuple(sorted(ran))
            missing = lines - ran
            missing_lines = tuple(sorted(missing))
            found[name] = FileCoverage(executed_lines, missing_lines)
        return found

    def expected_code(self) -> int:
        """Return the exit code that fits these results."""
        if self.errors:
            return 1
        results = self.results()
        for test in results:
            if test.outcome in RED:
                return 1
        if not self.selected:
            return _NOTHING_RAN
        return 0

    def disagreement(self) -> str:
        """Return a contradiction in the report, empty when there is none."""
        is_whole = self.start is not None and not self.after_end
        if not is_whole or self.end is None or self.selected is None:
            return "the report has no proper beginning or end"
        if self.guarded != len(self.finished):
            return "not every test was watched"
        if sorted(self.finished) != sorted(self.selected):
            return "not every selected test ended exactly once"
        if self.begun != self.finished:
            return "not every selected test ended exactly once"
        for number in self.selected:
            phases = self.phases.get(number, [])
            if not _is_complete(phases):
                return "a test ended without having run"
        own = {
            "tests": len(self.tests),
            "selected": len(self.selected),
            "finished": len(self.finished),
            "errors": len(self._errors),
        }
        counts = self.end["counts"]
        for name, count in own.items():
            if counts[name] != count:
                return "the counts do not agree"
        return ""


def _is_complete(phases: Sequence[Event]) -> bool:
    """Tell whether there was a setup, a teardown, and a call if the setup passed."""
    match [phase["when"] for phase in phases]:
        case ["setup", *between, "teardown"] if "teardown" not in between:
            setup = phases[0]["outcome"]
            is_set_up = setup in ("passed", "xpassed")
            return ("call" in between) == is_set_up
    return False


def _problem(progress: RunProgress, ended: RunnerExit, damage: str) -> str:
    """Return why the run proves nothing, empty when it is a proof."""
    where = ""
    if progress.running:
        where = f" while {progress.running} ran"
    if ended.reason:
        reason = _text(ended.reason)
        return f"the tests were stopped{where}: {reason}"
    if damage:
        return damage + where
    if progress.tampered:
        return (
            f"what decides about the tests was tampered with: {progress.tampered};"
            f" {_LEAVE_ALONE}"
        )
    end = _end(ended)
    if progress.end is None:
        conftest_failed = (
            progress.selected is None and progress.errors and not progress.tests
        )
        if conftest_failed and ended.code == _USAGE_ERROR:
            return ""
        return f"the test run ended early{where} ({end}){_tail(ended)}"
    if progress.end["exit"] not in (0, 1, _NOTHING_RAN):
        return f"the test run broke off{where} ({end}){_tail(ended)}"
    disagreement = progress.disagreement()
    if disagreement:
        return f"the report of the tests contradicts itself: {disagreement} ({end})"
    expected = progress.expected_code()
    codes = {ended.code, progress.end["exit"]}
    if codes != {expected}:
        return (
            f"the results call for exit code {expected}, and there was"
            f" {end}{_tail(ended)}"
        )
    return ""


def _end(ended: RunnerExit) -> str:
    if ended.code is None:
        return "no exit code"
    return f"exit code {ended.code}"


def _tail(ended: RunnerExit) -> str:
    """Return the last lines of the output, each after a newline."""
    data = ended.output
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    text = data[-_TAIL_SIZE:].decode("utf-8", "replace")
    lines = _text(text).splitlines()
    if len(data) > _TAIL_SIZE:
        del lines[:1]
    kept = []
    for line in lines:
        if not line.strip():
            continue
        kept.append(f"\n{line[:500]}")
    last = kept[-_TAIL_LINES:]
    return "".join(last)


def _result(test: Event, phases: Sequence[Event]) -> TestResult:
    """Return the outcome of a test that ran: its worst phase decides."""
    for wanted in ("failed", "skipped", "xfailed", "xpassed"):
        for phase in phases:
            if phase["outcome"] == wanted:
                return _with_failure(test, phase)
    outcomes = {phase["outcome"] for phase in phases}
    if outcomes == {"passed"} and _is_complete(phases):
        return _without_failure(test, TestOutcome.PASSED)
    return _without_failure(test, TestOutcome.UNFINISHED)


def _with_failure(test: Event, phase: Event) -> TestResult:
    outcome = TestOutcome(phase["outcome"])
    is_call = phase["when"] == "call"
    if outcome is TestOutcome.FAILED and not is_call:
        outcome = TestOutcome.ERROR
    failure = phase.get("failure") or {}
    file = failure.get("file") or test["file"]
    line = failure.get("line") or test["line"]
    return TestResult(
        id=_name(test["id"]),
        base=_name(test["base"]),
        path=_name(test["file"]),
        outcome=outcome,
        exception=_text(failure.get("exception", "")),
        message=_text(failure.get("message", "")),
        module=_text(failure.get("module", "")),
        text=_text(phase.get("text", "")),
        output=_text(phase.get("output", "")),
        file=_name(file),
        line=int(line),
    )


def _without_failure(test: Event, outcome: TestOutcome) -> TestResult:
    path = _name(test["file"])
    return TestResult(
        _name(test["id"]),
        _name(test["base"]),
        path,
        outcome,
        file=path,
        line=int(test["line"]),
    )


def _collection_error(event: Event) -> CollectionError:
    failure = event["failure"]
    return CollectionError(
        path=_name(event["id"]),
        exception=_text(failure["exception"]),
        message=_text(failure["message"]),
        module=_text(failure["module"]),
        text=_text(event["text"]),
        file=_name(failure["file"]),
        line=int(failure["line"]),
    )


def _name(value: object) -> str:
    """Return a name as one line."""
    text = _text(value)
    return text.replace("\n", "\\n")


def _text(value: object) -> str:
    """Return a text of the tests without control characters; refuse any other value."""
    if not isinstance(value, str):
        raise TypeError("text expected")
    data = value.encode("utf-8", "backslashreplace")
    return clean(data).decode()
