"""Tell whether a verdict is introduced as someone else's words, or as an example."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.markdown import Kind, Line
from agentos.documents.verdict.decisions import read_decision
from agentos.documents.verdict.marks import bare, options
from agentos.documents.verdict.titles import words_of
from agentos.documents.verdict.vocabulary import CONDITIONS, word_set

_QUOTING = word_set(
    "says said contains contained quote quotes quoted claims claimed includes included asks asked states stated"
    " supplied example template previous prior earlier would original sample embedded author wants wanted demands"
    " wrote writes write steer steers inject injected injection instructs instructed pretends placeholder expected"
    " looks tells told text reply reads could should hypothetical hypothetically otherwise"
)
_FORMS = word_set("form format schema shape structure")
_OWN = word_set("my here requested required below")
_MOST_LINES = 8


def is_quoted(lines: Sequence[Line], first: int) -> bool:
    """Tell whether the line before an object, other quotations aside, says that it is quoted.

    Before a heading only a line that hands over, with a colon at its end, speaks of what is below.
    """
    is_below_heading = False
    for number in range(first - 1, 0, -1):
        line = lines[number - 1]
        if line.kind is Kind.HEADING:
            if introduces(line.text[-300:]):
                return True
            is_below_heading = True
        elif line.kind is Kind.TEXT and not line.text.lstrip().startswith(">"):
            hands_over = not is_below_heading or bare(line.text[-300:]).endswith(":")
            return hands_over and introduces(line.text[-300:])
    return False


def is_statement_quoted(lines: Sequence[Line], first: int) -> bool:
    """Tell whether the paragraph before a statement ends with a colon and says that it is quoted."""
    found: list[str] = []
    for number in range(first - 1, max(0, first - 1 - 4 * _MOST_LINES), -1):
        line = lines[number - 1]
        if line.kind is Kind.BLANK or (line.kind is Kind.HEADING and not found):
            if found:
                break
            continue
        if line.kind is not Kind.TEXT or len(found) == _MOST_LINES:
            break
        text = bare(line.text[-300:])
        if not found and options(text):
            continue
        if not found and not text.endswith(":"):
            return False
        found.append(text)
    return bool(found) and introduces(" ".join(reversed(found))[-300:])


def conclusion(text: str) -> str:
    """Return the sentences from the one that decides in capitals, when those before it set no condition."""
    before: list[str] = []
    sentences = text[:2_000].split(". ")
    for place, sentence in enumerate(sentences[:4]):
        stated = read_decision(sentence)
        if stated is not None and place:
            words = set(words_of(" ".join(before)))
            is_free = not introduces(" ".join(before)) and not CONDITIONS & words
            is_whole = stated.is_emphatic and len(text) <= 2_000
            return ". ".join(sentences[place:]) if is_free and is_whole else ""
        before.append(sentence)
    return ""


def introduces(text: str) -> bool:
    """Tell whether a text hands over to words that are not the reviewer's own."""
    words = set(words_of(text))
    return bool(_QUOTING & words) or (bool(_FORMS & words) and not _OWN & words)
