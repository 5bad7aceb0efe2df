"""What a rehearsal found out, for people and for scripts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentos.task import Task, Workflow
from agentos.wording import count, describe_seconds

MOST_NAMED = 3
_LINE = 300


class Standing(StrEnum):
    """How one item did."""

    MERGED = "merged"
    IN_TARGET = "in-target"
    """All that it would bring is there already."""
    CONFLICT = "conflict"
    BREAKS = "breaks"
    """Its tests and those of the others are green apart and red together."""
    RED_ALONE = "red-alone"
    LEFT_OUT = "left-out"
    """It has the work of one in it that was left out."""
    GONE = "gone"
    """It was implemented, and its commit is nowhere to be found."""


WELL = frozenset({Standing.MERGED, Standing.IN_TARGET})


@dataclass(frozen=True, slots=True)
class Entry:
    """One item and how it did."""

    item: str
    standing: Standing
    branch: str = ""
    commit: str = ""
    others: tuple[str, ...] = ()
    """With whom it conflicts or breaks, or whose work it has in it; none stands for the target."""
    files: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """The tests that show it, each with its cause."""

    @property
    def label(self) -> str:
        """The name that marks the item everywhere."""
        return _label(self.item)

    def describe(self, target: str) -> str:
        """Say in a few words how it did."""
        others = _name([_label(item) for item in self.others])
        match self.standing:
            case Standing.MERGED:
                return "merged"
            case Standing.IN_TARGET:
                return f"is in {target} already"
            case Standing.CONFLICT:
                return f"conflicts with {others or target} in {_name(self.files)}"
            case Standing.BREAKS:
                return f"breaks with {others}: {_show(self.failures)}"
            case Standing.RED_ALONE:
                return f"is red on {target} by itself: {_show(self.failures)}"
            case Standing.LEFT_OUT:
                return f"left out, it has the work of {others} in it"
            case Standing.GONE:
                return "its commit is gone; implement it again"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "id": self.item,
            "label": self.label,
            "standing": str(self.standing),
            "branch": self.branch,
            "commit": self.commit,
            "with": list(self.others),
            "files": list(self.files),
            "tests": [{"test": name, "cause": cause} for name, cause in self.failures.items()],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A whole rehearsal."""

    repository: str
    target: str
    """The revision that was merged into, as it was given."""
    commit: str
    entries: tuple[Entry, ...]
    runs: int
    """How often the suite was run."""
    known: tuple[str, ...] = ()
    """Tests that fail on the target alone, as far as that was looked at."""
    problem: str = ""
    """Why it is not known whether the merged items are green."""
    unexplained: Mapping[str, str] = field(default_factory=dict)
    """Tests that still fail with the merged items and that nobody could be named for."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def is_green(self) -> bool:
        """Whether every item merges and the suite is green with all of them."""
        return not self.problem and not self.unexplained and all(each.standing in WELL for each in self.entries)

    def lines(self) -> Iterator[str]:
        """Return the report for people, a line for each item and one to close with."""
        width = max((len(entry.label) for entry in self.entries), default=0)
        for entry in self.entries:
            yield f"{entry.label:<{width}}  {entry.describe(self.target)}"
        for note in self.notes:
            yield f"Note: {note}"
        if self.known:
            told = f"{count(len(self.known), 'failure')} of {self.target} alone, held against nobody"
            yield f"Note: {told}: {_name(self.known)}"
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
            "unexplained": [{"test": name, "cause": cause} for name, cause in self.unexplained.items()],
            "problem": self.problem,
            "notes": list(self.notes),
            "suite_runs": self.runs,
            "seconds": round(self.seconds, 3),
        }

    def _closing_line(self) -> str:
        if not self.entries:
            return "Nothing to rehearse: no item is implemented."
        merged = sum(entry.standing is Standing.MERGED for entry in self.entries)
        if not merged:
            told = f"nothing to merge into {self.target}" if self.is_green else f"nothing merges into {self.target}"
        elif self.problem:
            told = f"{count(merged, 'item')} merged into {self.target}; {self.problem}"
        elif self.unexplained:
            told = f"{count(merged, 'item')} merged into {self.target}, and the suite is red: {_show(self.unexplained)}"
        else:
            told = f"{count(merged, 'item')} merged into {self.target}, the suite is green"
        counts = Counter(str(entry.standing) for entry in self.entries if entry.standing not in WELL)
        kinds = ", ".join(f"{amount} {kind}" for kind, amount in sorted(counts.items()))
        runs = f"{count(self.runs, 'run')} of the suite in {describe_seconds(self.seconds)}"
        return f"Rehearsal: {told}; " + (f"left out: {kinds}; " if kinds else "") + f"{runs}; no branch was changed"


def _label(item: str) -> str:
    return Task(Workflow.IMPLEMENTATION, item, "").label


def _name(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - MOST_NAMED
    shown = ", ".join(_shorten(name) for name in names[:MOST_NAMED])
    return shown + (f" and {more} more" if more > 0 else "")


def _show(failures: Mapping[str, str]) -> str:
    """Say the first failure with its cause, and how many more there are."""
    name = next(iter(failures), "")
    more = len(failures) - 1
    cause = failures.get(name, "")
    return _shorten(f"{name} ({cause})" if cause else name) + (f" and {count(more, 'more test')}" if more > 0 else "")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."
