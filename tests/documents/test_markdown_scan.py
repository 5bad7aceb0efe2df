from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.markdown import (
    LineKind,
    closing_fence,
    end_of_heading,
    items,
    paragraphs,
    scan,
    sections,
)
from agentos.documents.tables import escape_cell, render_table, split_row, tables

MARKS = st.sampled_from(
    [
        "#",
        "##",
        "```",
        "~~~",
        "````",
        "-",
        "1.",
        "|",
        "\\|",
        "<!--",
        "-->",
        "`",
        "x",
        " ",
        "\n",
        "\r\n",
        "[ ]",
    ]
)
MARKDOWN = st.lists(st.one_of(MARKS, st.text(max_size=8)), max_size=60).map("".join)


def titles(text: str) -> list[str]:
    return [section.title for section in sections(scan(text))]


def test_a_heading_inside_a_fence_is_code() -> None:
    assert titles("# a\n```\n# b\n```\n# c") == ["a", "c"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "````md\n```py\n# no\n```\n# no\n````\n# yes"
    assert titles(text) == ["yes"]
    lines = scan(text)
    assert lines[0].info == "md"
    assert [line.kind for line in lines[:6]] == [
        LineKind.FENCE,
        *[LineKind.CODE] * 4,
        LineKind.FENCE,
    ]


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
    found = items(
        scan("- [ ] first\n  goes on\n  - inner\n- [x] second\n3) third\n\nno item")
    )
    assert [(item.text, item.is_checked, item.details) for item in found] == [
        ("first goes on", False, ("inner",)),
        ("second", True, ()),
        ("third", None, ()),
    ]


def test_paragraphs_leave_out_lists_and_code() -> None:
    assert paragraphs(scan("one\ntwo\n\n- item\n\n```\ncode\n```\nthree")) == (
        "one two",
        "three",
    )


def test_a_row_keeps_escaped_pipes() -> None:
    assert split_row(r"| a \| b | c |") == ("a | b", "c")


def test_a_ragged_row_is_reported_with_its_line() -> None:
    grid = tables(scan("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 |"))[0]
    assert grid.ragged == (3,)
    assert grid.rows == (("1", ""), ("1", "2"))


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=5
    )
)
def test_a_rendered_table_is_read_back_with_as_many_rows(
    rows: list[tuple[str, str]],
) -> None:
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


@pytest.mark.slow
def test_large_hostile_inputs_are_read() -> None:
    for text in (
        "`" * 500_000,
        "<!--" * 100_000,
        "|" * 300_000,
        "```\n" * 50_000,
        " " * 500_000,
        "# x\n" * 50_000,
    ):
        lines = scan(text)
        assert lines[-1].kind in LineKind
        tables(lines)


def kinds(text: str) -> list[LineKind]:
    return [line.kind for line in scan(text)]


@pytest.mark.parametrize(("underline", "level"), [("===", 1), ("---", 2), ("-", 2)])
def test_an_underlined_line_is_a_heading(underline: str, level: int) -> None:
    found = sections(scan(f"Title\n{underline}\ntext"))
    assert [(part.title, part.level, part.line) for part in found] == [
        ("Title", level, 1)
    ]
    assert [line.text for line in found[0].body] == ["text"]


def test_an_underlined_heading_may_have_several_lines() -> None:
    assert titles("one\ntwo\n---\n") == ["one two"]
    assert end_of_heading(scan("one\ntwo\n---\ntext")) == 3


def test_a_rule_after_a_blank_line_or_a_list_is_no_heading() -> None:
    assert titles("text\n\n---\n") == []
    assert titles("- item\n---\n") == []


def test_a_heading_inside_an_html_block_is_html() -> None:
    assert titles("<details>\n## no\n\n## yes\n</details>\n") == ["yes"]
    assert titles("<div>\n# no\n</div>\n\n# yes") == ["yes"]
    assert paragraphs(scan("<details>\n<summary>Log</summary>\n\ntext")) == ("text",)


def test_a_comment_runs_over_blank_lines_to_its_end() -> None:
    assert kinds("<!-- a\nb\n-->\ntext") == [*[LineKind.COMMENT] * 3, LineKind.TEXT]
    assert titles("<!--\n\n# no\n\n-->\n\n# yes") == ["yes"]


def test_an_unclosed_comment_hides_the_rest_only_where_it_begins_a_line() -> None:
    assert titles("<!--\n\n# no") == []
    assert titles("a <!-- b\n\n# yes") == ["yes"]


def test_a_fence_in_a_list_item_is_code_and_ends_with_its_item() -> None:
    text = "- item\n\n  ```sh\n  # no\n  ```\n\n- next\n\n  ```\n  # no\n\n# yes"
    assert titles(text) == ["yes"]
    assert [item.text for item in items(scan(text))] == ["item", "next"]


def test_text_that_is_indented_by_four_is_code() -> None:
    assert kinds("text\n\n    # code\n") == [
        LineKind.TEXT,
        LineKind.BLANK,
        LineKind.CODE,
        LineKind.BLANK,
    ]


def test_what_is_quoted_is_text() -> None:
    assert titles("> # quoted\n> ```\n\n# yes") == ["yes"]
    assert items(scan("> - quoted")) == ()


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("```py\ncode", "```"),
        ("~~~~\ncode\n", "~~~~"),
        ("```\ncode\n```\n", ""),
        ("- ```\n  code", ""),
        ("    ```\n", ""),
        ("", ""),
    ],
)
def test_the_mark_that_closes_an_open_fence_is_told(text: str, mark: str) -> None:
    assert closing_fence(scan(text)) == mark


def test_a_row_without_pipes_belongs_to_the_table_above() -> None:
    (grid,) = tables(scan("| a | b |\n|---|---|\n| 1 | 2 |\nloose\n\ntext"))
    assert grid.rows == (("1", "2"), ("loose", ""))
    assert grid.ragged == (4,)


def test_a_table_in_a_list_item_is_read() -> None:
    (grid,) = tables(scan("- | a | b |\n  |---|---|\n  | 1 | 2 |\n"))
    assert (grid.header, grid.rows) == (("a", "b"), (("1", "2"),))
