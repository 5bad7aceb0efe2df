"""Say which tests did not run, and why (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentos.proving.runners.runs import TestOutcome, TestResult, TestRun
from agentos.state.wording import count

_MOST_REASONS = 5
_LONGEST_REASON = 200
_UNKNOWN = "no reason is given"


def skip_reasons(run: TestRun) -> list[str]:
    """Return why each skipped test was skipped."""
    skipped = filter(_is_skipped, run.tests)
    return [test.message for test in skipped]


def describe_skipped(run: TestRun) -> list[str]:
    """Return a line on the skipped tests and one on the skipped files, each with the
    reasons, the most frequent first; none where nothing was skipped.
    """
    known = run.file_reasons
    of_files = [known.get(path, "") for path in run.skipped_files]
    reasons = {
        "test": skip_reasons(run),
        "whole file": of_files,
    }
    lines = []
    for what, each in reasons.items():
        if each:
            line = _say(what, each)
            lines.append(line)
    return lines


def _is_skipped(test: TestResult) -> bool:
    return test.outcome is TestOutcome.SKIPPED


def _say(
    what: str,
    reasons: Sequence[str],
) -> str:
    number = count(len(reasons), what)
    shortened = map(_shorten, reasons)
    groups = Counter(shortened)
    frequent = groups.most_common(_MOST_REASONS)
    if len(groups) == 1:
        ((reason, _),) = frequent
        return f"{number} skipped: {reason}"
    parts = [f"{number} skipped"]
    for reason, times in frequent:
        part = f"{times} because of: {reason}"
        parts.append(part)
    more = len(groups) - len(frequent)
    if more:
        others = count(more, "other reason")
        parts.append(f"and {others}")
    return "; ".join(parts)


def _shorten(message: str) -> str:
    """Return a reason as one short line."""
    words = message.split()
    line = " ".join(words)
    plain = line.removeprefix("Skipped: ")
    short = plain[:_LONGEST_REASON]
    return short or _UNKNOWN
