"""Find secrets, lines of a template that nobody filled in, and other placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentos.documents.markdown import Line
from agentos.state.key_shapes import KEY_SHAPES

_PLACEHOLDER = re.compile(
    r"\bTBD\b|\bTODO\b|\bFIXME\b|\bXXX\b|(?<!_)___(?!_)|<insert\b|<your\b"
    r"|\[(?:fill in|insert|TBC)\b|\blorem ipsum\b"
    r"|\bto be (?:defined|decided|determined)\b"
    r"|\[(?:describe|specify|your|placeholder|list|explain)\b[^\]\n]{0,80}\](?![(\[])"
    r"|<(?:file[ _-]?)?path>|<(?:description|placeholder|todo|tbd|file ?name)>"
    r"|\bpath/to/\w",
    re.IGNORECASE,
)
_UNFILLED = re.compile(r"<fill[ _-]?in\b|\[GAP\b", re.IGNORECASE)
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
_CODE_SPAN = re.compile(r"`[^`\n]{1,300}`")


def find_placeholder(line: str) -> str | None:
    """Return the first placeholder of a line outside backticks, or None."""
    line = line[:100_000]
    lowered = line.casefold()
    if not any(map(lowered.__contains__, _PLACEHOLDER_STARTS)):
        return None
    shown = _CODE_SPAN.sub(" ", line)
    found = _UNFILLED.search(shown) or _PLACEHOLDER.search(shown)
    if found is None:
        return None
    return found[0]


def is_unfilled(text: str) -> bool:
    """Tell whether a text has a part of a template that nobody filled in."""
    return _UNFILLED.search(text) is not None


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
