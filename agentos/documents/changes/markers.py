"""Read the lines that name a file, such as `# File: src/a.py`.

A marker may be a comment of any style, a heading, or part of a fence's info string.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

_MAX_ROW = 20_000
_MAX_REASON = 1_000
_BLANK = " \t\r"
_COMMENTS = (
    ("<!--", "-->"),
    ("/*", "*/"),
    ("(*", "*)"),
    ("{#", "#}"),
    ("{-", "-}"),
    ("//", ""),
    ("--", ""),
    ("#", ""),
    (";", ""),
    ("%", ""),
    ('"', '"'),
    ("'", "'"),
    ("!", ""),
)
_HARMLESS_NOTES = frozenset(
    {
        "new",
        "new file",
        "create",
        "created",
        "add",
        "added",
        "modify",
        "modified",
        "update",
        "updated",
        "change",
        "changed",
        "edit",
        "edited",
        "full",
        "complete",
        "whole",
        "whole file",
        "existing",
    }
)
_MAX_LONE = 300
_NUMBERED = re.compile(r"\d{1,3}[.)][ \t]+")
_WORDS = re.compile(r"[^\s`*'\"=,;()\[\]]+")
_PATH_KEYS = ("path", "file", "filename", "filepath")
_REASON = re.compile(
    r"(?<![^\s(\[*_])[*_]{0,3}reason[*_]{0,3}:[*_]{0,3}", re.IGNORECASE
)
_OPENINGS = " \t([{-:;,|\u2013\u2014"
_REMARK = re.compile(r"[ \t]++(?:[-\u2013\u2014]{1,2}|//|#)[ \t]")
_SPACED = re.compile(
    r"(file|edit)[*_]{0,3}[ \t]++(`[^`]{1,300}`|\S{1,300})(?:[ \t]++\((.{0,100})\))?[ \t*]*",
    re.IGNORECASE,
)
_ORNAMENT = re.compile(r"[^\w./@~\[(\\-]+")
"""What models put in front of a path: list signs, pictures, quotes."""
_BETWEEN = re.compile(r"`?(?:,[ \t]*+(?:and[ \t]++)?|[ \t]++and[ \t]++)`?")
_WIDE_COLON = "\uff1a"
_FIXED_BLANK = "\u00a0"
_SENTENCE = re.compile(r"[A-Z][\w']*+(?:[ \t]++[^\s={}<>;|]++){2,}[.:!]?(?<=[.:!])")
_WRITES = ("create ", "write ", "new file ", "add a new ", "add the new ")
_NOT_PATHS = frozenset({"asp.net", "vb.net", "ado.net"})


class Verb(StrEnum):
    """What a marker says is done with the file."""

    FILE = "file"
    EDIT = "edit"
    DELETE = "delete"


_VERBS = {
    "file": Verb.FILE,
    "filename": Verb.FILE,
    "file name": Verb.FILE,
    "filepath": Verb.FILE,
    "file path": Verb.FILE,
    "edit": Verb.EDIT,
    "delete": Verb.DELETE,
}
_LOOSE_VERBS = {
    "path": Verb.FILE,
    "new file": Verb.FILE,
    "create": Verb.FILE,
    "create file": Verb.FILE,
    "edit file": Verb.EDIT,
    "modify": Verb.EDIT,
    "update": Verb.EDIT,
    "patch": Verb.EDIT,
}
"""Words that name a file only in front of a path."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A line that names a file; `note` is a remark after the path."""

    verb: Verb
    path: str
    note: str = ""
    is_marked: bool = True
    """Whether a comment sign, a heading, bold type or backticks set it apart from
    prose.
    """
    reason: str = ""
    has_colon: bool = True
    """Without a colon, a line may as well be a heading such as `# Edit setup.py`."""


def read_comment_marker(row: str) -> Marker | None:
    """Return the marker in a comment of any style, as used inside a fence."""
    body = _uncomment(row)
    if body is None:
        return None
    return _read_marker(body, is_marked=True)


def read_prose_marker(row: str) -> Marker | None:
    """Return the marker in a line outside a fence.

    Such a line is a comment, a heading, a list item, bold or plain text.
    """
    if len(row) > _MAX_ROW:
        return None
    body = _uncomment(row)
    if body is not None:
        return _read_marker(body, is_marked=True)
    bare = _without_list_sign(row)
    body = _uncomment(bare)
    if body is not None:
        return _read_marker(body, is_marked=True)
    is_bold = bare.startswith("**")
    marker = _read_marker(bare, is_marked=is_bold)
    # A sentence may begin with "File:"; a path with spaces must be marked as one.
    if marker is None or marker.is_marked:
        return marker
    if " " in marker.path or not marker.has_colon:
        return None
    return marker


