"""Describe the shapes of the keys of well-known services.

They are here and not with the providers because every process redacts from its first
line on, also those that load no provider; the records of the providers refer to them.
"""

from __future__ import annotations

KeyShape = tuple[str, str]
"""The literal prefix of a key and the pattern of the rest: a search that can skip to a
literal is fast.
"""

SK_SHAPE: KeyShape = ("sk-", r"[A-Za-z0-9_-]{20,}")
GOOGLE_SHAPE: KeyShape = (
    "A",
    r"(?:Iza[A-Za-z0-9_-]{30,}|Q\.[A-Za-z0-9_-]{20,})",
)
KEY_SHAPES: tuple[KeyShape, ...] = (
    SK_SHAPE,
    ("gh", r"[pousr]_[A-Za-z0-9]{20,}"),
    ("github_pat_", r"[A-Za-z0-9_]{20,}"),
    GOOGLE_SHAPE,
)

KEY_HINTS = {
    b"-": (b"sk-",),
    b"_": (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
    b"A": (b"AIza", b"AQ."),
}
"""Substrings, one of which is in every text with such a key, grouped by a character
that all of them have. Searching for one character is nearly free, so most texts need no
further search.
"""
