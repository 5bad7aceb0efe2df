"""Prompts are Markdown files with declared inputs; untrusted text goes in between delimiters it cannot forge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")


@cache
def load_prompt(package: str, name: str) -> tuple[frozenset[str], str]:
    """Return a prompt's declared inputs and its text."""
    declaration, _, body = (files(package) / "prompts" / f"{name}.md").read_text("utf-8").partition("\n\n")
    inputs = frozenset(part.strip() for part in declaration.removeprefix("inputs:").split(","))
    if used := frozenset(_PLACE.findall(body)) - inputs:
        raise ValueError(f"prompt {package}/{name} uses undeclared inputs: {', '.join(sorted(used))}")
    return inputs, body


def render_prompt(package: str, name: str, inputs: Mapping[str, str]) -> str:
    """Fill a prompt in one pass, so that an input that looks like a placeholder stays what it is."""
    declared, body = load_prompt(package, name)
    if declared != inputs.keys():
        raise ValueError(f"prompt {package}/{name} takes {sorted(declared)}, got {sorted(inputs)}")
    return _PLACE.sub(lambda place: _enclose(place[1], inputs[place[1]]), body)


def _enclose(name: str, text: str) -> str:
    """Delimit a text by its own hash: stable for the journal, and not to be known by whoever wrote the text."""
    if name == "item":
        return text
    if not text:
        return "(none)"
    mark = f"{name.upper()}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    return f"<<<{mark}\n{text}\n{mark}>>>"
