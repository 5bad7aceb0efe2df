"""Outline a file by its lines, whatever the language."""

from __future__ import annotations

import re

from agentos.repository.context.showing import first_sentence, shorten

_DEFINITION = re.compile(r"[ \t]{0,12}(?:async[ \t]+)?(?:def|class)[ \t]+[A-Za-z_]")
_COMMENTS = ("#", "//", "/*", "*", "--", ";", '"""', "'''", "<!--", "%", '"')
_HEAD_LINES = 40
_OUTLINE_LINES = 200
_MAX_HEADINGS = 30


def outline_python(text: str) -> str:
    """Return the `def` and `class` lines, for source that cannot be parsed."""
    found = []
    for line in text[:2_000_000].split("\n"):
        if not _DEFINITION.match(line):
            continue
        found.append(shorten(line.rstrip(), 160))
        if len(found) == _OUTLINE_LINES:
            found.append("...")
            break
    return "\n".join(found)


def count_lines(text: str) -> int:
    """Count the lines of a text, the last one also when it has no line end."""
    lines = text.count("\n")
    if text and not text.endswith("\n"):
        lines += 1
    return lines


def describe(name: str, text: str) -> str:
    """Return the first heading of Markdown, otherwise the first line of comment."""
    lines = text[:20_000].split("\n")[:_HEAD_LINES]
    if name.casefold().endswith((".md", ".markdown", ".rst")):
        for line in lines:
            if line.startswith("#"):
                return first_sentence(line.lstrip("# "))
        return ""
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("#!") or not stripped:
            continue
        if not stripped.startswith(_COMMENTS):
            return ""
        words = first_sentence(stripped.strip("#/*-;<>!%\"' \t"))
        if words:
            return words
    return ""


def headings(text: str) -> str:
    """Return the headings of a Markdown text."""
    found = []
    for line in text[:500_000].split("\n"):
        is_heading = line.startswith("#") and " " in line
        if is_heading:
            found.append(shorten(line.rstrip(), 120))
    if len(found) > _MAX_HEADINGS:
        found[_MAX_HEADINGS:] = ["..."]
    return "\n".join(found)
