"""Say which versions of Python a project supports."""

from __future__ import annotations

import re

from agentos.repository.context.bounded import BoundedFiles

_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_LONGEST = 200_000
_REQUIRED = re.compile(
    r"^[ \t]*(?:requires-python|python_requires)[ \t]{0,9}=[ \t]{0,9}[\"']?"
    r"([<>=!~0-9.,* ]{1,60})",
    re.MULTILINE,
)
_CLASSIFIER = re.compile(r"Programming Language :: Python :: ([0-9]+(?:\.[0-9]+)?)\b")


def describe_python(files: BoundedFiles) -> list[str]:
    """Return a row with what the project declares; none if it is not one of Python."""
    required: list[str] = []
    classified: list[str] = []
    is_python = False
    for path in _FILES:
        text = files.read(path)
        if text is None:
            continue
        is_python = True
        source = text.source[:_LONGEST]
        found = _REQUIRED.search(source)
        if found and not required:
            required = [f"{found[1].strip()} ({path})"]
        versions = list(dict.fromkeys(_CLASSIFIER.findall(source)))
        if versions and not classified:
            exact = [version for version in versions if "." in version]
            listed = ", ".join(exact or versions)
            classified = [f"classifiers say {listed} ({path})"]
    if not is_python:
        return []
    parts = required or ["not declared, there is no requires-python"]
    parts += classified
    listed = "; ".join(parts)
    return [f"- supported Python: {listed}"]
