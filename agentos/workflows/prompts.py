"""Prompts are Markdown files with declared inputs; untrusted text goes in between delimiters it cannot forge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n\t\r"
_INVISIBLE = (
    *(range(0x09), range(0x0B, 0x0D), range(0x0E, 0x20), range(0x7F, 0xA0), range(0xAD, 0xAE), range(0x34F, 0x350)),
    *(range(0x61C, 0x61D), range(0x115F, 0x1161), range(0x17B4, 0x17B6), range(0x180B, 0x1810), range(0x200B, 0x200C)),
    *(range(0x2028, 0x202F), range(0x2060, 0x2070), range(0x3164, 0x3165), range(0xFEFF, 0xFF00)),
    *(range(0xFFA0, 0xFFA1), range(0xFFF9, 0xFFFC), range(0xD800, 0xE000), range(0xE0000, 0xE1000)),
)
# Joiners and direction marks belong to many scripts and to emoji; between ASCII characters they only hide.
_JOINERS = re.compile("(?<![^\x00-\x7f])[\u200c-\u200f]+(?![^\x00-\x7f])")
_JOINER_FORMS = {code: f"<U+{code:04X}>" for code in range(0x200C, 0x2010)}


@cache
def load_prompt(package: str, name: str) -> tuple[frozenset[str], str]:
    """Return a built-in prompt's declared inputs and its text."""
    inputs, body = split_prompt(_read(package, "prompts", name))
    if used := used_inputs(body) - inputs:
        raise ValueError(f"prompt {package}/{name} uses undeclared inputs: {', '.join(sorted(used))}")
    return inputs, body


@cache
def load_template(package: str, name: str) -> str:
    """Return a built-in template."""
    return _read(package, "templates", name)


def render_prompt(package: str, name: str, inputs: Mapping[str, str], override: str | None = None) -> str:
    """Fill a prompt in one pass, so that an input that looks like a placeholder stays what it is.

    A built-in prompt takes exactly the inputs that it declares; an override may do without some.
    """
    if override is None:
        declared, body = load_prompt(package, name)
        if declared != inputs.keys():
            raise ValueError(f"prompt {package}/{name} takes {sorted(declared)}, got {sorted(inputs)}")
    else:
        _, body = split_prompt(override)
        if unknown := used_inputs(body) - inputs.keys():
            raise ValueError(f"prompt {package}/{name}: its override uses {sorted(unknown)}, got {sorted(inputs)}")
    return _PLACE.sub(lambda place: _enclose(place[1], inputs[place[1]]), body)


def split_prompt(text: str) -> tuple[frozenset[str], str]:
    """Split a prompt into the inputs that its first line declares, none when it is no such line, and its body."""
    first, _, rest = text.partition("\n")
    if not first.startswith("inputs:"):
        return frozenset(), text
    names = (part.strip() for part in first.removeprefix("inputs:").split(","))
    return frozenset(name for name in names if name), rest.removeprefix("\n")


def used_inputs(body: str) -> frozenset[str]:
    """Return the names of the places that are to be filled."""
    return frozenset(_PLACE.findall(body))


def show_invisible(text: str) -> str:
    """Write characters that no reader would see, in which text for a model can hide, as `<U+200B>`."""
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text
    shown = text.translate(_visible_forms())
    return _JOINERS.sub(lambda run: run[0].translate(_JOINER_FORMS), shown)


@cache
def _visible_forms() -> dict[int, str]:
    return {code: f"<U+{code:04X}>" for codes in _INVISIBLE for code in codes}


def _enclose(name: str, text: str) -> str:
    """Delimit a text by its own hash: stable for the journal, and not to be known by whoever wrote the text."""
    if name == "item":
        return text
    if not text:
        return "(none)"
    shown = show_invisible(text)
    digest = hashlib.sha256(shown.encode("utf-8")).hexdigest()
    while digest[:24] in shown:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    mark = f"{name.upper()}-{digest[:24]}"
    return f"<<<{mark}\n{shown}\n{mark}>>>"


def _read(package: str, folder: str, name: str) -> str:
    return (files(package) / folder / f"{name}.md").read_text("utf-8")
