"""The report of a trial merge, for people and for scripts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentos.item import Item
from agentos.kinds import Kind
from agentos.proving.trial_merge.candidates import Items
from agentos.proving.trial_merge.search import Failures
from agentos.state.wording import count, describe_seconds

MOST_NAMED = 3
_LINE = 300


class MergeResult(StrEnum):
    """The result of one item."""

    MERGED = "merged"
    IN_TARGET = "in-target"
    """The target already contains its changes."""
    CONFLICT = "conflict"
    BREAKS = "breaks"
    """Tests are green with it or the others alone, but red with both."""
    RED_ALONE = "red-alone"
    LEFT_OUT = "left-out"
    """It contains the work of an item that was left out."""
    GONE = "gone"
    """It was implemented, but its commit no longer exists."""


WELL = frozenset({MergeResult.MERGED, MergeResult.IN_TARGET})


@dataclass(frozen=True, slots=True)
class MergedItem:
    """One item and its result."""

    item: str
    result: MergeResult
    branch: str = ""
    commit: str = ""
    others: Items = ()
    """The items it conflicts with, breaks with or contains; none stands for the
    target.
    """
    files: Sequence[str] = ()
    failures: Failures = field(default_factory=dict)
    """The tests that fail, each with its cause."""

    @property
    def label(self) -> str:
        """The label of the item in all output."""
        return _label(self.item)

    def describe(self, target: str) -> str:
        """Describe the result in a few words."""
        others = _name([_label(item) for item in self.others])
        match self.result:
            case MergeResult.MERGED:
                return "merged"
            case MergeResult.IN_TARGET:
                return f"is in {target} already"
            case MergeResult.CONFLICT:
                return f"conflicts with {others or target} in {_name(self.files)}"
            case MergeResult.BREAKS:
                return f"breaks with {others}: {_show(self.failures)}"
            case MergeResult.RED_ALONE:
                return f"is red on {target} by itself: {_show(self.failures)}"
            case MergeResult.LEFT_OUT:
                return f"left out, it has the work of {others} in it"
            case MergeResult.GONE:
                return "its commit is gone; implement it again"

    def to_json(self) -> dict[str, Any]:
        """Return the item as JSON data."""
        return {
            "id": self.item,
            "label": self.label,
            "standing": str(self.result),
            "branch": self.branch,
            "commit": self.commit,
            "with": list(self.others),
            "files": list(self.files),
            "tests": _list_failures(self.failures),
        }


@dataclass(frozen=True, slots=True)
class TrialMergeReport:
    """The report of a whole trial merge."""

    repository: str
    target: str
    """The revision that items were merged into, as the user named it."""
    commit: str
    entries: tuple[MergedItem, ...]
    runs: int
    """The number of runs of the suite."""
    known: Sequence[str] = ()
    """Tests that fail on the target alone, if that was tested."""
    problem: str = ""
    """Why it is unknown whether the merged items are green."""
    unexplained: Failures = field(default_factory=dict)
    """Tests that still fail with the merged items, without a known culprit."""
    notes: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def is_green(self) -> bool:
        """Whether every item merges and the suite is green with all of them."""
        if self.problem or self.unexplained:
            return False
        return all(entry.result in WELL for entry in self.entries)

    def lines(self) -> Iterator[str]:
        """Yield the report for people: a line for each item and a summary."""
        width = max((len(entry.label) for entry in self.entries), default=0)
        for entry in self.entries:
            label = entry.label.ljust(width)
            yield f"{label}  {entry.describe(self.target)}"
        for note in self.notes:
            yield f"Note: {note}"
        if self.known:
            failures = count(len(self.known), "failure")
            yield (
                f"Note: {failures} already on {self.target}, blamed on no item:"
                f" {_name(self.known)}"
            )
        yield self._closing_line()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "schema": 1,
            "repository": self.repository,
            "target": self.target,
            "commit": self.commit,
            "green": self.is_green,
            "items": [entry.to_json() for entry in self.entries],
            "known_failures": list(self.known),
            "unexplained": _list_failures(self.unexplained),
            "problem": self.problem,
            "notes": list(self.notes),
            "suite_runs": self.runs,
            "seconds": round(self.seconds, 3),
        }

    def _closing_line(self) -> str:
        if not self.entries:
            return "Nothing to merge: no item is implemented."
        counts = Counter(str(entry.result) for entry in self.entries)
        merged = counts.pop(MergeResult.MERGED, 0)
        counts.pop(MergeResult.IN_TARGET, 0)
        result = f"{count(merged, 'item')} merged into {self.target}"
        if not merged and self.is_green:
            result = f"nothing to merge into {self.target}"
        elif not merged:
            result = f"nothing merges into {self.target}"
        elif self.problem:
            result += f"; {self.problem}"
        elif self.unexplained:
            result += f", and the suite is red: {_show(self.unexplained)}"
        else:
            result += ", the suite is green"
        if counts:
            left_out = [f"{number} {name}" for name, number in sorted(counts.items())]
            result += f"; left out: {', '.join(left_out)}"
        runs = count(self.runs, "run")
        return (
            f"Trial merge: {result}; {runs} of the suite in"
            f" {describe_seconds(self.seconds)}; no branch was changed"
        )


def _label(item: str) -> str:
    return Item(Kind.IMPLEMENTATION, item, "").label


def _list_failures(failures: Failures) -> list[Any]:
    return [{"test": name, "cause": cause} for name, cause in failures.items()]


def _name(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    named = map(_shorten, names[:MOST_NAMED])
    shown = ", ".join(named)
    if more > 0:
        shown += f" and {more} more"
    return shown


def _show(failures: Failures) -> str:
    """Name the first failure with its cause, and the number of further ones."""
    name = next(iter(failures), "")
    cause = failures.get(name, "")
    if cause:
        name += f" ({cause})"
    shown = _shorten(name)
    more = len(failures) - 1
    if more > 0:
        shown += f" and {count(more, 'more test')}"
    return shown


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _LINE:
        return line
    return f"{line[: _LINE - 3]}..."
