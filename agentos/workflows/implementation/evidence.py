"""Say to the reviewer of the finished change what the proofs showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentos.documents.changes import is_test
from agentos.proving.inspection import inspect_source
from agentos.proving.judging import name_lines
from agentos.proving.runners.runs import TestOutcome, TestRun
from agentos.proving.skipping import describe_skipped
from agentos.state.wording import count
from agentos.workflows.implementation import proving
from agentos.workflows.implementation.accepting import changed_tests
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import ImplementationState, Iteration
from agentos.workflows.implementation.unreachable import claims_of, say_claims

_MOST_NAMED = 30
_NOTICED = (
    "What a rule noticed in the code. Honest code may do it too; look whether it is"
    " asked for, and whether the code behaves otherwise where it is tested:"
)
_QUIET = (TestOutcome.PASSED, TestOutcome.SKIPPED)


def describe_evidence(
    state: ImplementationState,
    current: Iteration,
    reader: Reader,
    touched: Iterable[str],
) -> str:
    """Return what is known of the item's tests, of the whole suite, of the lines that
    the item changes, and of what its code asks about where it runs.
    """
    lines = list(_own_tests(state, current))
    scaffold = state["scaffolds"][-1]
    for weaker in changed_tests(scaffold, reader):
        line = f"A test that was there before asks for less: {weaker}"
        lines.append(line)
    lines += _suite(state, current)
    data = current["suite"]
    suite = TestRun.from_data(data)
    changed = proving.coverage_of_changes(suite, reader)
    uncovered = False
    for path, file in changed.items():
        missing = name_lines(file)
        if missing:
            uncovered = True
            lines.append(f"{path}: no test runs the changed lines {missing}.")
    if not uncovered:
        lines.append("Tests run every line that the item changes.")
    claims = claims_of(state)
    lines += say_claims(claims)
    noticed = list(_notice(touched, reader))
    if noticed:
        lines.append(_NOTICED)
        lines += noticed[:_MOST_NAMED]
    return "\n".join(lines)


def _notice(paths: Iterable[str], reader: Reader) -> Iterator[str]:
    """Yield what a rule noticed in the changed code, without blaming it."""
    for path in paths:
        text = reader.read(path)
        if text is None or is_test(path) or not path.endswith(".py"):
            continue
        base = reader.read_base(path)
        report = inspect_source(text, path, base)
        for note in report.notes:
            yield f"- {path}, line {note.line}: {note.text}"


def _own_tests(state: ImplementationState, current: Iteration) -> Iterator[str]:
    """Yield how each of the item's tests came out without the code and with it."""
    before = _outcomes(state["red"])
    after = _outcomes(current["run"])
    total = len(after)
    number = count(total, "test")
    yield f"{number} of the item, without the code and with it:"
    for name, outcome in after.items():
        earlier = before.get(name, "could not be imported")
        both = f"{earlier}, {outcome}"
        yield f"- {name}: {both}"


def _suite(state: ImplementationState, current: Iteration) -> Iterator[str]:
    """Yield the outcomes of the whole suite, and what neither passed nor was skipped."""
    before = _outcomes(state["before"])
    data = current["suite"]
    after = _outcomes(data)
    counts = _counts(before)
    yield f"The whole suite before the change: {counts}."
    counts = _counts(after)
    yield f"The whole suite with it: {counts}."
    suite = TestRun.from_data(data)
    yield from describe_skipped(suite)
    missing = state.get("missing_extras", ())
    yield from proving.say_missing(missing)
    others = []
    for name, outcome in after.items():
        if outcome in _QUIET:
            continue
        earlier = before.get(name, "was not there")
        line = f"- {name}: {outcome}; before the change: {earlier}"
        others.append(line)
    yield from others[:_MOST_NAMED]
    more = len(others) - _MOST_NAMED
    if more > 0:
        yield f"- and {more} more"


def _counts(outcomes: Mapping[str, str]) -> str:
    counted = Counter(outcomes.values())
    parts = []
    for outcome, number in counted.most_common():
        part = f"{number} {outcome}"
        parts.append(part)
    if not parts:
        return "no tests"
    return ", ".join(parts)


def _outcomes(data: Mapping[str, Any]) -> dict[str, str]:
    if not data:
        return {}
    run = TestRun.from_data(data)
    outcomes = {}
    for test in run.tests:
        outcomes[test.id] = test.outcome.value
    return outcomes
