"""Find placeholders, secrets and sample paths, which no finished document may contain."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.documents.markdown import Line
from agentos.state.key_shapes import KEY_SHAPES

_PLACEHOLDER = re.compile(
    r"\bTBD\b|\bTODO\b|\bFIXME\b|\bXXX\b|(?<!_)___(?!_)|<fill[ _-]?in|<insert\b|<your\b"
    r"|\[(?:fill in|insert|TBC|GAP)\b|\blorem ipsum\b"
    r"|\bto be (?:defined|decided|determined)\b"
    r"|\[(?:describe|specify|your|placeholder|list|explain)\b[^\]\n]{0,80}\](?![(\[])"
    r"|<(?:file[ _-]?)?path>|<(?:description|placeholder|todo|tbd|file ?name)>"
    r"|\bpath/to/\w",
    re.IGNORECASE,
)
_SOFT = (
    "[describe",
    "[specify",
    "[your",
    "[list",
    "[explain",
    "<path",
    "<file",
    "<description",
    "path/to/",
)
_TOKEN = re.compile(
    "|".join(start + rest for start, rest in KEY_SHAPES)
    + r"|akia[0-9a-z]{16}|xox[abprs]-[a-z0-9-]{10,100}|glpat-[a-z0-9_-]{20,60}"
    r"|eyj[a-z0-9_-]{15,500}\.eyj[a-z0-9_-]{10,1000}"
    r"|-----begin [a-z ]{0,30}private key-----"
    r"|://[^\s/:@]{1,60}:[^\s/:@<>{}$]{6,60}@"
    r"|(?:password|passwd|secret|api[_-]?key|token)[\"']?\s{0,3}[:=]\s{0,3}[\"'][^\s\"'{}<>$]{8,100}[\"']",
    re.IGNORECASE,
)
# The regular expressions are slow on long texts: these substrings decide where to try.
_TOKEN_STARTS = (
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "akia",
    "aiza",
    "aq.",
    "xox",
    "glpat-",
    "eyj",
    "-----begin ",
    "://",
    "password",
    "passwd",
    "secret",
    "api_key",
    "api-key",
    "apikey",
    "token",
)
_PLACEHOLDER_STARTS = (
    "tbd",
    "todo",
    "fixme",
    "xxx",
    "___",
    "<fill",
    "<insert",
    "<your",
    "[fill",
    "[insert",
    "[tbc",
    "[gap",
    "lorem",
    "to be de",
    "[describe",
    "[specify",
    "[your",
    "[placeholder",
    "[list",
    "[explain",
    "<path",
    "<file",
    "path/to/",
    "<description",
    "<placeholder",
    "<todo",
    "<tbd",
)
_MARKERS = frozenset({"tbd", "todo", "fixme", "xxx"})
_NEGATIONS = frozenset(
    {"no", "any", "without", "zero", "never", "remaining", "leftover", "neither"}
)
_NOUNS = frozenset(
    {
        "comment",
        "comments",
        "marker",
        "markers",
        "item",
        "items",
        "list",
        "lists",
        "tag",
        "tags",
        "entry",
        "entries",
        "note",
        "notes",
        "placeholder",
        "placeholders",
        "app",
        "application",
    }
)
_JOINING_WORDS = ("or", "and", "nor", "")
_MARKS = ",;*_()\"'"
_NEAR = 80
_CODE_SPAN = re.compile(r"`[^`\n]{1,300}`")


def find_placeholder(line: str) -> str | None:
    """Return the first placeholder of a line outside backticks, or None."""
    line = line[:100_000]
    if not _may_hold_placeholder(line):
        return None
    line = _CODE_SPAN.sub(" ", line)
    for match in _PLACEHOLDER.finditer(line):
        word = match[0]
        is_marker = word.casefold() in _MARKERS
        if not is_marker or not _is_mentioned(line, match.start(), match.end()):
            return word
    return None


def _may_hold_placeholder(text: str) -> bool:
    lowered = text.casefold()
    return any(map(lowered.__contains__, _PLACEHOLDER_STARTS))


def _is_mentioned(line: str, start: int, end: int) -> bool:
    """Tell whether a marker is only mentioned, as in `no TODO comments remain`.

    It may also be part of a pattern such as `XXX-XXX`.
    """
    before = line[max(0, start - _NEAR) : start]
    after = line[end : end + _NEAR]
    if after[:1] == "-" and after[1:2].isalnum():
        return True
    if before[-1:] == "-" and before[-2:-1].isalnum():
        return True
    if after.startswith((" ", "/")):
        following = after.casefold().replace("/", " ")
        words = following.split()
        if words and words[0].strip(_MARKS) in _NOUNS:
            return True
    words = before.casefold().split()
    for word in reversed(words):
        bare = word.strip(_MARKS)
        if bare not in _MARKERS and bare not in _JOINING_WORDS:
            return bare in _NEGATIONS
    return False


def is_soft(placeholder: str) -> bool:
    """Tell whether a placeholder may be intended: then it counts only if nobody asked
    for it.
    """
    return placeholder.casefold().startswith(_SOFT)


def is_sample_path(path: str) -> bool:
    """Tell whether a path only stands for a real one."""
    lowered = path.strip().casefold()
    if lowered in ("file", "path", "filename", "…"):
        return True
    return lowered.startswith(("path/to/", "your/", "<", "..."))


def find_placeholders(lines: Iterable[Line]) -> tuple[tuple[int, str], ...]:
    """Return the line number and the wording of each placeholder in visible text."""
    found = []
    for line in lines:
        if not (line.is_text or line.level):
            continue
        word = find_placeholder(line.text)
        if word:
            found.append((line.number, word))
    return tuple(found)


def find_secrets(text: str) -> tuple[tuple[int, int], ...]:
    """Return start and end of all likely credentials, in order and without overlap."""
    lowered = text.lower()
    # Some letters become two when lowered; positions would no longer fit.
    if len(lowered) != len(text):
        lowered = text
    spans = []
    for start in _TOKEN_STARTS:
        position = lowered.find(start)
        while position >= 0:
            end = position + len(start)
            match = _TOKEN.match(text, position)
            if match:
                end = match.end()
                before = text[max(0, position - 1) : position]
                is_inside_word = start[0].isalnum() and before.isalnum()
                if not is_inside_word:
                    spans.append(match.span())
            position = lowered.find(start, end)
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
    return tuple(kept)


def has_secret(text: str) -> bool:
    """Tell whether a text contains a likely credential."""
    return bool(find_secrets(text))
