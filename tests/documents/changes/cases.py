"""Malformed answers that a reader understands, and what is to become of the files.

    .venv/bin/python -m tests.documents.changes.cases [FOLDER ...]

says of each case whether it was applied as meant, refused or applied wrongly. A case is
a file `NAME.md` or `NAME.json` in a folder.

A Markdown case is prose up to the first line that begins with `%%%%`, then parts:

    %%%% before src/a.py          a file that is there; none for an empty repository
    %%%% answer                   what the model answers
    %%%% after src/a.py           the file as it is meant to be; other files stay
    %%%% gone src/b.py            a file that is meant to be deleted
    %%%% refuse                   something is refused; words of the message may follow

Behind a path, `crlf` and `no-final-newline` say what the text cannot show; behind
`answer` too. Without `refuse` nothing may be refused. A JSON case is one object, or a
list of them, where every blank can be seen:

    {"before": {"src/a.py": "x = 1\\n"}, "answer": "...", "after": {"src/a.py": "y\\n"},
     "refuse": "words of the message, or an empty text", "name": "optional",
     "declared": "src/a.py (Modify), src/b.py (Add)"}

A path with `null` in `after` is gone; without `refuse`, nothing may be refused. Without
`declared`, the design declares what the answer is meant to change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentos.documents.changes import apply_changes, check_path, parse_changes
from agentos.workflows.implementation.accepting import expected_files

MARK = "%%%%"
OWN = Path(__file__).parent / "malformed"
"""Our own cases."""


@dataclass(frozen=True, slots=True)
class Case:
    """One malformed answer."""

    name: str
    answer: str
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    """The files as they are meant to be after the answer."""
    refuse: str | None = None
    """Words of the refusal that is meant; None if nothing is to be refused."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """The kind of change by path, as a design declares it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case."""

    case: Case
    files: Mapping[str, str]
    slips: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether a file was changed in another way than meant."""
        for path in {*self.files, *self.case.before}:
            now = self.files.get(path)
            if now not in (self.case.before.get(path), self.case.after.get(path)):
                return True
        return False

    @property
    def is_as_meant(self) -> bool:
        """Whether all is as meant, refusals too."""
        if dict(self.files) != dict(self.case.after):
            return False
        if self.case.refuse is None:
            return not self.slips
        return any(self.case.refuse in slip for slip in self.slips)

    @property
    def word(self) -> str:
        """The result in one word."""
        if self.is_wrong:
            return "WRONG"
        if self.is_as_meant:
            return "as meant"
        return "refused"


def load_cases(folder: Path) -> list[Case]:
    """Return the cases of a folder by name."""
    cases: list[Case] = []
    for path in sorted(folder.iterdir()):
        text = path.read_bytes().decode()
        if path.suffix == ".md":
            cases.append(_read_markdown(path.stem, text))
        elif path.suffix == ".json":
            cases += _read_json(path.stem, json.loads(text))
    return cases


def run_case(case: Case) -> Result:
    """Have an answer read and applied as the workflow does."""
    declared = case.declared or _declare(case)
    parsed = parse_changes(case.answer, expected_files(declared))
    inside = [change for change in parsed.changes if not check_path(change.path)]
    outside = [change.path for change in parsed.changes if check_path(change.path)]
    applied = apply_changes(inside, case.before.get)
    files = {**case.before, **applied.files}
    for path in applied.deleted:
        files.pop(path, None)
    slips = [problem.text for problem in parsed.problems]
    slips += [f"`{path}` {check_path(path)}" for path in outside]
    slips += applied.slips
    if not parsed.changes and not slips:
        slips.append("the answer names no file")
    return Result(case, files, tuple(slips))


def _declare(case: Case) -> dict[str, str]:
    """Declare what the answer is meant to change, and the files that are there."""
    declared = dict.fromkeys(case.before, "Modify")
    for path in case.after:
        declared.setdefault(path, "Add")
    for path in case.before:
        if path not in case.after:
            declared[path] = "Delete"
    return declared


def _read_declared(text: str) -> dict[str, str]:
    declared = {}
    for part in filter(None, text.split(", ")):
        path, _, kind = part.partition(" ")
        declared[path] = kind.strip("()")
    return declared


def _read_markdown(name: str, text: str) -> Case:
    before: dict[str, str] = {}
    changed: dict[str, str | None] = {}
    answer = ""
    refuse = None
    for words, body in _parts(text):
        match words:
            case ["before", path, *options]:
                before[path] = _as_said(body, options)
            case ["answer", *options]:
                answer = _as_said(body, options)
            case ["after", path, *options]:
                changed[path] = _as_said(body, options)
            case ["gone", path]:
                changed[path] = None
            case ["refuse", *_]:
                refuse = " ".join(body.split())
            case _:
                raise ValueError(f"{name}: unknown part {' '.join(words)}")
    return Case(name, answer, before, _after(before, changed), refuse)


def _parts(text: str) -> Iterator[tuple[list[str], str]]:
    words: list[str] = []
    body: list[str] = []
    for row in text.splitlines(keepends=True):
        if not row.startswith(MARK):
            body.append(row)
            continue
        if words:
            yield words, "".join(body)
        words = row.removeprefix(MARK).split()
        body = []
    yield words, "".join(body)


def _as_said(body: str, options: Iterable[str]) -> str:
    if "crlf" in options:
        body = body.replace("\n", "\r\n")
    if "no-final-newline" in options:
        body = body.rstrip("\r\n")
    return body


def _read_json(name: str, data: Any) -> Iterator[Case]:
    listed = data if isinstance(data, list) else [data]
    for number, one in enumerate(listed, 1):
        before = one.get("before", {})
        yield Case(
            one.get("name", f"{name} {number}"),
            one["answer"],
            before,
            _after(before, one.get("after", {})),
            one.get("refuse"),
            _read_declared(one.get("declared", "")),
        )


def _after(
    before: Mapping[str, str], changed: Mapping[str, str | None]
) -> dict[str, str]:
    files: dict[str, str | None] = {**before, **changed}
    return {path: text for path, text in files.items() if text is not None}


def main(folders: Iterable[str]) -> int:
    """Print the results of folders; return 1 if one is wrong."""
    results: list[Any] = []
    for folder in map(Path, folders):
        results += map(run_case, load_cases(folder))
    for result in results:
        print(f"{result.word:9} {result.case.name}")
        for slip in result.slips:
            print(f"          {slip}")
    words = [result.word for result in results]
    counts = [f"{words.count(word)} {word}" for word in sorted(set(words))]
    print(f"{len(results)} cases: {', '.join(counts)}")
    return 1 if "WRONG" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [str(OWN)]))
