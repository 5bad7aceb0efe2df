from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.markdown import Kind, code_blocks, items, paragraphs, scan, sections
from agentos.documents.tables import escape_cell, render_table, split_row, tables

MARKS = st.sampled_from(
    ["#", "##", "```", "~~~", "````", "-", "1.", "|", "\\|", "<!--", "-->", "`", "x", " ", "\n", "\r\n", "[ ]"]
)
MARKDOWN = st.lists(st.one_of(MARKS, st.text(max_size=8)), max_size=60).map("".join)


def titles(text: str) -> list[str]:
    return [section.title for section in sections(scan(text))]


def test_a_heading_inside_a_fence_is_code() -> None:
    assert titles("# a\n```\n# b\n```\n# c") == ["a", "c"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "````md\n```py\n# no\n```\n# no\n````\n# yes"
    assert titles(text) == ["yes"]
    assert code_blocks(scan(text)) == (("md", "```py\n# no\n```\n# no"),)


def test_a_tilde_fence_is_not_closed_by_backticks() -> None:
    assert titles("~~~\n```\n# no\n~~~\n# yes") == ["yes"]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    assert titles("# a\n```\n# b\n# c") == ["a"]


def test_hidden_comments_are_not_read() -> None:
    lines = scan("a <!-- # x --> b\n<!--\n# hidden\n-->\n# shown")
    assert lines[0].text == "a  b"
    assert titles("<!--\n# hidden\n-->\n# shown") == ["shown"]


def test_a_comment_mark_in_backticks_is_text() -> None:
    assert scan("use `<!--` here")[0].text == "use `<!--` here"


def test_crlf_and_a_byte_order_mark_are_tolerated() -> None:
    assert titles("\ufeff# a\r\n\r\n## b\r\n") == ["a", "b"]


def test_line_numbers_point_into_the_source() -> None:
    found = sections(scan("\n\n# a\ntext\n## b\n"))
    assert [(section.title, section.line) for section in found] == [("a", 3), ("b", 5)]


def test_a_section_holds_its_subsections() -> None:
    found = sections(scan("# a\n1\n## b\n2\n# c\n3"))
    assert [line.text for line in found[0].whole] == ["1", "b", "2"]
    assert [line.text for line in found[0].body] == ["1"]


def test_items_join_wrapped_lines_and_keep_nested_ones() -> None:
    found = items(scan("- [ ] first\n  goes on\n  - inner\n- [x] second\n3) third\n\nno item"))
    assert [(item.text, item.is_checked, item.details) for item in found] == [
        ("first goes on", False, ("inner",)),
        ("second", True, ()),
        ("third", None, ()),
    ]


def test_paragraphs_leave_out_lists_and_code() -> None:
    assert paragraphs(scan("one\ntwo\n\n- item\n\n```\ncode\n```\nthree")) == ("one two", "three")


def test_a_row_keeps_escaped_pipes() -> None:
    assert split_row(r"| a \| b | c |") == ("a | b", "c")


def test_a_ragged_row_is_reported_with_its_line() -> None:
    grid = tables(scan("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 |"))[0]
    assert grid.ragged == (3,)
    assert grid.rows == (("1", ""), ("1", "2"))


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=5))
def test_a_rendered_table_is_read_back_with_as_many_rows(rows: list[tuple[str, str]]) -> None:
    grid = tables(scan(render_table(("a", "b"), rows)))[0]
    assert len(grid.rows) == len(rows)
    assert not grid.ragged


@given(st.text(alphabet="ab|\\ ", max_size=20))
def test_a_cell_never_breaks_its_row(text: str) -> None:
    assert len(split_row(f"| {escape_cell(text)} | end |")) == 2


@given(MARKDOWN)
def test_every_line_is_given_back_once(text: str) -> None:
    assert [line.number for line in scan(text)] == list(range(1, text.count("\n") + 2))


@given(MARKDOWN)
def test_no_text_breaks_the_readers(text: str) -> None:
    lines = scan(text)
    sections(lines)
    items(lines)
    paragraphs(lines)
    tables(lines)
    code_blocks(lines)


def test_large_hostile_inputs_are_read() -> None:
    for text in ("`" * 500_000, "<!--" * 100_000, "|" * 300_000, "```\n" * 50_000, " " * 500_000, "# x\n" * 50_000):
        lines = scan(text)
        assert lines[-1].kind in Kind
        tables(lines)
