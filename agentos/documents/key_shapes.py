"""What the keys of well-known services look like."""

from __future__ import annotations

KEY_SHAPES = (
    ("sk-", r"[A-Za-z0-9_-]{20,}"),
    ("gh", r"[pousr]_[A-Za-z0-9]{20,}"),
    ("github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("A", r"(?:Iza[A-Za-z0-9_-]{30,}|Q\.[A-Za-z0-9_-]{20,})"),
)
"""How a key begins, letter by letter, and the pattern of its rest: a search that can skip to the beginning is fast."""

KEY_HINTS = {
    "-": ("sk-",),
    "_": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "A": ("AIza", "AQ."),
}
"""What one of is in every text with such a key, by a character that all of them have: to look for a single character
takes next to nothing, so most texts can be passed on after a glance."""
