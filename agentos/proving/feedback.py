"""Write feedback for the model: all failures if they fit, and never half a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.proving.causes import describe_cause
from agentos.proving.judging import ProofRefusal
from agentos.proving.runners.runs import (
    CollectionError,
    TestOutcome,
    TestResult,
    TestRun,
)
from agentos.state.terminal_text import clean_text

DEFAULT_LIMIT = 60_000
"""Bytes; about fifteen thousand tokens."""

_DIFF_LINES = 12
_FRAME_LINES = 8
_NAMED_ALREADY = frozenset({"fails", "collection-error"})
_OUTCOMES = {
    TestOutcome.UNFINISHED: "the run ended while it ran",
    TestOutcome.NOT_RUN: "the run ended before it",
}
_ORDER = (
    TestOutcome.UNFINISHED,
    TestOutcome.FAILED,
    TestOutcome.ERROR,
    TestOutcome.NOT_RUN,
)

Failure = TestResult | CollectionError


def write_feedback(
    run: TestRun, refusals: Sequence[ProofRefusal] = (), limit: int = DEFAULT_LIMIT
) -> str:
    """Return the failures of a run, within `limit` bytes of UTF-8.

    A list of failures comes first, then the details of each. What exceeds the limit is
    left out in this order, that of the last test first: captured output; tracebacks
    that were shown for another test; the ends of long assertion texts, by line; whole
    tracebacks; the messages in the list. The name of every test that did not pass
    always stays, even when the names alone exceed the limit.
    """
    failures = _failures(run)
    notes = []
    for refusal in refusals:
        if refusal.rule in _NAMED_ALREADY:
            continue
        notes.append(_one_line(str(refusal)))
    heading = _heading(run, failures, notes)
    bare_heading = _heading(run, failures, [])
    forms = (
        (heading, _named_with_cause),
        (heading, _named_with_place),
        (bare_heading, _named),
    )
    for lines, describe in forms:
        names = map(describe, failures)
        top = "\n".join([*lines, *names])
        top += "\n"
        room = limit - _size(top)
        if room >= 0:
            levels = _levels(failures)
            return top + _fit(levels, room)
    return "\n".join(map(_named, failures)) + "\n"


def _failures(run: TestRun) -> list[Failure]:
    """Return what did not pass, collection errors first; refusals cover skipped
    tests.
    """
    failures: list[Failure] = list(run.collection_errors)
    for outcome in _ORDER:
        failures += [test for test in run.tests if test.outcome is outcome]
    return failures


def _heading(
    run: TestRun, failures: Sequence[Failure], notes: Sequence[str]
) -> list[str]:
    passed = 0
    for test in run.tests:
        if test.outcome is TestOutcome.PASSED:
            passed += 1
    collected = len(run.tests)
    lines = [f"{passed} of {collected} collected tests pass."]
    if run.problem:
        lines.append("The run proves nothing:")
        problem = _clean(run.problem)
        lines += problem.split("\n")
    for note in notes:
        lines.append(f"- {note}")
    if failures:
        lines.append("These do not pass:")
    return lines


def _named_with_cause(failure: Failure) -> str:
    cause = _outcome(failure)
    if failure.exception:
        cause = _one_line(describe_cause(failure))
    return f"{_named(failure)}: {cause}"


def _named_with_place(failure: Failure) -> str:
    kind = failure.exception.rpartition(".")[2]
    cause = _one_line(kind)
    if not cause:
        cause = _outcome(failure)
    file = _one_line(failure.file)
    place = f"({file}:{failure.line})"
    return f"{_named(failure)}: {cause} {place}"


def _named(failure: Failure) -> str:
    return f"- {_name(failure)}"


def _name(failure: Failure) -> str:
    if isinstance(failure, CollectionError):
        return _one_line(failure.path)
    return _one_line(failure.id)


def _outcome(failure: Failure) -> str:
    if isinstance(failure, CollectionError):
        return "cannot be collected"
    outcome = failure.outcome
    return _OUTCOMES.get(outcome, outcome.value)


def _levels(failures: Sequence[Failure]) -> list[list[str]]:
    """Return for each failure its details at several levels, from everything to
    nothing; none is longer than the one before.
    """
    first: dict[object, str] = {}
    found = []
    for failure in failures:
        name = _name(failure)
        text = _clean(failure.text).strip("\n")
        output = ""
        if isinstance(failure, TestResult):
            output = _clean(failure.output).strip("\n")
        place = (failure.exception, failure.message, failure.file, failure.line)
        same_as = first.setdefault(place, name)
        title = f"\n### {name}\n"
        whole = title + text
        short = whole
        trimmed = title + _trim(text)
        if same_as != name:
            short = trimmed = f"{title}[same as {same_as}]"
        with_output = whole
        if output:
            with_output = f"{whole}\n{output}"
        levels = [""]
        if text or output:
            levels = [with_output, whole, short, trimmed, ""]
        found.append(levels)
    return found


def _fit(details: Sequence[Sequence[str]], room: int) -> str:
    """Return one level of the details of each failure, so that all of them fit.

    Every failure goes down one level, the last one first, before any goes down the
    next: the first failures keep the most.
    """
    chosen = []
    size = 0
    for levels in details:
        whole = _ended(levels[0])
        size += _size(whole)
        chosen.append(whole)
    depth = max(map(len, details), default=0)
    for level in range(1, depth):
        for number in reversed(range(len(details))):
            if size <= room:
                break
            levels = details[number]
            if level >= len(levels):
                continue
            shorter = _ended(levels[level])
            longer = chosen[number]
            saved = _size(longer) - _size(shorter)
            if saved > 0:
                size -= saved
                chosen[number] = shorter
    return "".join(chosen)


def _ended(text: str) -> str:
    """Return a text with a newline at its end, unless it is empty."""
    if not text:
        return ""
    return f"{text}\n"


def _trim(text: str) -> str:
    """Return a traceback with each long block of lines of one kind shortened, by
    line.
    """
    kept: list[str] = []
    block: list[str] = []
    is_explanation = False
    for line in text.split("\n"):
        if line.startswith("E  ") != is_explanation:
            kept += _trim_block(block, is_explanation)
            block = []
            is_explanation = not is_explanation
        block.append(line)
    kept += _trim_block(block, is_explanation)
    return "\n".join(kept)


def _trim_block(lines: Sequence[str], is_explanation: bool) -> Iterable[str]:
    """Return the beginning of an assertion's explanation, or the end of a frame, which
    is next to the failure.
    """
    limit = _FRAME_LINES
    if is_explanation:
        limit = _DIFF_LINES
    excess = len(lines) - limit
    if excess <= 1:
        return lines
    left_out = f"[{excess} lines left out]"
    if is_explanation:
        return [*lines[:limit], left_out]
    return [left_out, *lines[excess:]]


def _one_line(text: str) -> str:
    return _clean(text).replace("\n", "\\n")


def _clean(text: str) -> str:
    return clean_text(text).decode()


def _size(text: str) -> int:
    return len(text.encode())
