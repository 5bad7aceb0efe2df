"""Bound the number of tokens of a text without a tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Literal

LONG_TOKEN = 6
"""Characters per token that hardly any tokenizer exceeds on ordinary text."""


def least_tokens(text: str) -> int:
    """Return a lower bound of the tokens of ordinary text."""
    # Any number of consecutive blanks may be a single token.
    return len(" ".join(text.split())) // LONG_TOKEN


def most_tokens(text: str) -> int:
    """Return an upper bound of the tokens of a text for any tokenizer.

    Byte-level tokenizers join bytes and never split one, so there are at most as many
    tokens as UTF-8 bytes; one byte per token does occur, in rare scripts and in noise,
    so nothing smaller is safe. Some tokenizers (Claude's is known to) first convert
    text to Unicode's NFKC form, which turns one Arabic ligature of 3 bytes into 33:
    each character counts with its longest form.
    """
    if text.isascii():
        return len(text)
    beyond_ascii = re.sub(r"[\x00-\x7f]+", "", text)
    counts = Counter(beyond_ascii)
    total = len(text) - len(beyond_ascii)
    for character, times in counts.items():
        total += times * _longest_form(character)
    return total


def _longest_form(character: str) -> int:
    # The parts of a Korean syllable always recombine; those of other characters may be
    # kept apart by what follows.
    form: Literal["NFKC", "NFKD"] = "NFKD"
    if "\uac00" <= character <= "\ud7a3":
        form = "NFKC"
    normalized = unicodedata.normalize(form, character)
    lengths = (_utf8_length(character), _utf8_length(normalized))
    return max(lengths)


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
