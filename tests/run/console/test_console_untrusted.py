"""Hostile bytes on their way to a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentos.state.terminal_text import clean, trim_unfinished

ATTACKS = [
    b"\x1b[2J", b"\x1b[H", b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[1A\x1b[2K", b"\x1b[6n", b"\x1b[c",
    b"\x1b[21t",
    b"\x1b[10;10H", b"\x1b[3;4r", b"\x1b[?2004h", b"\x1b[>4;2m", b"\x1b[31", b"\x1b[38:2:1:2:3m",
    b"\x1b]0;owned\x07", b"\x1b]0;owned\x1b\\", b"\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    b"\x1b]52;c;ZXZpbA==\x07", b"\x1b]1337;File=:AAAA\x07", b"\x1bP+q544e\x1b\\", b"\x1b_APC\x1b\\",
    b"\x1b^PM\x1b\\",
    b"\x1bX SOS \x1b\\", b"\x1bc", b"\x1b(0", b"\x1b#8", b"\x1b7\x1b8", b"\x1b\x1b[0m[2J", b"\x1b[\x1b[0m2J",
    b"\x9b2J", b"\xc2\x9b2J", b"\xc2\x9d0;x\xc2\x9c", b"\xc2\x90q\xc2\x9c", b"\x07\x07", b"a\x08\x08b",
    b"real\r[COORDINATOR] all good", b"x\r", b"\r\r\n\r", b"\x0b\x0c", b"\x00\x01\x02", b"\x7f", b"\x0e\x0f",
    "\u202eevil\u202c".encode(), "\u2066a\u2069".encode(), "\u200e\u200f\u061c".encode(),
    "a\u2028[COORDINATOR] b\u2029c\u0085d".encode(), b"\xff\xfe\xc0\xaf\xed\xa0\x80", b"\xe2\x82",
    b"\n[COORDINATOR] fake", b"[COORDINATOR] fake",
]  # fmt: skip

INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
SGR = re.compile("\x1b\\[[0-9;]*m")


def test_the_corpus_is_large_enough() -> None:
    assert len(ATTACKS) >= 30


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("color", ["never", "always"])
def test_an_attack_reaches_no_terminal(
    make_stage: Callable[..., Any], attack: bytes, color: str
) -> None:
    stage = make_stage(color=color)
    log = stage.emit("LLD-1", b"before " + attack + b" after\n", attack)
    out, err = (data.decode() for data in stage.finish())
    for text in (out, err):
        bare = SGR.sub("", text) if color == "always" else text
        assert not INVISIBLE.search(bare)
        assert all(line.startswith("[LLD-1] ") for line in bare.split("\n") if line)
    assert b"before " + attack + b" after\n" in log.read_bytes()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), st.booleans())
@example(b"\x1b\x1b[m[31m", False)
@example("\u202e\x1b[31m".encode(), True)
def test_no_bytes_become_a_control_sequence(data: bytes, keep_sgr: bool) -> None:
    text = clean(data + b"\n", keep_sgr=keep_sgr).decode()
    assert not INVISIBLE.search(SGR.sub("", text) if keep_sgr else text)
    assert text.count("\n") == data.count(b"\n") + 1


def test_colours_end_with_their_line() -> None:
    assert (
        clean(b"\x1b[31mred\nplain\n", keep_sgr=True) == b"\x1b[31mred\x1b[0m\nplain\n"
    )
    assert clean(b"\x1b[31mred\nplain\n", keep_sgr=False) == b"red\nplain\n"


def test_text_of_all_languages_passes() -> None:
    text = "naïve 日本語 👩‍💻 עברית\ttab\n".encode()
    assert clean(text) == text


def test_what_a_locale_cannot_encode_is_escaped() -> None:
    assert clean("é日\n".encode(), encoding="latin-1") == b"\xe9\\u65e5\n"
    assert clean("é\n".encode(), encoding="ascii") == b"\\xe9\n"


@given(st.text(max_size=20), st.integers(0, 3))
def test_trimming_takes_only_what_is_cut(text: str, cut: int) -> None:
    data = text.encode("utf-8", "replace")
    shorter = data[: max(0, len(data) - cut)]
    trimmed = trim_unfinished(shorter)
    assert shorter.startswith(trimmed)
    assert len(shorter) - len(trimmed) <= 3 or b"\x1b" in shorter
    trimmed.decode()


def test_a_long_line_after_a_colored_one_is_cleaned_in_one_pass() -> None:
    data = b"\x1b[31mred\x1b[0m\n" + b"x" * 1_000_000
    assert clean(data, keep_sgr=True).endswith(b"x")
