"""Read what a reviewer answered: a verdict object, alone or within prose, or a review in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.documents.markdown import Kind, Line, scan
from agentos.documents.strict_json import StrictJsonError
from agentos.documents.undisturbed import undisturbed
from agentos.documents.verdict.lenient import load_relaxed, read_object, unwrapped
from agentos.documents.verdict.model import Decision, Verdict, VerdictError
from agentos.documents.verdict.prose import check_around, read_markdown
from agentos.documents.verdict.quoting import is_quoted
from agentos.documents.verdict.wrapping import plain_rows, unwrap, without_thoughts

MAX_ANSWER = 8_000_000
_HALF = re.compile("[\ud800-\udfff]")
_OUTSIDE = re.compile(r'["\[\]{}]')
_OBJECT = re.compile(r"\{|\[\s*\{")
_INSIDE = re.compile(r'["\\]')


@dataclass(frozen=True, slots=True)
class _Object:
    """JSON in an answer: its text, its first line, and the lines that it takes up."""

    text: str
    line: int
    first: int
    last: int


@undisturbed
def read_verdict(text: str) -> Verdict:
    """Read the one clear verdict of an answer, or raise `VerdictError` with what is wrong and where.

    The answer is a verdict object (alone, or with prose around it that states nothing else), or a review in
    Markdown. Only one clear approval is read as APPROVED; a doubtful one is an error.
    """
    if len(text) > MAX_ANSWER:
        raise VerdictError(f"the answer is over {MAX_ANSWER} characters")
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    whole = plain_rows(without_thoughts(whole if whole.isascii() else _HALF.sub("\ufffd", whole)))
    stripped = whole.strip()
    if not stripped:
        raise VerdictError("the answer is empty")
    if _OBJECT.match(stripped) and _object_end(stripped, 0) == len(stripped):
        return read_object(stripped, 1 + whole[: len(whole) - len(whole.lstrip())].count("\n"))
    rows = unwrap(whole.split("\n"))
    inside = "\n".join(rows)
    lines = scan(inside)
    objects = (found for found in _find_objects(inside, rows, lines) if _is_verdict(found.text))
    first, second = next(objects, None), next(objects, None)
    if first is None:
        return read_markdown(lines)
    if second is not None:
        raise VerdictError(f"a second verdict object, after line {first.line}", second.line)
    return _read_within(first, rows, lines)


def _read_within(found: _Object, rows: Sequence[str], lines: Sequence[Line]) -> Verdict:
    verdict = read_object(found.text, found.line)
    if verdict.decision is Decision.APPROVED and is_quoted(lines, found.first):
        raise VerdictError("the verdict object is introduced as someone else's words", found.line)
    around = ["" if found.first <= number <= found.last else row for number, row in enumerate(rows, 1)]
    check_around("\n".join(around), verdict.decision)
    return verdict


def _find_objects(text: str, rows: Sequence[str], lines: Sequence[Line]) -> Iterator[_Object]:
    """Yield the JSON objects of an answer: those that fill a fence, and those that begin a line."""
    opened: Line | None = None
    body: list[str] = []
    resume = offset = 0
    fence, plain_text = Kind.FENCE, Kind.TEXT
    for line, row in zip(lines, rows, strict=True):
        start, offset = offset, offset + len(row) + 1
        if line.number < resume:
            continue
        kind = line.kind
        if kind is fence:
            if opened is not None:
                yield from _from_fence(opened, body, line.number)
                opened, body = None, []
            else:
                opened = line
        elif opened is not None:
            body.append(line.text)
        elif kind is plain_text and row[:1] == "{":
            end = _object_end(text, start)
            if end < 0:
                yield _Object(text[start:], line.number, line.number, len(rows))
                return
            resume = line.number + text.count("\n", start, end) + 1
            after = text.find("\n", end)
            shown = text[start : after if after >= 0 else len(text)]
            yield _Object(shown, line.number, line.number, resume - 1)
    if opened is not None:
        yield from _from_fence(opened, body, len(rows))


def _from_fence(opened: Line, body: Sequence[str], last: int) -> Iterator[_Object]:
    text = "\n".join(body).strip()
    if opened.info.casefold() in ("", "json", "jsonc", "json5") and _OBJECT.match(text):
        yield _Object(text, opened.number + 1, opened.number, last)


def _marks(text: str, position: int) -> Iterator[tuple[str, int, int]]:
    """Yield every bracket and every string of JSON as (mark, start, end), in one pass."""
    while match := _OUTSIDE.search(text, position):
        position = match.end()
        if match[0] == '"':
            while inner := _INSIDE.search(text, position):
                position = inner.end() + (inner[0] == "\\")
                if inner[0] == '"':
                    break
            else:
                position = len(text)
        yield match[0], match.start(), position


def _object_end(text: str, start: int) -> int:
    """Return where the object that begins at `start` ends, or -1 when it does not."""
    depth = 0
    for mark, _, end in _marks(text, start):
        depth += (mark in "{[") - (mark in "}]")
        if depth <= 0:
            return end if mark != '"' else -1
    return -1


def _is_verdict(text: str) -> bool:
    """Tell whether JSON is a verdict object, or what is left of one."""
    try:
        value = load_relaxed(text)
    except StrictJsonError:
        return "decision" in _names(text)
    return unwrapped(value) is not None


def _names(text: str) -> set[str]:
    depth = 0
    found: set[str] = set()
    for mark, start, end in _marks(text, 0):
        depth += (mark in "{[") - (mark in "}]")
        if mark == '"' and depth in (1, 2) and end - start < 40 and text[end : end + 20].lstrip().startswith(":"):
            found.add(text[start + 1 : end - 1])
    return found
