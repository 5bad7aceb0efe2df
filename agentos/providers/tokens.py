"""How many tokens a text can have, without asking any tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Literal

LONG_TOKEN = 6
"""Characters of ordinary text that hardly any tokenizer gets into one token on average."""


def least_tokens(text: str) -> int:
    """Return a number of tokens that ordinary text of this length has at least."""
    # A run of blanks may be a single token, however long it is.
    return len(" ".join(text.split())) // LONG_TOKEN


def most_tokens(text: str) -> int:
    """Return a number of tokens that no tokenizer exceeds for this text.

    Byte-level tokenizers join bytes and never split one, so there are at most as many tokens as UTF-8 bytes; one byte
    a token does occur, in rare scripts and in noise, so nothing smaller is safe. Some tokenizers (Claude's is known
    to) first bring text into Unicode's NFKC form, which makes 33 bytes of one Arabic ligature of 3: each character
    counts with its parts when those are longer.
    """
    if text.isascii():
        return len(text)
    beyond_ascii = re.sub(r"[\x00-\x7f]+", "", text)
    counts = Counter(beyond_ascii)
    return len(text) - len(beyond_ascii) + sum(times * _longest_form(char) for char, times in counts.items())


def _longest_form(character: str) -> int:
    # The parts of a Korean syllable always come together again, those of others may be kept apart by what follows.
    form: Literal["NFKC", "NFKD"] = "NFKC" if "\uac00" <= character <= "\ud7a3" else "NFKD"
    return max(
        len(text.encode("utf-8", "surrogatepass")) for text in (character, unicodedata.normalize(form, character))
    )
