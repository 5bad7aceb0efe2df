"""The marks of Markdown inside a line: emphasis, check boxes, list markers and escaped characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

_UNSEEN = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\ufe0e\ufe0f"
_INVISIBLE = dict.fromkeys(map(ord, _UNSEEN))
_WIDE = "\t\n\v\f\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_TAGS = re.compile(r"</?(?:b|strong|em|i|u|br|mark|big|p|div|center) {0,3}/?>", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([\[\]()*_.\-#>|])")
_ENTITY = re.compile(r"&#(\d{1,7});")
_STRUCK = re.compile(r"~~(?:[^~]|~(?!~))*~~")
_MARKS = re.compile(r"[\\<~*_\]]")
_PLAIN = re.compile(rf"[^\\<~*_\]&{_WIDE}{_UNSEEN}]*")
"""Characters that stand for themselves, single spaces among them."""
_HALF = re.compile("[\ud800-\udfff]")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\](?!\())")
_STARS = re.compile(r"\*+")
_BOX = re.compile(r"(?:\[(?=.?\])|\((?=.?\)))(.?)[\])]")
_OPEN_BOXES = "☐⬜🔲◻▢□"
_CHECKED_BOXES = "☑✅✔🗹"
_CROSSES = "❌✗✘🚫⛔☒✖"
_TICKS = "xX✓✔✅☑✗"
_BOX_STARTS = frozenset(f"[({_OPEN_BOXES}{_CHECKED_BOXES}{_CROSSES}")
_MARKERS = frozenset("-*+•0123456789")
_MOST_BOXES = 20
_ALSO_PLAIN = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""The only other letters that a pattern without regard to case takes for plain ones."""


class Box(Enum):
    """The state of a check box."""

    OPEN = auto()
    CHECKED = auto()
    CROSSED = auto()
    STRANGE = auto()


@dataclass(frozen=True, slots=True)
class Option:
    """A check box with the text after it."""

    box: Box
    text: str


def show(text: str) -> str:
    """Return a line without characters that nobody sees, its white space made plain."""
    if "&nbsp;" in text or ":white_check_mark:" in text:
        text = text.replace("&nbsp;", " ").replace(":white_check_mark:", "\u2705")
    return " ".join((text if text.isascii() else text.translate(_INVISIBLE)).split())


def bare(text: str) -> str:
    """Return a line without emphasis, struck out words and harmless tags."""
    if _PLAIN.fullmatch(text) and "  " not in text and text == text.strip(" "):
        return text
    text = show(text)
    if not _MARKS.search(text):
        return text
    if "\\" in text or "<" in text:
        text = _ESCAPED.sub(r"\1", _TAGS.sub(" ", text))
    if "](" in text or "][" in text:
        text = _LINK.sub(_unlinked, text)
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    text = text.replace("*", "")
    if "_" in text:
        text = " ".join(word.strip("_") or word for word in text.split(" "))
        text = text.replace("_:", ":")
    return " ".join(text.split())


def _unlinked(match: re.Match[str]) -> str:
    """Return the text of a link, nothing for an image or a text that would state a verdict."""
    low = match[1].casefold()
    is_box = len(match[1]) < 2
    if is_box:
        return match[0]
    return " " if match[0][0] == "!" or "approv" in low or "verdict" in low else match[1]


def low_letters(text: str) -> str:
    """Return a text in lower case, in which a plain search finds whatever one without regard to case finds."""
    if not text.isascii():
        for letter, plain in _ALSO_PLAIN:
            text = text.replace(letter, plain)
    return text.lower()


def strip_marker(text: str) -> tuple[str, bool]:
    """Return a line without its list marker, and whether there was one."""
    stripped = text.strip()
    if stripped[:1] not in _MARKERS:
        return stripped, False
    if stripped[:1] in ("-", "*", "+", "•") and stripped[1:2] in (" ", "\t", "\xa0"):
        return stripped[2:].strip(), True
    digits = len(stripped[:10]) - len(stripped[:10].lstrip("0123456789"))
    if 0 < digits < 10 and stripped[digits : digits + 1] in (".", ")") and stripped[digits + 1 : digits + 2] == " ":
        return stripped[digits + 2 :].strip(), True
    return stripped, False


def options(text: str) -> tuple[Option, ...]:
    """Return the check boxes of a bare line that begins with one, each with its text."""
    if text[:1] not in _BOX_STARTS:
        return ()
    found: list[Option] = []
    later = _LATER_BOX if text[:1] in ("[", "(") else _LATER_SYMBOL
    state, rest = _leading_box(text)
    while state is not None and len(found) < _MOST_BOXES:
        match = later.search(rest)
        start = match.start() if match and rest[match.end() :].strip() else len(rest)
        found.append(Option(state, rest[:start].strip(" ,;|/")))
        state, rest = _leading_box(rest[start:])
    return tuple(found)


_LATER_BOX = re.compile(r"[\[(][ xX][\])]")
_LATER_SYMBOL = re.compile(f"[{_OPEN_BOXES}{_CHECKED_BOXES}{_CROSSES}]")


def _leading_box(text: str) -> tuple[Box | None, str]:
    """Return the state of the box that a text begins with, and the text after it without symbols that adorn it."""
    match = _BOX.match(text)
    if match and (text[match.end() : match.end() + 1] in ("", " ") or match[1] in ("x", "X", " ", "")):
        mark = match[1]
        state = Box.OPEN if mark in ("", " ", "_") else Box.CHECKED if mark in _TICKS else Box.STRANGE
        return state, text[match.end() :].lstrip(f" {_OPEN_BOXES}{_CHECKED_BOXES}{_CROSSES}")
    first = text[:1]
    for symbols, state in ((_OPEN_BOXES, Box.OPEN), (_CHECKED_BOXES, Box.CHECKED), (_CROSSES, Box.CROSSED)):
        if first and first in symbols:
            return state, text[1:].strip()
    return None, text


def is_balanced(text: str) -> bool:
    """Tell whether every run of asterisks that opens emphasis is closed again."""
    opened = 0
    for run in _STARS.finditer(text):
        before, after = text[run.start() - 1 : run.start()] or " ", text[run.end() : run.end() + 1] or " "
        can_open, can_close = not after.isspace(), not before.isspace()
        if can_open and (not can_close or (opened == 0 and not before.isalnum())):
            opened += len(run[0])
        elif can_close or opened:
            opened -= len(run[0])
    return opened == 0


def is_strikethrough_open(text: str) -> bool:
    """Tell whether a line strikes out something that it does not end."""
    return text.count("~~") % 2 == 1


def unescape(text: str) -> str:
    """Return text with its numeric character references resolved."""
    return _ENTITY.sub(_character, text) if "&#" in text else text


def _character(match: re.Match[str]) -> str:
    code = int(match[1])
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


def escape(text: str, *marks: str) -> str:
    """Write what would end the field that the text stands in, or begin a comment, as character references."""
    text = text.replace("&#", "&#38;#").replace("<!--", "&#60;!--")
    for mark in marks:
        text = text.replace(mark, f"&#{ord(mark[0])};{mark[1:]}")
    return text


def escape_first(text: str, *marks: str) -> str:
    """Escape text and its first character, so that no line grammar sees what begins here."""
    return f"&#{ord(text[0])};{escape(text[1:], *marks)}" if text else text


def flat(text: str) -> str:
    """Keep a stranger's text on one line, with whole characters."""
    whole = text if text.isascii() else _HALF.sub("\ufffd", text)
    return " ".join(whole.split())
