"""Render prompts: Markdown files with declared inputs. Untrusted text is put between
delimiters that it cannot forge.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_PRINTABLE = range(0x20, 0x7F)
_PLAIN = bytes(_PRINTABLE) + b"\n\t\r"
_INVISIBLE = (
    range(0x09),
    range(0x0B, 0x0D),
    range(0x0E, 0x20),
    range(0x7F, 0xA0),
    range(0xAD, 0xAE),
    range(0x34F, 0x350),
    range(0x61C, 0x61D),
    range(0x115F, 0x1161),
    range(0x17B4, 0x17B6),
    range(0x180B, 0x1810),
    range(0x200B, 0x200C),
    range(0x2028, 0x202F),
    range(0x2060, 0x2070),
    range(0x3164, 0x3165),
    range(0xFEFF, 0xFF00),
    range(0xFFA0, 0xFFA1),
    range(0xFFF9, 0xFFFC),
    range(0xD800, 0xE000),
    range(0xE0000, 0xE1000),
)
"""Control characters, format characters, lone surrogates and tags."""
# Joiners and direction marks belong to many scripts and to emoji; between ASCII
# characters they only hide text.
_JOINERS = re.compile("(?<![^\x00-\x7f])[\u200c-\u200f]+(?![^\x00-\x7f])")
SCALE_MARK = "{{> scale}}"
"""Stands in a prompt for the scale of findings."""
_TRUSTED = ("item", "looking", "note", "answering", "workspace")
"""Inputs that come from AgentOS itself or from its user: an id, how to look at the
repository, what the user says, and how to answer with files.
"""


Inputs = Mapping[str, str]


class Prompt(NamedTuple):
    """A prompt: its declared inputs, and its text with placeholders."""

    inputs: frozenset[str]
    body: str
    changing: frozenset[str] = frozenset()
    """Inputs that differ between the rounds of an item, declared behind a semicolon. A
    provider's cache serves what stands before the first of them, so they come last.
    """


@cache
def load_prompt(package: str, name: str) -> Prompt:
    """Return a built-in prompt."""
    place = f"{package}/{name}"
    text = _read(package, "prompts", name)
    prompt = split_prompt(text)
    body = prompt.body
    used = used_inputs(body)
    undeclared = used - prompt.inputs
    if undeclared:
        ordered = sorted(undeclared)
        listed = ", ".join(ordered)
        raise ValueError(f"prompt {place} uses undeclared inputs: {listed}")
    return prompt


@cache
def load_scale() -> str:
    """Return the scale of findings that the prompts of all reviews share."""
    path = files("agentos.workflows.prompts") / "scale.md"
    return path.read_text("utf-8").strip()


@cache
def load_template(package: str, name: str) -> str:
    """Return a built-in template."""
    return _read(package, "templates", name)


def render_prompt(
    package: str, name: str, inputs: Inputs, override: str | None = None
) -> str:
    """Fill a prompt."""
    parts = render_parts(package, name, inputs, override)
    return "".join(parts)


def render_parts(
    package: str, name: str, inputs: Inputs, override: str | None = None
) -> tuple[str, str]:
    """Fill a prompt in one pass, so that a placeholder inside an input is not filled.
    Return the part that every round of an item repeats, and the rest.

    A built-in prompt takes exactly the inputs that it declares; an override may omit
    some.
    """
    built_in = load_prompt(package, name)
    body = built_in.body
    changing = built_in.changing
    declared = built_in.inputs
    takes = sorted(declared)
    given = sorted(inputs)
    prompt = f"prompt {package}/{name}"
    if override is not None:
        own = split_prompt(override)
        body = own.body
        used = used_inputs(body)
        unknown = used.difference(given)
        if unknown:
            uses = sorted(unknown)
            raise ValueError(f"{prompt}: its override uses {uses}, got {given}")
    elif takes != given:
        raise ValueError(f"{prompt} takes {takes}, got {given}")

    def fill(placeholder: re.Match[str]) -> str:
        input_name = placeholder[1]
        text = inputs[input_name]
        return enclose(input_name, text)

    end = _end_of_repeated(body, changing)
    repeated = body[:end]
    rest = body[end:]
    repeated = _PLACEHOLDER.sub(fill, repeated)
    rest = _PLACEHOLDER.sub(fill, rest)
    return repeated, rest


def _end_of_repeated(body: str, changing: frozenset[str]) -> int:
    """Return where the first input stands that changes from round to round."""
    for placeholder in _PLACEHOLDER.finditer(body):
        input_name = placeholder[1]
        if input_name in changing:
            return placeholder.start()
    return len(body)


def split_prompt(text: str) -> Prompt:
    """Split a prompt into the inputs that its first line declares, if any, and its
    body.
    """
    if SCALE_MARK in text:
        text = text.replace(SCALE_MARK, load_scale())
    first, _, rest = text.partition("\n")
    if not first.startswith("inputs:"):
        nothing: frozenset[str] = frozenset()
        return Prompt(nothing, text)
    listed = first.removeprefix("inputs:")
    same, _, changing = listed.partition(";")
    repeated = _names(same)
    differing = _names(changing)
    inputs = repeated | differing
    body = rest.removeprefix("\n")
    return Prompt(inputs, body, differing)


def _names(listed: str) -> frozenset[str]:
    names = set()
    parts = listed.split(",")
    for part in parts:
        name = part.strip()
        if name:
            names.add(name)
    return frozenset(names)


def used_inputs(body: str) -> frozenset[str]:
    """Return the names of the placeholders."""
    names = _PLACEHOLDER.findall(body)
    return frozenset(names)


def show_invisible(text: str) -> str:
    """Write invisible characters, which could hide text for a model, as `<U+200B>`."""
    if text.isascii():
        data = text.encode()
        unusual = data.translate(None, _PLAIN)
        if not unusual:
            return text
    forms = _visible_forms()
    shown = text.translate(forms)
    return _JOINERS.sub(_show_joiners, shown)


@cache
def _visible_forms() -> dict[int, str]:
    forms = {}
    for codes in _INVISIBLE:
        for code in codes:
            shown = _show_code(code)
            forms[code] = shown
    return forms


def _show_joiners(run: re.Match[str]) -> str:
    joiners = run[0]
    codes = map(ord, joiners)
    shown = map(_show_code, codes)
    return "".join(shown)


def _show_code(code: int) -> str:
    return f"<U+{code:04X}>"


def enclose(name: str, text: str) -> str:
    """Delimit a text by its own hash.

    The hash is stable, so the journal recognizes the prompt, and the author of the text
    cannot predict it, so the text cannot close its own delimiter.
    """
    if name in _TRUSTED:
        return text
    if not text:
        return "(none)"
    shown = show_invisible(text)
    digest = _sha256(shown)
    mark = digest[:24]
    while mark in shown:
        digest = _sha256(digest)
        mark = digest[:24]
    label = name.upper()
    label = label.replace(" ", "-")
    delimiter = f"{label}-{mark}"
    rows = (
        f"<<<{delimiter}",
        shown,
        f"{delimiter}>>>",
    )
    return "\n".join(rows)


def _sha256(text: str) -> str:
    data = text.encode("utf-8")
    digest = hashlib.sha256(data)
    return digest.hexdigest()


def _read(package: str, folder: str, name: str) -> str:
    place = files(package)
    inside = place / folder
    path = inside / f"{name}.md"
    return path.read_text("utf-8")