def _without_list_sign(row: str) -> str:
    bare = row.strip(_BLANK)
    for sign in ("- ", "* ", "+ "):
        bare = bare.removeprefix(sign).lstrip()
    after_number = bare[:4].lstrip("0123456789")
    if bare[:1].isdigit() and after_number.startswith((". ", ") ")):
        _, _, bare = bare.partition(after_number[0])
    return bare.lstrip()


def read_comment_reason(row: str) -> str | None:
    """Return the reason in a comment, None if the row states no reason at all."""
    body = _uncomment(row)
    if body is None:
        return None
    return _read_reason(body)


def read_prose_reason(row: str) -> str | None:
    """Return the reason that a line outside a fence states, or None."""
    body = _uncomment(row)
    if body is None:
        body = row.strip(_BLANK)
    return _read_reason(body)


def is_note_harmless(note: str) -> bool:
    """Tell whether a block with this note after its path may be the whole file."""
    return not note or note.strip("()[]:- ").casefold() in _HARMLESS_NOTES


def read_info_path(info: str) -> str:
    """Return the path in the info string of a fence, empty if it names none."""
    if len(info) > _MAX_ROW:
        return ""
    path = _find_info_path(info)
    # A marker could not quote such a path.
    if "`" in path:
        return ""
    return _plain(path)


def _find_info_path(info: str) -> str:
    for key in _PATH_KEYS:
        _, found, value = f" {info}".partition(f" {key}=")
        if not found:
            continue
        quote = value[:1]
        if quote in ("'", '"'):
            return value[1:].partition(quote)[0]
        return value.partition(" ")[0]
    first = info.partition(" ")[0]
    if not _is_path(first):
        return ""
    language, colon, path = first.partition(":")
    if colon and language.isalnum() and _is_path(path):
        return path
    return first


def split_note(text: str) -> tuple[str, str]:
    """Split the text after a marker's colon into a path and a note such as `(new)`.

    The path loses the quotes around it and a leading `./`, and gets slashes.
    """
    text = text.strip(_BLANK).strip("*")
    text = text.strip(" \t")
    if text[:1] == "`" and "`" in text[1:]:
        path, _, note = text[1:].partition("`")
        return _plain(path), note.strip(" \t*")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    note = ""
    remark = _REMARK.search(text)
    if remark:
        note = text[remark.end() :]
        text = text[: remark.start()]
    elif text.endswith(")") and " (" in text:
        text, _, note = text.rpartition(" (")
        note = f"({note}"
    path = text.rstrip(" \t")
    return _plain(path), note


def split_reason(text: str) -> tuple[str, str]:
    """Split a reason off the end of a marker's line."""
    found = _REASON.search(text)
    if found is None:
        return text, ""
    before = text[: found.start()]
    head = before.rstrip(_OPENINGS)
    opening = before[len(head) :].strip(" \t")
    reason = text[found.end() :].strip(_BLANK)
    if opening.endswith("("):
        reason = reason.removesuffix(")")
    elif opening.endswith("["):
        reason = reason.removesuffix("]")
    return head, _clean_reason(reason)


def _plain(path: str) -> str:
    """Return a path with slashes, and without `./` at its beginning."""
    if "/" not in path:
        path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


def split_paths(text: str) -> list[str]:
    """Return the paths of a marker that names several, such as `a.py, b.py`."""
    if "," not in text and " and " not in text:
        return [text]
    paths = [_plain(path) for path in _BETWEEN.split(text)]
    if all(" " not in path and _is_path(path) for path in paths):
        return paths
    return [text]


def is_remark_in_code(row: str) -> bool:
    """Tell whether a row is a comment that is set off by a blank."""
    return row.lstrip().startswith(("# ", "// ", "-- ", "/* ", "<!-- ", "; "))


def is_title(row: str) -> bool:
    """Tell whether a row is a heading, all in bold, or says that a file is written."""
    bare = row.strip(_BLANK)
    if bare.startswith("#"):
        return True
    if bare.startswith("**") and bare.rstrip(":").endswith("**"):
        return True
    return bare.endswith(":") and bare.casefold().startswith(_WRITES)


def is_sentence(row: str) -> bool:
    """Tell whether a row is a sentence, and so no text of a program."""
    return _SENTENCE.fullmatch(row[:_MAX_LONE].strip(_BLANK)) is not None


