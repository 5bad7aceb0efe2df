"""Tell by its lines what a file is about, whatever the language."""

from __future__ import annotations

import re

from agentos.codemap.showing import first_sentence, shorten

_DEFINITION = re.compile(r"[ \t]{0,12}(?:async[ \t]+)?(?:def|class)[ \t]+[A-Za-z_]")
_COMMENTS = ("#", "//", "/*", "*", "--", ";", '"""', "'''", "<!--", "%", '"')
_HEAD_LINES = 40
_OUTLINE_LINES = 200


def outline_python(text: str) -> str:
    """Return the `def` and `class` lines as they stand, for source that the parser refuses."""
    found = []
    for line in text[:2_000_000].split("\n"):
        if _DEFINITION.match(line):
            found.append(shorten(line.rstrip(), 160))
            if len(found) == _OUTLINE_LINES:
                found.append("...")
                break
    return "\n".join(found)


def count_lines(text: str) -> int:
    """Return how many lines a text has."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def describe(name: str, text: str) -> str:
    """Return a file's first heading, for Markdown, or the first line of comment."""
    lines = text[:20_000].split("\n")[:_HEAD_LINES]
    if name.casefold().endswith((".md", ".markdown", ".rst")):
        return next((first_sentence(line.lstrip("# ")) for line in lines if line.startswith("#")), "")
    for line in lines:
        bare = line.strip()
        if bare.startswith("#!") or not bare:
            continue
        if not bare.startswith(_COMMENTS):
            return ""
        if words := first_sentence(bare.strip("#/*-;<>!%\"' \t")):
            return words
    return ""


def headings(text: str, limit: int = 30) -> str:
    """Return the headings of a Markdown text."""
    found = [shorten(line.rstrip(), 120) for line in text[:500_000].split("\n") if line.startswith("#") and " " in line]
    return "\n".join([*found[:limit], *(["..."] if len(found) > limit else [])])
