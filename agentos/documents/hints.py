"""Word hints for a reviewer: two texts side by side, and a question.

A hint never sends a draft back, because words alone prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.findings import Category, Finding, Tier, shorten
from agentos.documents.issue import Question
from agentos.documents.words import WordIndex, keywords, share

Texts = Sequence[str]

MOST_HINTS = 6
"""The most hints of one rule; a reviewer would not read more."""
_LONGEST = 400
_QUOTED = 120
_ALIKE = 0.6
_NUMBERED = re.compile(
    r"\b(?:criterion|criteria|wish|ac)[ #-]{0,2}(\d{1,4})\b",
    re.IGNORECASE,
)
_MAX_LOOKUPS = 200


def hint(id: str, section: str, line: int, text: str) -> Finding:
    """Return a remark for the reviewer; its text names the line."""
    said = shorten(f"Line {line}: {text}", _LONGEST)
    return Finding(
        f"hint-{id}",
        Tier.SUGGESTION,
        Category.QUALITY,
        section,
        said,
    )


def quote(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    beginning = shorten(text, _QUOTED)
    return f"'{beginning}'"


def find_matches(wishes: Texts, texts: Texts) -> list[int | None]:
    """Return for each wish the text that has most of its words, or None."""
    index = WordIndex(texts)
    found = []
    for number, wish in enumerate(wishes, 1):
        match = index.exact(wish)
        # Comparing words is slow, and there may be thousands of wishes.
        is_tried = number <= _MAX_LOOKUPS
        if match is None and is_tried:
            match = _find_similar(index, wish)
        found.append(match)
    return found


def _find_similar(index: WordIndex, wish: str) -> int | None:
    nearest = index.nearest(wish)
    if nearest is None:
        return None
    position, _ = nearest
    words = keywords(wish)
    taken_up = share(words, index.words[position])
    if taken_up < _ALIKE:
        return None
    return position


def compare(
    wishes: Texts,
    texts: Texts,
    source: str,
    document: str,
    answers: Sequence[Question] = (),
) -> Iterator[tuple[int, str]]:
    """Yield number and question for each wish that no text has most of the words of.

    A wish that an answer speaks of is left out: it may be changed or withdrawn.
    """
    index = WordIndex(texts)
    given = [one for one in answers[:_MAX_LOOKUPS] if one.answer]
    settled = [f"{one.text} {one.answer}" for one in given]
    asked = 0
    matches = find_matches(wishes, texts)
    for number, match in enumerate(matches, 1):
        if asked == MOST_HINTS:
            return
        wish = wishes[number - 1]
        if match is not None:
            continue
        if _is_settled(number, wish, settled):
            continue
        asked += 1
        near = f"Nothing in the {document} has its words."
        nearest = index.nearest(wish)
        if nearest is not None:
            position, _ = nearest
            text = quote(texts[position])
            near = f"Nearest in the {document}: {text}."
        said = quote(wish)
        yield number, f"the {source} says: {said}. {near} Is it taken up?"


def _is_settled(number: int, wish: str, settled: Texts) -> bool:
    """Tell whether an answer names a wish by its number or by most of its words."""
    words = keywords(wish)
    name = str(number)
    for text in settled:
        answered = keywords(text)
        if share(words, answered) >= _ALIKE:
            return True
        beginning = text[:_LONGEST]
        if name in _NUMBERED.findall(beginning):
            return True
    return False
