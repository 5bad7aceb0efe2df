"""Guess which words of a text name a definition though nothing marks them as code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentos.documents.words import STOP_WORDS

_WORD = re.compile(r"(?<![\w./-])[A-Za-z][A-Za-z0-9]{2,40}(?![\w/-]|\.\w)")
_SHORTEST = 4
_LONGEST_TITLE = 500


def title_of(text: str) -> str:
    """Return the first line with words."""
    for line in text.split("\n", 20):
        title = line.strip("#=-*_ \t")
        if any(map(str.isalpha, title)):
            return title[:_LONGEST_TITLE]
    return ""


def guess_names(text: str) -> Iterator[str]:
    """Yield the words of the title, then all that begin with a capital letter.

    A guess counts only where a class or a function at the top level has this name.
    """
    title = title_of(text)
    for word in _WORD.findall(title):
        is_telling = word.casefold() not in STOP_WORDS
        if is_telling and len(word) >= _SHORTEST:
            yield word
    for word in _WORD.findall(text):
        if word[0].isupper() and word.casefold() not in STOP_WORDS:
            yield word