def lone_path(
    row: str,
    expected: Collection[str],
) -> str:
    """Return the expected path that a row consists of, however it is marked, or an
    empty text.
    """
    if len(row) > _MAX_LONE:
        return ""
    bare = row.strip(_BLANK)
    for opening, closing in _COMMENTS:
        if bare.startswith(opening):
            bare = bare.lstrip(opening[-1]).removesuffix(closing or "\n")
            break
    bare = _NUMBERED.sub("", bare.strip(_BLANK))
    remark = _REMARK.search(bare)
    if remark:
        bare = bare[: remark.start()]
    head, _, note = bare.rstrip(":* ").rpartition(" (")
    if head and is_note_harmless(note):
        bare = head
    for name in (bare, _ORNAMENT.sub("", bare, count=1)):
        path = _plain(name.strip("*`_:'\" \t-+#"))
        if path in expected:
            return path
    return ""


def mentioned_path(
    text: str,
    expected: Collection[str],
) -> str:
    """Return the only expected path that a line mentions, or an empty text."""
    if len(text) > _MAX_LONE:
        return ""
    words: list[str] = _WORDS.findall(text)
    found = {_plain(word).rstrip(".:") for word in words}
    paths = found.intersection(expected)
    if len(paths) != 1:
        return ""
    return paths.pop()


def _is_path(word: str) -> bool:
    has_slash = "/" in word
    if not word or (word[0] in "{.=" and not has_slash):
        return False
    if has_slash or "\\" in word:
        return True
    stem, _, ending = word.rpartition(".")
    if not stem or word.casefold() in _NOT_PATHS:
        return False
    return ending.isalnum() and len(ending) <= 8


def _uncomment(row: str) -> str | None:
    """Return the text of a comment, None if the row is no comment."""
    if len(row) > _MAX_ROW:
        return None
    bare = row.lstrip("\ufeff").strip(_BLANK)
    for opening, closing in _COMMENTS:
        if not bare.startswith(opening):
            continue
        body = bare.removeprefix(opening)
        body = body.lstrip(opening[-1]).strip(" \t")
        if closing:
            body = body.removesuffix(closing)
            body = body.rstrip(closing[0]).rstrip(" \t")
        return body
    return None


def _read_marker(
    body: str,
    *,
    is_marked: bool,
) -> Marker | None:
    word, rest = _split_label(body)
    verb = _VERBS.get(word)
    loose = _LOOSE_VERBS.get(word)
    if not rest or not (verb or loose):
        return _read_spaced(body, is_marked=is_marked)
    is_quoted = rest.lstrip("* ").startswith("`")
    path, note, reason = _split_rest(rest, is_quoted=is_quoted)
    if verb is None:
        if loose is None or " " in path or not _is_path(path):
            return None
        verb = loose
    return Marker(verb, path, note, is_marked or is_quoted, reason)


def _split_rest(rest: str, *, is_quoted: bool) -> tuple[str, str, str]:
    """Split what stands behind a label into a path, a note and a reason."""
    if is_quoted:
        path, note = split_note(rest)
        note, reason = split_reason(note)
    else:
        named, reason = split_reason(rest)
        path, note = split_note(named)
    return path, note, reason


def _read_spaced(body: str, *, is_marked: bool) -> Marker | None:
    """Read a marker without its colon."""
    bare = body[:_MAX_LONE].strip("* \t")
    match = _SPACED.fullmatch(bare)
    if match is None:
        return None
    word, name, note = match.groups()
    path = _plain(name.strip("`*"))
    if " " in path or not _is_path(path):
        return None
    verb = _VERBS[word.casefold()]
    is_quoted = name.startswith("`")
    is_set_apart = is_marked or is_quoted
    return Marker(verb, path, note or "", is_set_apart, has_colon=False)


def _read_reason(body: str) -> str | None:
    word, rest = _split_label(body)
    if word != "reason":
        return None
    return _clean_reason(rest)


def _clean_reason(text: str) -> str:
    reason = " ".join(text.split())
    return reason[:_MAX_REASON].rstrip()


def _split_label(body: str) -> tuple[str, str]:
    """Split `**File:** x` or `File: x` into the lowered word and the rest.

    Return two empty strings if there is no label.
    """
    if len(body) > _MAX_ROW:
        return "", ""
    beginning = body[:16].replace(_WIDE_COLON, ":")
    head, colon, _ = beginning.partition(":")
    if not colon:
        return "", ""
    rest = body[len(head) + 1 :]
    if head.startswith("**"):
        if rest.startswith("**"):
            rest = rest[2:]
        else:
            rest = rest.rstrip(_BLANK).removesuffix("**")
    word = head.strip("* ").casefold()
    return word, rest.strip(_BLANK + _FIXED_BLANK)
