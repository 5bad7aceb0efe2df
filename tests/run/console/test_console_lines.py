"""Chunks to lines, lines to console lines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.run.console.lines import (
    LIMIT,
    LineHolder,
    LineRenderer,
    has_long_line,
    prefix_lines,
)

PREFIX = b"[LLD-1] "
WORDS = [
    b"\n",
    b"\r\n",
    b"\n\n",
    b"text",
    b"\x1b[31m",
    "é日👩".encode(),
    b"\0",
    b"\xff",
    PREFIX + b"\n",
    b"x" * 70_000,
]
HOSTILE = st.lists(st.sampled_from(WORDS) | st.binary(max_size=8), max_size=12).map(
    b"".join
)


def show(
    chunks: list[bytes], *, keep_sgr: bool = False, secret: bytes = b""
) -> tuple[bytes, bytes]:
    """Return what the log and the console get from a stream that arrives in
    `chunks`.
    """
    holder = LineHolder(
        (lambda data: data.replace(secret, b"[REDACTED]")) if secret else None
    )
    renderer = LineRenderer(PREFIX, log="LOG", keep_sgr=keep_sgr)
    logged, shown = [], []
    for chunk in chunks:
        logged.append(holder.feed(chunk))
        shown.append(renderer.feed(logged[-1]))
    logged.append(holder.release())
    shown += [renderer.feed(logged[-1]), renderer.end()]
    return b"".join(logged), b"".join(shown)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Return `data` cut at `places`."""
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[begin:end] for begin, end in pairwise(ends)]


@settings(max_examples=300, deadline=None)
@given(HOSTILE, st.lists(st.integers(0, 300_000), max_size=8), st.booleans())
def test_chunks_make_no_difference(
    data: bytes, places: list[int], keep_sgr: bool
) -> None:
    logged, shown = show(cut(data, places), keep_sgr=keep_sgr)
    assert logged == data
    assert (logged, shown) == show([data], keep_sgr=keep_sgr)
    assert (
        shown
        == show(
            [data[n : n + 4096] for n in range(0, len(data), 4096)], keep_sgr=keep_sgr
        )[1]
    )
    assert not shown or shown.endswith(b"\n")
    assert all(line.startswith(PREFIX) for line in shown.split(b"\n") if line)


@given(st.lists(st.sampled_from([b"", b"a", b"[LLD-1] ", b" "]), min_size=1))
def test_prefixing_in_bulk_is_prefixing_line_by_line(lines: list[bytes]) -> None:
    expected = b"".join((PREFIX + line if line else b"") + b"\n" for line in lines)
    assert prefix_lines(b"".join(line + b"\n" for line in lines), PREFIX) == expected


@given(
    st.lists(
        st.sampled_from([0, 1, LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT]),
        min_size=1,
        max_size=6,
    )
)
def test_a_long_line_is_found(sizes: list[int]) -> None:
    body = b"".join(b"x" * size + b"\n" for size in sizes)
    assert has_long_line(body) == (max(sizes) > LIMIT)


def test_a_partial_line_is_held_until_its_newline() -> None:
    holder = LineHolder()
    assert holder.feed(b"one\ntw") == b"one\n"
    assert holder.feed(b"o") == b""
    assert holder.peek() == b"two"
    assert holder.feed(b"\n") == b"two\n"


def test_a_character_split_over_two_reads_stays_whole() -> None:
    assert show([b"\xe6", b"\x97", b"\xa5\n"])[1] == PREFIX + "日\n".encode()


def test_a_missing_final_newline_is_added() -> None:
    assert show([b"end"])[1] == PREFIX + b"end\n"


def test_a_long_line_is_cut_on_the_console_only() -> None:
    line = b"x" * (LIMIT - 1) + "日".encode() + b"y" * 100
    logged, shown = show([line + b"\nnext\n"])
    assert logged == line + b"\nnext\n"
    assert (
        shown
        == PREFIX
        + b"x" * (LIMIT - 1)
        + b"... (+103 bytes, see LOG)\n"
        + PREFIX
        + b"next\n"
    )


def test_an_endless_line_is_not_collected() -> None:
    holder, renderer = LineHolder(), LineRenderer(PREFIX, log="LOG")
    for _ in range(200):
        assert renderer.feed(holder.feed(b"x" * 50_000)) == b""
        assert len(holder.peek()) <= LIMIT
    assert renderer.end() == PREFIX + b"x" * LIMIT + b"... (+%d bytes, see LOG)\n" % (
        200 * 50_000 - LIMIT - len(holder.peek())
    )


def test_a_resting_line_is_shown_once_and_goes_on_with_a_mark() -> None:
    renderer = LineRenderer(PREFIX, log="LOG")
    assert renderer.preview(b"wait") == PREFIX + b"wait ...\n"
    assert renderer.preview(b"wait") == b""
    assert renderer.preview(b"wait a bit") == PREFIX + b"...  a bit ...\n"
    assert (
        renderer.feed(b"wait a bit more\nnext\n")
        == PREFIX + b"...  more\n" + PREFIX + b"next\n"
    )


def test_a_resting_line_that_only_lacked_its_newline_is_not_repeated() -> None:
    renderer = LineRenderer(PREFIX, log="LOG")
    renderer.preview(b"sure? ")
    assert renderer.feed(b"sure? \n") == b""
    assert renderer.feed(b"yes\n") == PREFIX + b"yes\n"


def test_a_preview_never_cuts_a_character_or_a_colour() -> None:
    renderer = LineRenderer(PREFIX, log="LOG")
    assert renderer.preview(b"a\xe6\x97") == PREFIX + b"a ...\n"
    assert renderer.feed("a日\n".encode()) == PREFIX + "... 日\n".encode()
    assert renderer.preview(b"b\x1b[3") == PREFIX + b"b ...\n"


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 300_000), st.lists(st.integers(0, 300_020), max_size=6))
def test_a_secret_never_passes_whole_however_it_is_cut(
    place: int, places: list[int]
) -> None:
    data = b"x" * place + b"SECRET-KEY-0123" + b"y" * (300_000 - place)
    logged, shown = show(cut(data, places), secret=b"SECRET-KEY-0123")
    assert logged == data.replace(b"SECRET-KEY-0123", b"[REDACTED]")
    assert b"SECRET" not in shown


def test_a_secret_at_the_place_where_a_long_line_is_cut_is_redacted() -> None:
    secret = b"SECRET-KEY-0123"
    for back in range(4096, 4096 + len(secret) + 1):
        first = b"x" * (70_000 - back) + secret + b"y" * (back - len(secret))
        logged, _ = show([first, b"z\n"], secret=secret)
        assert logged == (first + b"z\n").replace(secret, b"[REDACTED]")
