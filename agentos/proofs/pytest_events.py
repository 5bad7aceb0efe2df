"""Read the sealed report of a pytest run, and believe it only where all of it agrees."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentos.errors import BadInput
from agentos.files import read_regular
from agentos.proofs.requests import Ended, Invocation
from agentos.proofs.runs import RED, CollectionError, FileCoverage, Outcome, TestResult, TestRun
from agentos.untrusted import clean

EVENTS = "events"
REPORT_LIMIT = 64_000_000
_TAIL_LINES = 15
_USAGE_ERROR = 4
_NOTHING_RAN = 5
_LEAVE_ALONE = "code and tests must leave the test runner as it is"

Event = Mapping[str, Any]


def read_run(invocation: Invocation, ended: Ended) -> TestRun:
    """Return what the report shows; whatever does not agree becomes the run's problem."""
    events, damage = read_sealed(invocation.results / EVENTS, invocation.key)
    try:
        progress = Progress(events)
        problem = _problem(progress, ended, damage)
        return TestRun(
            tests=progress.results(),
            collection_errors=progress.errors,
            skipped_files=tuple(progress.skipped_files),
            coverage=progress.coverage(invocation.coverage_files),
            problem=problem,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return TestRun(problem=f"the report of the tests is not in the agreed form ({type(error).__name__})")


def read_sealed(path: Path, key: bytes) -> tuple[list[Event], str]:
    """Return the events up to the first whose seal is wrong, and what is wrong there."""
    if not path.exists():
        return [], ""
    try:
        data = read_regular(path, REPORT_LIMIT)
    except BadInput as error:
        return [], f"the report of the tests cannot be read: {error}"
    events: list[Event] = []
    seal = b""
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        given, _, body = line.partition(b" ")
        seal = hmac.new(key, seal + body, "sha256").hexdigest().encode()
        if not hmac.compare_digest(given, seal):
            return events, f"the report of the tests was tampered with while they ran (line {number})"
        try:
            event = json.loads(body)
        except (ValueError, RecursionError):
            return events, f"the report of the tests is not in the agreed form (line {number})"
        if not isinstance(event, dict):
            return events, f"the report of the tests is not in the agreed form (line {number})"
        events.append(event)
    if data and not data.endswith(b"\n"):
        return events, "the report of the tests was tampered with or cut while they ran (its last line)"
    return events, ""


class Progress:
    """The events of a run, put together test by test."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.tests: list[Event] = []
        self.selected: list[int] | None = None
        self.phases: dict[int, list[Event]] = {}
        self.begun: list[int] = []
        self.finished: list[int] = []
        self.skipped_files: list[str] = []
        self.start: Event | None = None
        self.end: Event | None = None
        self.after_end = 0
        self.guarded = 0
        self.tampered = ""
        self._errors: list[Event] = []
        for event in events:
            if self.end is not None:
                self.after_end += 1
            self._take(event)
        self.errors = tuple(_collection_error(event) for event in self._errors)

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
                self.skipped_files.append(_name(event["id"]))
            case "selected":
                self.selected = [*(self.selected or []), *event["numbers"]]
            case "begin":
                self.begun.append(event["number"])
            case "phase":
                self._take_phase(event)
            case "finish":
                self.finished.append(event["number"])
            case "guarded":
                self.guarded += event["tests"]
            case "tampered":
                self.tampered = self.tampered or f"{_name(event['what'])} was replaced, seen {_name(event['moment'])}"
            case "end":
                self.end = event
            case other:
                raise ValueError(other)

    def _take_phase(self, event: Event) -> None:
        # A plugin that runs a failed test again begins anew with the setup; the last attempt counts.
        if event["when"] == "setup":
            self.phases[event["number"]] = []
        self.phases.setdefault(event["number"], []).append(event)

    @property
    def running(self) -> str:
        """Return the id of the test that began and did not finish, empty when there is none."""
        finished = set(self.finished)
        open_tests = [number for number in self.begun if number not in finished]
        return _name(self.tests[open_tests[-1]]["id"]) if open_tests else ""

    def results(self) -> tuple[TestResult, ...]:
        """Return every test that was collected with its end."""
        selected, finished, begun = set(self.selected or ()), set(self.finished), set(self.begun)
        found = []
        for test in self.tests:
            number = test["number"]
            if number in finished:
                found.append(_result(test, self.phases.get(number, [])))
                continue
            outcome = Outcome.UNFINISHED if number in begun else Outcome.NOT_RUN
            if self.selected is not None and number not in selected:
                outcome = Outcome.DESELECTED
            found.append(_without_failure(test, outcome))
        return tuple(found)

    def coverage(self, files: Sequence[str]) -> dict[str, FileCoverage]:
        """Return the lines of every file that was asked for; one without a measurement has its problem."""
        statements: Mapping[str, list[int]] = self.start["statements"] if self.start else {}
        unreadable: Mapping[str, str] = self.start["unreadable"] if self.start else {}
        executed: Mapping[str, list[int]] = self.end["executed"] if self.end else {}
        found = {}
        for name in files:
            if name not in statements:
                problem = _text(str(unreadable.get(name, "the run ended before it could be measured")))
                found[name] = FileCoverage((), (), problem)
                continue
            lines, ran = set(statements[name]), set(executed.get(name, ()))
            if not ran <= lines:
                raise ValueError("lines ran that are not there")
            found[name] = FileCoverage(tuple(sorted(ran)), tuple(sorted(lines - ran)))
        return found

    def expected_code(self) -> int:
        """Return the exit code that these results lead to."""
        outcomes = [test.outcome for test in self.results()]
        if self.errors or any(outcome in RED for outcome in outcomes):
            return 1
        return 0 if self.selected else _NOTHING_RAN

    def disagreement(self) -> str:
        """Return what in the report does not fit together, empty when all of it does."""
        if self.start is None or self.selected is None or self.end is None or self.after_end:
            return "the report has no proper beginning or end"
        if self.guarded != len(self.finished):
            return "not every test was watched"
        if sorted(self.finished) != sorted(self.selected) or self.begun != self.finished:
            return "not every selected test ended exactly once"
        if any(not _is_complete(self.phases.get(number, [])) for number in self.selected):
            return "a test ended without having run"
        counts = self.end["counts"]
        own = (len(self.tests), len(self.selected), len(self.finished), len(self._errors))
        if own != (counts["tests"], counts["selected"], counts["finished"], counts["errors"]):
            return "the counts do not agree"
        return ""


def _is_complete(phases: Sequence[Event]) -> bool:
    """Tell whether there was a setup, a call unless the setup ended otherwise than well, and a teardown."""
    kinds = [phase["when"] for phase in phases]
    if kinds[:1] != ["setup"] or kinds[-1:] != ["teardown"] or kinds.count("teardown") != 1:
        return False
    return ("call" in kinds) == (phases[0]["outcome"] in ("passed", "xpassed"))


def _problem(progress: Progress, ended: Ended, damage: str) -> str:
    """Return why the run proves nothing, empty when it is a proof."""
    where = f" while {progress.running} ran" if progress.running else ""
    if ended.reason:
        return f"the tests were stopped{where}: {_text(ended.reason)}"
    if damage:
        return damage + where
    if progress.tampered:
        return f"what decides about the tests was tampered with: {progress.tampered}; {_LEAVE_ALONE}"
    if progress.end is None:
        conftest_failed = progress.selected is None and progress.errors and not progress.tests
        if conftest_failed and ended.code == _USAGE_ERROR:
            return ""
        return f"the test run ended early{where} ({_end(ended)}){_tail(ended)}"
    if progress.end["exit"] not in (0, 1, _NOTHING_RAN):
        return f"the test run broke off{where} ({_end(ended)}){_tail(ended)}"
    if disagreement := progress.disagreement():
        return f"the report of the tests contradicts itself: {disagreement} ({_end(ended)})"
    expected = progress.expected_code()
    if ended.code != expected or progress.end["exit"] != expected:
        return f"the results call for exit code {expected}, and there was {_end(ended)}{_tail(ended)}"
    return ""


def _end(ended: Ended) -> str:
    return "no exit code" if ended.code is None else f"exit code {ended.code}"


def _tail(ended: Ended) -> str:
    """Return the last lines that were printed, each on a line of its own."""
    data = ended.output.encode("utf-8", "replace") if isinstance(ended.output, str) else ended.output
    lines = _text(data[-20_000:].decode("utf-8", "replace")).splitlines()
    if len(data) > 20_000:
        lines = lines[1:]
    kept = [line[:500] for line in lines if line.strip()][-_TAIL_LINES:]
    return "".join(f"\n{line}" for line in kept)


def _result(test: Event, phases: Sequence[Event]) -> TestResult:
    """Return the end of a test that ran: its worst phase decides."""
    for wanted in ("failed", "skipped", "xfailed", "xpassed"):
        for phase in phases:
            if phase["outcome"] == wanted:
                return _with_failure(test, phase)
    if not _is_complete(phases) or any(phase["outcome"] != "passed" for phase in phases):
        return _without_failure(test, Outcome.UNFINISHED)
    return _without_failure(test, Outcome.PASSED)


def _with_failure(test: Event, phase: Event) -> TestResult:
    failed_outside = phase["outcome"] == "failed" and phase["when"] != "call"
    failure = phase.get("failure") or {}
    return TestResult(
        id=_name(test["id"]),
        base=_name(test["base"]),
        path=_name(test["file"]),
        outcome=Outcome.ERROR if failed_outside else Outcome(phase["outcome"]),
        exception=_text(failure.get("exception", "")),
        message=_text(failure.get("message", "")),
        module=_text(failure.get("module", "")),
        text=_text(phase.get("text", "")),
        output=_text(phase.get("output", "")),
        file=_name(failure.get("file", "") or test["file"]),
        line=int(failure.get("line", 0) or test["line"]),
    )


def _without_failure(test: Event, outcome: Outcome) -> TestResult:
    path = _name(test["file"])
    return TestResult(_name(test["id"]), _name(test["base"]), path, outcome, file=path, line=int(test["line"]))


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
    return _text(value).replace("\n", "\\n")


def _text(value: object) -> str:
    """Return text of the tests without control characters; anything but text is refused."""
    if not isinstance(value, str):
        raise TypeError("text expected")
    return clean(value.encode("utf-8", "backslashreplace")).decode()
