"""Read the lines that name a file: `# File: src/a.py` in any comment style, as a heading, or in a fence's info."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_LONGEST_ROW = 20_000
_LONGEST_REASON = 1_000
_COMMENTS = (
    *(("<!--", "-->"), ("/*", "*/"), ("(*", "*)"), ("{#", "#}"), ("{-", "-}"), ("//", ""), ("--", "")),
    *(("#", ""), (";", ""), ("%", ""), ('"', '"'), ("'", "'"), ("!", "")),
)
_HARMLESS_NOTES = frozenset(
    {
        *("new", "new file", "create", "created", "add", "added", "modify", "modified", "update", "updated"),
        *("change", "changed", "edit", "edited", "full", "complete", "whole", "whole file", "existing"),
    }
)
_PATH_KEYS = ("path", "file", "filename", "filepath")
_NOT_PATHS = frozenset({"asp.net", "vb.net", "ado.net"})


class Verb(StrEnum):
    """What a marker says is done with the file."""

    FILE = "file"
    EDIT = "edit"
    DELETE = "delete"


_VERBS = {
    **dict.fromkeys(("file", "filename", "file name", "filepath", "file path"), Verb.FILE),
    "edit": Verb.EDIT,
    "delete": Verb.DELETE,
}


@dataclass(frozen=True, slots=True)
class Marker:
    """A line that names a file; `note` is what stands behind the path and does not belong to it."""

    verb: Verb
    path: str
    note: str = ""
    is_marked: bool = True
    """Whether comment signs, a heading or bold letters set it apart from prose, or backticks its path."""


def read_comment_marker(row: str) -> Marker | None:
    """Return the marker in a comment of any style, as it stands inside a fence."""
    body = _uncomment(row)
    return None if body is None else _read_marker(body, is_marked=True)


def read_prose_marker(row: str) -> Marker | None:
    """Return the marker in a line outside a fence: a comment, a heading, an entry of a list, bold or plain."""
    if ":" not in row or len(row) > _LONGEST_ROW:
        return None
    body = _uncomment(row)
    if body is not None:
        return _read_marker(body, is_marked=True)
    bare = row.strip(" \t\r")
    for sign in ("- ", "* ", "+ "):
        bare = bare.removeprefix(sign).lstrip()
    digits = bare[:4].lstrip("0123456789")
    if bare[:1].isdigit() and digits.startswith((". ", ") ")):
        bare = bare[bare.index(digits[0]) + 1 :].lstrip()
    marker = _read_marker(bare, is_marked=bare.startswith("**"))
    return None if marker is None or (" " in marker.path and not marker.is_marked) else marker


def read_comment_reason(row: str) -> str | None:
    """Return the reason that a comment states, empty when it states none, None when it is another comment."""
    body = _uncomment(row)
    return None if body is None else _read_reason(body)


def read_prose_reason(row: str) -> str | None:
    """Return the reason that a line outside a fence states, or None."""
    body = _uncomment(row)
    return _read_reason(row.strip(" \t\r") if body is None else body)


def is_note_harmless(note: str) -> bool:
    """Tell whether words behind a path leave open that the block holds the whole file."""
    return not note or note.strip("()[]:- ").casefold() in _HARMLESS_NOTES


def read_info_path(info: str) -> str:
    """Return the path in the info string of a fence, empty when it names none that a marker could hold."""
    path = _find_info_path(info) if info and len(info) <= _LONGEST_ROW else ""
    return "" if "`" in path else path


def _find_info_path(info: str) -> str:
    for key in _PATH_KEYS if "=" in info else ():
        place = f" {info}".find(f" {key}=")
        if place >= 0:
            value = info[place + len(key) + 1 :]
            quote = value[:1]
            return value[1:].partition(quote)[0] if quote in ("'", '"') and quote else value.split(" ", 1)[0]
    first = info.split(" ", 1)[0]
    if _is_path(first):
        language, colon, path = first.partition(":")
        return path if colon and language.isalnum() and _is_path(path) else first
    return ""


def clean_path(text: str) -> str:
    """Return a path without the marks around it and without `./` before it."""
    return split_note(text)[0]


def split_note(text: str) -> tuple[str, str]:
    """Split what a marker says after its colon into the path and a note such as `(new)`."""
    text = text.strip(" \t\r").strip("*").strip(" \t")
    if text[:1] == "`" and "`" in text[1:]:
        path, _, note = text[1:].partition("`")
        return path, note.strip(" \t*")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    note = ""
    if text.endswith(")") and " (" in text:
        text, _, note = text.rpartition(" (")
        note = f"({note}"
    return text.rstrip(" \t").removeprefix("./"), note


def _is_path(word: str) -> bool:
    if not word or (word[0] in "{.=" and "/" not in word):
        return False
    if "/" in word or "\\" in word:
        return True
    stem, dot, ending = word.rpartition(".")
    return bool(dot and stem) and ending.isalnum() and len(ending) <= 8 and word.casefold() not in _NOT_PATHS


def _uncomment(row: str) -> str | None:
    """Return what a comment says, None when the row is no comment with a colon."""
    if ":" not in row or len(row) > _LONGEST_ROW:
        return None
    bare = row.lstrip("\ufeff").strip(" \t\r")
    for opening, closing in _COMMENTS:
        if bare.startswith(opening):
            body = bare[len(opening) :].lstrip(opening[-1]).strip(" \t")
            if closing:
                body = body.removesuffix(closing).rstrip(closing[0]).rstrip(" \t")
            return body
    return None


def _read_marker(body: str, *, is_marked: bool) -> Marker | None:
    word, rest = _split_label(body)
    verb = _VERBS.get(word)
    if verb is None or not rest:
        return None
    path, note = split_note(rest)
    return Marker(verb, path, note, is_marked or rest.lstrip("* ").startswith("`"))


def _read_reason(body: str) -> str | None:
    word, rest = _split_label(body)
    return " ".join(rest.split())[:_LONGEST_REASON].rstrip() if word == "reason" else None


def _split_label(body: str) -> tuple[str, str]:
    """Split `**File:** x` or `File: x` into the lowered word and the rest; two empty strings when there is none."""
    if len(body) > _LONGEST_ROW:
        return "", ""
    head, colon, rest = body[:16].partition(":")
    if not colon:
        return "", ""
    word = head.strip("* ").casefold()
    rest = body[len(head) + 1 :]
    is_bold = head.startswith("**")
    if is_bold and rest.startswith("**"):
        rest = rest[2:]
    elif is_bold:
        rest = rest.rstrip(" \t\r").removesuffix("**")
    return word, rest.strip(" \t\r")
