"""Tell whether a piece of Python ends within a string of several lines."""

from __future__ import annotations

import re

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
