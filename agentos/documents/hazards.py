"""Find what must not stand in a finished document: placeholders, secrets, unsafe paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from agentos.documents.key_shapes import KEY_SHAPES
from agentos.documents.markdown import Kind, Line

_PLACEHOLDER = re.compile(
    r"\bTBD\b|\bTODO\b|\bFIXME\b|\bXXX\b|(?<!_)___(?!_)|<fill[ _-]?in|<insert\b|<your\b"
    r"|\[(?:fill in|insert|TBC)\b|\blorem ipsum\b|\bto be (?:defined|decided|determined)\b"
    r"|\[(?:describe|specify|your|placeholder|list|explain)\b[^\]\n]{0,80}\](?![(\[])"
    r"|<(?:file[ _-]?)?path>|<(?:description|placeholder|todo|tbd|file ?name)>|\bpath/to/\w",
    re.IGNORECASE,
)
_SOFT = ("[describe", "[specify", "[your", "[list", "[explain", "<path", "<file", "<description", "path/to/")
_TOKEN = re.compile(
    "|".join(start + rest for start, rest in KEY_SHAPES)
    + r"|akia[0-9a-z]{16}|xox[abprs]-[a-z0-9-]{10,100}|glpat-[a-z0-9_-]{20,60}"
    r"|eyj[a-z0-9_-]{15,500}\.eyj[a-z0-9_-]{10,1000}|-----begin [a-z ]{0,30}private key-----"
    r"|://[^\s/:@]{1,60}:[^\s/:@<>{}$]{6,60}@"
    r"|(?:password|passwd|secret|api[_-]?key|token)[\"']?\s{0,3}[:=]\s{0,3}[\"'][^\s\"'{}<>$]{8,100}[\"']",
    re.IGNORECASE,
)
_TOKEN_STARTS = (
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "akia", "aiza", "aq.", "xox", "glpat-", "eyj"),
    *("-----begin ", "://", "password", "passwd", "secret", "api_key", "api-key", "apikey", "token"),
)
_PLACEHOLDER_STARTS = (
    *("tbd", "todo", "fixme", "xxx", "___", "<fill", "<insert", "<your", "[fill", "[insert", "[tbc", "lorem"),
    *("to be de", "[describe", "[specify", "[your", "[placeholder", "[list", "[explain", "<path", "<file", "path/to/"),
    *("<description", "<placeholder", "<todo", "<tbd"),
)
_MARKERS = frozenset({"tbd", "todo", "fixme", "xxx"})
_NEGATIONS = frozenset({"no", "any", "without", "zero", "never", "remaining", "leftover", "neither"})
_NOUNS = frozenset(
    {
        *("comment", "comments", "marker", "markers", "item", "items", "list", "lists", "tag", "tags", "entry"),
        *("entries", "note", "notes", "placeholder", "placeholders", "app", "application"),
    }
)
_MARKS = ",;*_()\"'"
_NEAR = 80
_CODE_SPAN = re.compile(r"`[^`\n]{1,300}`")


def find_placeholder(line: str) -> str | None:
    """Return the first placeholder of a line, not counting what is quoted in backticks."""
    line = line[:100_000]
    if not _may_hold_placeholder(line):
        return None
    shown = _CODE_SPAN.sub(" ", line) if "`" in line else line
    for match in _PLACEHOLDER.finditer(shown):
        if match[0].casefold() not in _MARKERS or not _is_mentioned(shown, match.start(), match.end()):
            return match[0]
    return None


def _may_hold_placeholder(text: str) -> bool:
    lowered = text.casefold()
    return any(map(lowered.__contains__, _PLACEHOLDER_STARTS))


def _is_mentioned(line: str, start: int, end: int) -> bool:
    """Tell whether a marker is spoken of, as in `no TODO comments remain`, or is part of a pattern as `XXX-XXX`."""
    if line[end : end + 1] == "-" and line[end + 1 : end + 2].isalnum():
        return True
    if line[max(0, start - 1) : start] == "-" and line[max(0, start - 2) : start - 1].isalnum():
        return True
    before = [word.strip(_MARKS) for word in line[max(0, start - _NEAR) : start].casefold().split()]
    while before and (before[-1] in _MARKERS or before[-1] in ("or", "and", "nor", "")):
        before.pop()
    after = line[end : end + _NEAR].casefold().replace("/", " ").split(maxsplit=1)[:1]
    is_named = bool(after) and line[end : end + 1] in (" ", "/") and after[0].strip(_MARKS) in _NOUNS
    return is_named or bool(before and before[-1] in _NEGATIONS)


def is_soft(placeholder: str) -> bool:
    """Tell whether a placeholder may as well be meant, so that it counts only where nobody asked for it."""
    return placeholder.casefold().startswith(_SOFT)


def is_sample_path(path: str) -> bool:
    """Tell whether a path only stands for a real one."""
    lowered = path.strip().casefold()
    return lowered.startswith(("path/to/", "your/", "<", "...")) or lowered in ("file", "path", "filename", "…")


def find_placeholders(lines: Iterable[Line]) -> tuple[tuple[int, str], ...]:
    """Return line number and wording of every placeholder in visible text."""
    text, heading = Kind.TEXT, Kind.HEADING
    shown = [line for line in lines if line.kind is text or line.kind is heading]
    if not _may_hold_placeholder("\n".join([line.text for line in shown])):
        return ()
    return tuple((line.number, word) for line in shown if (word := find_placeholder(line.text)))


def find_secrets(text: str) -> tuple[tuple[int, int], ...]:
    """Return where something looks like a credential, as start and end, in order and without overlap."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text
    spans = []
    for start in _TOKEN_STARTS:
        position = lowered.find(start)
        while position >= 0:
            match = _TOKEN.match(text, position)
            is_inside_word = start[0].isalnum() and position > 0 and text[position - 1].isalnum()
            if match and not is_inside_word:
                spans.append(match.span())
            position = lowered.find(start, match.end() if match else position + len(start))
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
    return tuple(kept)


def has_secret(text: str) -> bool:
    """Tell whether the text holds something that looks like a credential."""
    return bool(find_secrets(text))


def unsafe_path(path: str) -> str | None:
    """Return why a path must not be used in a repository, or None."""
    if not path.strip() or "\x00" in path:
        return "is empty"
    forward = path.strip().replace("\\", "/")
    if forward.startswith("/") or forward.startswith("~") or forward[1:2] == ":":
        return "is not relative to the repository"
    parts = PurePosixPath(forward).parts
    if ".." in parts:
        return "leaves the repository"
    if any(part.casefold().rstrip(". ") == ".git" for part in parts):
        return "is inside the folder that git keeps for itself"
    return None
