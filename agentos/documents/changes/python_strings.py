"""Tell whether a piece of Python ends within a string of several lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

_TOKENS = re.compile(
    r"#[^\n]*+"
    r'|"""(?:[^"\\]++|\\.|"(?!""))*+(?P<double>"""|\Z)'
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?P<single>'''|\Z)"
    r'|"(?:[^"\\\n]++|\\.)*+(?:"|$)'
    r"|'(?:[^'\\\n]++|\\.)*+(?:'|$)",
    re.DOTALL | re.MULTILINE,
)


def is_string_open(text: str) -> bool:
    """Tell whether a string in triple quotes has no end in the text."""
    for token in _TOKENS.finditer(text):
        if token["double"] == "" or token["single"] == "":
            return True
    return False


def are_paired(text: str, rows: Sequence[int]) -> bool:
    """Tell whether each string of a piece of Python holds an even number of some rows,
    and no such row stands outside all strings.
    """
    strings = []
    line = last = 0
    for token in _TOKENS.finditer(text):
        first = line + text.count("\n", last, token.start())
        line = first + token[0].count("\n")
        last = token.end()
        strings.append((first, line))
    held = 0
    for first, end in strings:
        inside = bisect_left(rows, end) - bisect_right(rows, first)
        if inside > 0:
            if inside % 2:
                return False
            held += inside
    return held == len(rows)
