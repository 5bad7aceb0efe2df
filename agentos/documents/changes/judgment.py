"""Decide which changes a design allows.

It allows the changes it declares, others only for a reason, and changes to tests never.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from agentos.documents.changes.model import Change, Deletion
from agentos.documents.changes.sensitivity import is_record, is_sensitive
from agentos.documents.changes.test_files import is_test
from agentos.documents.repository_paths import plain_path
from agentos.state.path_rules import check_path, fold_name

_REMOVES = ("delete", "remove", "drop")
_MOVES = ("rename", "move")
_WRITES = (
    "add",
    "new",
    "create",
    "modify",
    "update",
    "change",
    "edit",
    "extend",
    "refactor",
    "fix",
)


WITH_MARKER = "in a line `Reason: ...` below its marker"
"""Where an answer with blocks explains a file that the design does not declare."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused change; `text` says which, why, and what to do."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Judgment:
    """The allowed and the refused changes of an answer."""

    allowed: tuple[Change, ...]
    """All changes to make, extras included."""
    extras: tuple[Change, ...]
    """Changes to report: not declared by the design, but with a stated reason."""
    refusals: tuple[Refusal, ...]


def judge(
    changes: Iterable[Change],
    *,
    declared: Mapping[str, str],
    protected: Collection[str] = (),
    how_to_explain: str = WITH_MARKER,
) -> Judgment:
    """Sort changes into allowed and refused ones.

    `declared` maps each path of the design to its kind of change, and `protected` lists
    read-only files and folders. A declared path that ends with a slash opens what lies
    below it, except sensitive files and tests. `how_to_explain` says where an answer
    gives the reason for another file.
    """
    rules = _Rules(declared, protected, how_to_explain)
    allowed: list[Change] = []
    extras: list[Change] = []
    refusals: list[Refusal] = []
    seen: dict[str, str] = {}
    for change in changes:
        why = rules.refuse(change) or _collide(change.path, seen)
        if why:
            text = f"`{_show(change.path)}` {why}."
            if how_to_explain == WITH_MARKER:
                text = f"Line {change.line}: {text}"
            refusals.append(Refusal(change.path, change.line, text))
            continue
        allowed.append(change)
        if not rules.declares(change):
            extras.append(change)
    return Judgment(tuple(allowed), tuple(extras), tuple(refusals))


class _Rules:
    """The paths that a design declares and protects."""

    def __init__(
        self,
        declared: Mapping[str, str],
        protected: Collection[str],
        how_to_explain: str,
    ) -> None:
        self._how_to_explain = how_to_explain
        self.kinds: dict[str, str] = {}
        self.folders: tuple[str, ...] = ()
        for path, kind in declared.items():
            name = plain_path(path)
            if not path.strip().endswith(("/", "\\")):
                self.kinds[name] = kind
            elif name:
                self.folders += (f"{name}/",)
        self.protected = {_fold(plain_path(path)) for path in protected}

    def declares(self, change: Change) -> bool:
        """Tell whether the design declares this kind of change for this file."""
        kind = self.kinds.get(change.path)
        if kind is not None:
            return _fits(change, kind)
        return (
            change.path.startswith(self.folders)
            and not is_sensitive(change.path)
            and not is_test(change.path)
        )

    def refuse(self, change: Change) -> str:
        """Return why a change is refused and what to do, empty if it is allowed."""
        path = change.path
        why = check_path(path)
        if why:
            return f"{why}; use a path inside the repository that the design declares"
        if is_record(path):
            return (
                "is among the requests, designs and answers of people, which no answer"
                " may change; leave it out"
            )
        if self._is_protected(path):
            return (
                "belongs to the tests, which are read-only; change the code so that"
                " they pass"
            )
        if self.declares(change):
            return ""
        if is_test(path):
            what_to_do = "tests are read-only, change the code"
            declared_test = next(filter(is_test, self.kinds), None)
            if declared_test is not None:
                what_to_do = f"write the tests to {declared_test}"
            return f"is a test that the design does not declare; {what_to_do}"
        if is_sensitive(path):
            return (
                "is a file that only the design may open, and it does not declare this"
                " change; leave it as it is"
            )
        if change.reason:
            return ""
        known = "not declared in the design"
        kind = self.kinds.get(path)
        if kind is not None:
            what = "deleted" if isinstance(change, Deletion) else "changed"
            known = f"declared as `{_show(kind)}`, not to be {what}"
        return f"is {known}; leave it, or state why it is needed {self._how_to_explain}"

    def _is_protected(self, path: str) -> bool:
        """Tell whether a path or one of its parents is protected."""
        parent = ""
        for name in _fold(path).split("/"):
            parent += name
            if parent in self.protected:
                return True
            parent += "/"
        return False


def _fits(change: Change, kind: str) -> bool:
    """Tell whether a change is of the declared kind; an unknown kind allows writing."""
    words = kind.casefold()
    removes = any(verb in words for verb in _REMOVES)
    moves = any(verb in words for verb in _MOVES)
    if isinstance(change, Deletion):
        return removes or moves
    return moves or not removes or any(verb in words for verb in _WRITES)


def _collide(path: str, seen: dict[str, str]) -> str:
    """Return a complaint if a path differs from an earlier one only in letter case."""
    other = seen.setdefault(_fold(path), path)
    if other == path:
        return ""
    return (
        f"is the same file as `{_show(other)}` where letter case does not count;"
        " choose one"
    )


def _fold(path: str) -> str:
    return "/".join(map(fold_name, path.split("/")))


def _show(text: str) -> str:
    letters = [letter if letter.isprintable() else "?" for letter in text[:240]]
    flat = " ".join("".join(letters).split())
    return flat if len(flat) <= 120 else flat[:119] + "…"
