"""Say to the model what failed: all of it where there is room, and never a line cut in two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.proofs.causes import name_cause
from agentos.proofs.judging import Refusal
from agentos.proofs.runs import RED, CollectionError, Outcome, TestResult, TestRun
from agentos.untrusted import clean_text

DEFAULT_LIMIT = 60_000
"""Bytes; about fifteen thousand tokens."""

_DIFF_LINES = 12
_FRAME_LINES = 8
_NAMED_ALREADY = frozenset({"fails", "collection-error"})

Failure = TestResult | CollectionError


def write_feedback(run: TestRun, refusals: Sequence[Refusal] = (), limit: int = DEFAULT_LIMIT) -> str:
    """Return what did not pass, within `limit` bytes of UTF-8.

    Failures come first, then how each came about. What is too much goes in this order, the last test's first: what
    the tests printed; tracebacks that were shown for another test; the ends of long assertion texts, by the line;
    whole tracebacks; the messages in the list. What always stays is the name of every test that did not pass: when
    there are so many that the names alone are over the limit, they are all there is.
    """
    failures = _failures(run)
    notes = [_one_line(str(each)) for each in refusals if each.rule not in _NAMED_ALREADY]
    heading = _heading(run, failures, notes)
    for describe in (_named_with_cause, _named_with_place, _named):
        names = [describe(failure) for failure in failures]
        top = "\n".join([*heading, *names])
        if _size(top) + 1 <= limit:
            details = _fit(_levels(failures), limit - _size(top) - 1)
            return "\n".join([top, *details]) + "\n"
        heading = _heading(run, failures, []) if describe is _named_with_place else heading
    return "\n".join(_named(failure) for failure in failures) + "\n"


def _failures(run: TestRun) -> list[Failure]:
    """Return what did not pass, what hides whole files first; skipped tests are a matter of the refusals."""
    order = {outcome: number for number, outcome in enumerate((Outcome.UNFINISHED, Outcome.FAILED, Outcome.ERROR))}
    tests = [test for test in run.tests if test.outcome in RED]
    return [*run.collection_errors, *sorted(tests, key=lambda test: order.get(test.outcome, len(order)))]


def _heading(run: TestRun, failures: Sequence[Failure], notes: Sequence[str]) -> list[str]:
    passed = sum(test.outcome is Outcome.PASSED for test in run.tests)
    lines = [f"{passed} of {len(run.tests)} collected tests pass."]
    if run.problem:
        lines += ["The run proves nothing:", *_clean(run.problem).split("\n")]
    lines += [f"- {note}" for note in notes]
    if failures:
        lines.append("These do not pass:")
    return lines


def _named_with_cause(failure: Failure) -> str:
    return f"{_named(failure)}: {_one_line(name_cause(failure)) if failure.exception else _outcome(failure)}"


def _named_with_place(failure: Failure) -> str:
    kind = _one_line(failure.exception.rpartition(".")[2]) or _outcome(failure)
    return f"{_named(failure)}: {kind} ({_one_line(failure.file)}:{failure.line})"


def _named(failure: Failure) -> str:
    return f"- {_name(failure)}"


def _name(failure: Failure) -> str:
    return _one_line(failure.path if isinstance(failure, CollectionError) else failure.id)


def _outcome(failure: Failure) -> str:
    if isinstance(failure, CollectionError):
        return "cannot be collected"
    words = {Outcome.UNFINISHED: "the run ended while it ran", Outcome.NOT_RUN: "the run ended before it"}
    return words.get(failure.outcome, failure.outcome.value)


def _levels(failures: Sequence[Failure]) -> list[list[str]]:
    """Return for each failure its account, from the whole to nothing; each is shorter than the one before."""
    first: dict[tuple[str, str, str, int], str] = {}
    found = []
    for failure in failures:
        text = _clean(failure.text).strip("\n")
        output = _clean(failure.output).strip("\n") if isinstance(failure, TestResult) else ""
        title = f"\n### {_name(failure)}"
        same_as = first.setdefault((failure.exception, failure.message, failure.file, failure.line), _name(failure))
        whole = f"{title}\n{text}"
        short = whole
        if same_as != _name(failure):
            short = f"{title}\n[same as {same_as}]"
        trimmed = short if short != whole else f"{title}\n{_trim(text)}"
        levels = [f"{whole}\n{output}" if output else whole, whole, short, trimmed, ""]
        found.append(levels if text or output else [""] * len(levels))
    return found


def _fit(accounts: Sequence[Sequence[str]], room: int) -> list[str]:
    """Return one account of each failure so that all fit; the least is taken from the first failures."""
    chosen = [levels[0] for levels in accounts]
    size = sum(_size(text) + 1 for text in chosen if text)
    for level in range(1, len(accounts[0]) if accounts else 0):
        for number in reversed(range(len(accounts))):
            if size <= room:
                break
            shorter = accounts[number][level]
            if _size(shorter) < _size(chosen[number]):
                size -= _size(chosen[number]) - _size(shorter) + (0 if shorter else 1)
                chosen[number] = shorter
    return [text for text in chosen if text]


def _trim(text: str) -> str:
    """Return a traceback with each long run of lines of one kind cut at its end, by the line."""
    kept: list[str] = []
    run: list[str] = []
    is_explanation = False
    for line in text.split("\n"):
        if line.startswith("E  ") != is_explanation:
            kept += _trim_run(run, is_explanation)
            run, is_explanation = [], not is_explanation
        run.append(line)
    return "\n".join([*kept, *_trim_run(run, is_explanation)])


def _trim_run(lines: Sequence[str], is_explanation: bool) -> Iterable[str]:
    """Return the head of an assertion's explanation, or the lines of a frame that are next to what failed."""
    most = _DIFF_LINES if is_explanation else _FRAME_LINES
    if len(lines) <= most + 1:
        return lines
    left_out = f"[{len(lines) - most} lines left out]"
    return [*lines[:most], left_out] if is_explanation else [left_out, *lines[-most:]]


def _one_line(text: str) -> str:
    return _clean(text).replace("\n", "\\n")


def _clean(text: str) -> str:
    return clean_text(text).decode()


def _size(text: str) -> int:
    return len(text.encode())
