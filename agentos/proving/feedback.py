"""Write feedback for the model: all failures if they fit, and never half a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from agentos.proving.causes import CauseGroup, Failure, group_by_cause, name_of
from agentos.proving.judging import ProofRefusal
from agentos.proving.runners.runs import (
    CollectionError,
    TestOutcome,
    TestResult,
    TestRun,
)
from agentos.state.terminal_text import clean_text

DEFAULT_LIMIT = 24_000
"""Bytes; about six thousand tokens."""

_FAILING = "These do not pass:"
_OLD = "These failed before any change. They are not yours; leave them as they are:"
_DETAILS_LIMIT = 4_000
"""Characters of the traceback that is shown for a cause: a page."""
_OUTPUT_LIMIT = 1_000
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


def write_feedback(
    run: TestRun,
    refusals: Sequence[ProofRefusal] = (),
    limit: int = DEFAULT_LIMIT,
    old: Collection[str] = (),
) -> str:
    """Return the failures of a run, within `limit` bytes of UTF-8; `old` are the names
    of those that were there before any change.

    A list of the failures by cause comes first, then the details of the first failure
    of each cause. What exceeds the limit is left out in this order, that of the last
    cause first: captured output; the ends of long assertion texts, by line; whole
    tracebacks; the causes in the list. The name of every test that did not pass always
    stays, even when the names alone exceed the limit.
    """
    failures = []
    old_failures = []
    for failure in _failures(run):
        if name_of(failure) in old:
            old_failures.append(failure)
        else:
            failures.append(failure)
    notes = []
    for refusal in refusals:
        if refusal.rule in _NAMED_ALREADY:
            continue
        notes.append(_one_line(str(refusal)))
    groups = group_by_cause(failures)
    heading = _heading(run, notes)
    bare_heading = _heading(run, [])
    names = list(map(_named, failures))
    old_names = list(map(_named, old_failures))
    by_cause = _titled(_FAILING, _list_by_cause(groups))
    by_name = _titled(_FAILING, names)
    before = _titled(_OLD, old_names)
    forms = (
        heading + by_cause + before,
        heading + by_name + before,
        bare_heading + by_name + before,
    )
    for lines in forms:
        top = "\n".join(lines)
        top += "\n"
        room = limit - _size(top)
        if room >= 0:
            levels = list(map(_levels, groups))
            return top + _fit(levels, room)
    return "\n".join([*names, *old_names]) + "\n"


def _failures(run: TestRun) -> list[Failure]:
    """Return what did not pass, collection errors first; refusals cover skipped
    tests.
    """
    failures: list[Failure] = list(run.collection_errors)
    for outcome in _ORDER:
        failures += [test for test in run.tests if test.outcome is outcome]
    return failures


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines below their title, none if there are no lines."""
    listed = list(lines)
    if not listed:
        return []
    return [title, *listed]


def _heading(run: TestRun, notes: Sequence[str]) -> list[str]:
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
        line = f"- {note}"
        lines.append(line)
    return lines


def _list_by_cause(groups: Iterable[CauseGroup]) -> Iterator[str]:
    """Yield a line for each cause of a single failure, and for others one more for each
    of them.
    """
    for group in groups:
        first = group.failures[0]
        cause = _outcome(first)
        if first.exception:
            cause = _one_line(group.description)
        number = len(group.failures)
        if number == 1:
            name = _named(first)
            yield f"{name}: {cause}"
            continue
        yield f"- {number} for one cause: {cause}"
        for failure in group.failures:
            name = _named(failure)
            yield f"  {name}"


def _named(failure: Failure) -> str:
    return f"- {_name(failure)}"


def _name(failure: Failure) -> str:
    return _one_line(name_of(failure))


def _outcome(failure: Failure) -> str:
    if isinstance(failure, CollectionError):
        return "cannot be collected"
    outcome = failure.outcome
    return _OUTCOMES.get(outcome, outcome.value)


def _levels(group: CauseGroup) -> list[str]:
    """Return the details of the first failure of a cause at several levels, from
    everything to nothing; none is longer than the one before.
    """
    failure = group.failures[0]
    text = _clean(failure.text)
    text = text.strip("\n")
    output = ""
    if isinstance(failure, TestResult):
        output = _clean(failure.output)
        output = output.strip("\n")
    if not text and not output:
        return [""]
    title = f"\n### {_name(failure)}\n"
    whole = title + _clip(text, _DETAILS_LIMIT)
    trimmed = _trim(text)
    shortest = title + _clip(trimmed, _DETAILS_LIMIT)
    levels = [whole, shortest, ""]
    if output:
        shown = _clip(output, _OUTPUT_LIMIT)
        with_output = f"{whole}\n{shown}"
        levels.insert(0, with_output)
    return levels


def _clip(text: str, limit: int) -> str:
    """Return a text within a limit, without the lines in its middle."""
    if len(text) <= limit:
        return text
    quarter = limit // 4
    lines = text.split("\n")
    head = _fitting(lines, quarter)
    rest = lines[len(head) :]
    rest.reverse()
    tail = _fitting(rest, quarter * 3)
    tail.reverse()
    left_out = len(rest) - len(tail)
    note = f"[{left_out} lines left out]"
    kept = [*head, note, *tail]
    return "\n".join(kept)


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    """Return the first lines, as many as fit."""
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


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
