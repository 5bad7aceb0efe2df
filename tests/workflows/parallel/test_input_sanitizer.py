"""What may become part of a file name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.errors import InvalidIdentifier
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier

NEARLY = st.text(alphabet="aZ09_-./\\\n\0 é٣", max_size=70)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(st.one_of(st.text(max_size=80), NEARLY))
def test_only_short_plain_names_pass(text: str) -> None:
    message = complaint_about(text)
    if not message:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", text)
        return
    assert message.startswith("Invalid identifier")
    assert message.isprintable()
    assert len(message) < 200


def complaint_about(text: str) -> str:
    """Return why `text` is refused, or nothing."""
    try:
        assert sanitize_identifier(text) == text
    except InvalidIdentifier as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "text",
    [
        "abc\n",
        "CON",
        "nul",
        "Com1",
        "lpt9",
        "-rf",
        "--",
        "",
        "a" * 65,
        "x" * 5000,
        "..",
    ],
)
def test_known_traps_are_refused(text: str) -> None:
    with pytest.raises(InvalidIdentifier, match=r"^Invalid identifier"):
        sanitize_identifier(text)


@pytest.mark.parametrize(
    "text", ["42", "LLD-042", "item_1", "a" * 64, "console", "com10"]
)
def test_ordinary_names_pass(text: str) -> None:
    assert sanitize_identifier(text) == text


@pytest.mark.parametrize("thing", [None, 42, b"42", ["a"], object(), float("nan")])
def test_what_is_not_text_is_refused_as_a_value(thing: Any) -> None:
    with pytest.raises(InvalidIdentifier, match="expected text"):
        sanitize_identifier(thing)


def test_a_separator_is_named_as_the_reason() -> None:
    with pytest.raises(ValueError, match="path separators not allowed"):
        sanitize_identifier("a/b c")
    with pytest.raises(ValueError, match="invalid characters"):
        sanitize_identifier("a b")
