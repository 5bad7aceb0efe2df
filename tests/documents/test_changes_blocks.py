"""Blocks of an answer become files, however they are named, nested and cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.changes import (
    Change,
    Changes,
    Deletion,
    Edit,
    EditedFile,
    WholeFile,
    check_path,
    parse_changes,
    render_changes,
)


def only(text: str) -> Change:
    """Return the one change of an answer that has no problem."""
    read = parse_changes(text)
    assert not read.problems, read.problems
    assert len(read.changes) == 1, read
    return read.changes[0]


def problems(text: str) -> list[str]:
    """Return what is wrong with an answer."""
    return [problem.text for problem in parse_changes(text).problems]


@pytest.mark.parametrize(
    "marker",
    [
        *(
            "# File: src/a.py",
            "#File: src/a.py",
            "## file: src/a.py",
            "// File: src/a.py",
            "/// File: src/a.py",
        ),
        *(
            "-- File: src/a.py",
            "; File: src/a.py",
            ";; File: src/a.py",
            "% File: src/a.py",
            '" File: src/a.py',
        ),
        *(
            "<!-- File: src/a.py -->",
            "/* File: src/a.py */",
            "/** File: src/a.py **/",
            "(* File: src/a.py *)",
        ),
        *(
            "# File: `src/a.py`",
            "# File: ./src/a.py",
            "# File: 'src/a.py'",
            "# Filename: src/a.py",
            "\ufeff# File: src/a.py",
        ),
        *("# File: src/a.py (new)", "# **File:** `src/a.py`", "{# File: src/a.py #}"),
    ],
)
def test_a_first_line_in_any_comment_style_names_the_file(marker: str) -> None:
    change = only(f"Here:\n\n```python\n{marker}\n\nx = 1\n```\nThat is all.\n")
    assert change == WholeFile("src/a.py", "x = 1\n")
    assert change.line == 4


@pytest.mark.parametrize(
    "info",
    [
        "python path=src/a.py",
        'py file="src/a.py"',
        "src/a.py",
        "python:src/a.py",
        "./src/a.py",
    ],
)
def test_an_info_string_names_the_file(info: str) -> None:
    assert only(f"```{info}\nx = 1\n```") == WholeFile("src/a.py", "x = 1\n")


@pytest.mark.parametrize(
    "marker",
    [
        *(
            "### File: src/a.py",
            "**File:** `src/a.py`",
            "**File: src/a.py**",
            "File: src/a.py",
            "File: `src/a.py` (new)",
        ),
        *(
            "1. **File:** `src/a.py`",
            "- File: src/a.py",
            "# File: src/a.py\n",
            "#### File: `src/a.py`\n",
        ),
    ],
)
def test_a_line_above_the_fence_names_the_file(marker: str) -> None:
    assert only(f"Now:\n{marker}\n```python\nx = 1\n```") == WholeFile(
        "src/a.py", "x = 1\n"
    )


def test_a_name_above_and_the_same_inside_is_one_file() -> None:
    assert only("### File: a.py\n\n```python\n# File: a.py\nx\n```") == WholeFile(
        "a.py", "x\n"
    )


def test_two_names_for_one_block_are_a_problem() -> None:
    assert (
        "names `b.py` and `a.py`"
        in problems("### File: a.py\n\n```python\n# File: b.py\nx\n```")[0]
    )


@pytest.mark.parametrize(
    "first",
    ["#!/usr/bin/env python3", "<?php", "<!DOCTYPE html>", "# -*- coding: utf-8 -*-"],
)
def test_a_first_line_that_must_stay_first_stays(first: str) -> None:
    assert only(f"```\n{first}\n# File: a.x\nrest\n```") == WholeFile(
        "a.x", f"{first}\nrest\n"
    )


def test_inner_fences_belong_to_a_file_in_a_longer_fence() -> None:
    body = "# Title\n\n```\npytest\n```\n\n~~~\nx\n~~~\n"
    assert only(f"````markdown\n# File: README.md\n{body}````") == WholeFile(
        "README.md", body
    )
    assert only(f"~~~~\n# File: README.md\n{body}~~~~") == WholeFile("README.md", body)


@pytest.mark.parametrize(
    "body",
    [
        "# Title\n```bash\npip install x\n```\nand\n```python\nimport x\n```\n",
        "```bash\na\n```\n\n~~~\nb\n~~~\n",
    ],
)
def test_inner_fences_that_pair_up_belong_to_a_file_in_a_fence_as_long(
    body: str,
) -> None:
    answer = f"Docs:\n\n```markdown\n# File: docs/use.md\n{body}```\n\n```python\n# File: a.py\nx\n```\n"
    assert parse_changes(answer).changes == (
        WholeFile("docs/use.md", body),
        WholeFile("a.py", "x\n"),
    )


def test_a_block_of_prose_behind_a_document_is_not_part_of_it() -> None:
    read = parse_changes(
        "```markdown\n# File: a.md\nText\n```\n\nRun:\n\n```\npytest\n```\n"
    )
    assert read.changes == (WholeFile("a.md", "Text\n"),)
    assert [block.line for block in read.unnamed] == [8]


def test_a_fence_in_an_indented_string_does_not_close() -> None:
    body = 'TEXT = """\n    ```\n    x\n    """\n'
    assert only(f"```python\n# File: a.py\n{body}```") == WholeFile("a.py", body)


def test_a_block_in_a_list_loses_the_indentation_of_its_fence() -> None:
    assert only(
        "1. First\n   ```python\n   # File: a.py\n   if x:\n       y\n   ```\n"
    ) == WholeFile("a.py", "if x:\n    y\n")


def test_a_fence_that_is_open_at_the_end_is_marked_as_cut() -> None:
    change = only("```python\n# File: a.py\nx = 1\ny = ")
    assert change == WholeFile("a.py", "x = 1\ny = \n", is_cut=True)


def test_a_fence_that_is_open_before_another_file_is_a_problem() -> None:
    read = parse_changes(
        "```python\n# File: a.py\nx\n\n```python\n# File: b.py\ny\n```\n"
    )
    assert read.changes == (WholeFile("b.py", "y\n"),)
    assert "Line 1: the block of `a.py` is not closed" in read.problems[0].text


def test_a_fence_around_the_whole_answer_is_looked_through() -> None:
    inner = "Done.\n\n```python\n# File: a.py\nx\n```\n\n# Delete: b.py\n\n```js\n// File: c.js\ny\n```\n"
    for fence in ("```markdown", "````", "~~~"):
        read = parse_changes(f"{fence}\n{inner}{fence.rstrip('markdown')}\n")
        assert read == parse_changes(inner)
        assert len(read.changes) == 3


def test_blocks_without_a_name_are_counted_as_prose() -> None:
    read = parse_changes("```bash\npip install\n```\n\n```\nx = 1\n```\n")
    assert not read.changes
    assert [(block.line, block.info) for block in read.unnamed] == [
        (1, "bash"),
        (5, ""),
    ]


def test_blocks_in_thoughts_are_drafts() -> None:
    draft = "<think>\n```python\n# File: a.py\ndraft\n```\n</think>\n"
    change = only(f"{draft}```python\n# File: a.py\nx\n```")
    assert change == WholeFile("a.py", "x\n")
    assert change.line == 8


def test_line_ends_of_the_answer_are_not_those_of_the_file() -> None:
    assert only("\ufeff```python\r\n# File: a.py\r\nx\r\ny\r\n```\r\n") == WholeFile(
        "a.py", "x\ny\n"
    )
    assert only("```python\n# File: a.py\nx\r\ny\r\n```\n") == WholeFile(
        "a.py", "x\r\ny\r\n"
    )


@pytest.mark.parametrize("body", ["", "\n", "\n\n", " \n"])
def test_an_empty_file_is_a_file(body: str) -> None:
    assert parse_changes(
        render_changes([WholeFile("a/__init__.py", body)])
    ).changes == (WholeFile("a/__init__.py", body),)
    assert only("```python\n# File: a/__init__.py\n```") == WholeFile(
        "a/__init__.py", ""
    )


def test_the_same_file_twice_counts_once() -> None:
    block = "```python\n# File: a.py\nx\n```\n"
    assert only(block + "again:\n" + block) == WholeFile("a.py", "x\n")


def test_two_versions_of_a_file_are_a_problem_that_names_both_lines() -> None:
    read = parse_changes(
        "```python\n# File: a.py\nx\n```\n```python\n# File: a.py\ny\n```\n"
    )
    assert read.problems[0].text.startswith("Line 6: line 2 changes `a.py`")


def test_a_file_cannot_be_changed_in_two_ways() -> None:
    read = parse_changes("```python\n# File: a.py\nx\n```\n# Delete: a.py\n")
    assert "line 2 changes `a.py` in another way" in read.problems[0].text
    assert not read.changes


def test_a_file_that_an_answer_writes_can_be_edited_below() -> None:
    edit = "```\n# Edit: a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n"
    whole = WholeFile("a.py", "x\n", edits=(Edit("x\n", "y\n"),))
    assert only(f"```python\n# File: a.py\nx\n```\n{edit}") == whole
    assert only(render_changes([whole])) == whole


def test_words_that_say_a_file_is_not_whole_are_a_problem() -> None:
    assert (
        "`(append)`"
        in problems("```gitignore\n# File: .gitignore (append)\n*.pyc\n```")[0]
    )


def test_a_name_that_no_block_follows_is_a_problem() -> None:
    assert "Line 1: names `src/a.py`" in problems("### File: src/a.py\n\nx = 1\n")[0]
    assert not problems("```python\n# File: a.py\nx\n```\n\n- File: a.py\n")


def test_prose_that_looks_like_a_name_is_prose() -> None:
    assert (
        parse_changes("File: see the one above\n\nDelete: nothing at all\n")
        == Changes()
    )


@pytest.mark.parametrize(
    "text",
    [
        "# Delete: a.py",
        "Gone now:\n\n**Delete:** `a.py`\n",
        "```\n# Delete: a.py\n```",
        "```text\n// Delete: a.py\n```",
        "Delete: a.py",
    ],
)
def test_a_deletion_is_a_line_of_its_own(text: str) -> None:
    assert only(text) == Deletion("a.py")


def test_a_block_may_delete_several_files_and_nothing_else() -> None:
    read = parse_changes(
        "```\n# Delete: a.py\n# Reason: moved\n\n# Delete: b.py\n```\n"
    )
    assert read.changes == (Deletion("a.py", reason="moved"), Deletion("b.py"))
    assert "holds nothing else" in problems("```\n# Delete: a.py\nx = 1\n```\n")[0]


def test_a_deletion_in_a_block_of_commands_is_none() -> None:
    assert not parse_changes("```bash\nls\n# Delete: a.py\n```\n").changes


@pytest.mark.parametrize(
    "text",
    [
        "```python\n# File: a.py\n# Reason: the parser needs it\n\nx\n```",
        "```js\n// File: a.py\n// Reason: the parser needs it\nx\n```",
        "### File: a.py\nReason: the parser needs it\n\n```python\nx\n```",
        "**File:** `a.py`\n**Reason:** the parser needs it\n```python\nx\n```",
        "```python path=a.py\n# Reason: the parser needs it\nx\n```",
        "Reason: the parser needs it\n```python\n# File: a.py\nx\n```",
    ],
)
def test_a_reason_below_the_marker_is_kept_and_not_written(text: str) -> None:
    assert only(text) == WholeFile("a.py", "x\n", reason="the parser needs it")


def test_an_edit_has_sections() -> None:
    section = "<<<<<<< SEARCH\nold\n=======\nnew\nnewer\n>>>>>>> REPLACE\n"
    second = "<<<<<<< SEARCH\ngone\n=======\n>>>>>>> REPLACE\n"
    for marker in ("# Edit: a.py", "# File: a.py"):
        change = only(f"```python\n{marker}\n{section}\n{second}```")
        assert change == EditedFile(
            "a.py", (Edit("old\n", "new\nnewer\n"), Edit("gone\n", ""))
        )
        assert isinstance(change, EditedFile)
        assert [edit.line for edit in change.edits] == [3, 10]


def test_two_edits_of_a_file_are_made_one_after_the_other() -> None:
    block = "```\n# Edit: a.py\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```\n"
    change = only(
        block.format("a", "b") + block.format("b", "c") + block.format("a", "b") * 0
    )
    assert change == EditedFile("a.py", (Edit("a\n", "b\n"), Edit("b\n", "c\n")))


def test_a_second_edit_that_is_cut_off_marks_the_file_as_cut() -> None:
    block = "```\n# Edit: a.py\n<<<<<<< SEARCH\n{}\n=======\n>>>>>>> REPLACE\n"
    read = parse_changes(
        f"{block.format('a')}```\n```\n# File: b.py\nx\n```\n{block.format('b')}"
    )
    assert read.changes[-1] == EditedFile(
        "a.py", (Edit("a\n", ""), Edit("b\n", "")), is_cut=True
    )
    assert parse_changes(render_changes(read)) == read


def test_fences_in_a_section_do_not_close_the_block() -> None:
    change = only(
        "```\n# Edit: a.md\n<<<<<<< SEARCH\n```bash\n=======\n```sh\n```\n>>>>>>> REPLACE\n```\n"
    )
    assert change == EditedFile("a.md", (Edit("```bash\n", "```sh\n```\n"),))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("x = 1\n<<<<<<< SEARCH\n", "stands outside the sections"),
        ("", "has no section"),
        ("<<<<<<< SEARCH\na\n=======\nb\n=======\n", "has no end"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "no line `=======`"),
        (
            "<<<<<<< SEARCH\nT\n=======\n=======\nU\n>>>>>>> REPLACE\n",
            "2 dividing lines; write all its marks longer",
        ),
        (
            "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\nstray\n",
            "Line 8: stands outside",
        ),
    ],
)
def test_a_broken_section_is_a_problem_with_its_line(body: str, complaint: str) -> None:
    assert complaint in problems(f"```\n# Edit: a.py\n{body}```\n")[0]


def test_longer_marks_let_a_section_hold_a_dividing_line() -> None:
    change = only(
        "```\n# Edit: a.rst\n<<<<<<<< SEARCH\nT\n=======\n========\nU\n=======\n>>>>>>>> REPLACE\n```\n"
    )
    assert change == EditedFile("a.rst", (Edit("T\n=======\n", "U\n=======\n"),))


def test_too_much_is_a_problem_and_not_read() -> None:
    assert "longer than 10 MB" in problems("x" * 10_000_001)[0]
    assert "more than 1 MB" in problems(f"```\n# File: a.txt\n{'é' * 500_001}\n```")[0]
    many = parse_changes(
        "".join(f"```\n# File: f{number}.txt\nx\n```\n" for number in range(10_000))
    )
    assert len(many.changes) == 500
    assert "more than 500 files" in many.problems[0].text
    assert "more than 20,000 fences" in problems("```\n" * 20_001)[0]
    sections = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" * 1_001
    assert (
        "more than 1000 sections" in problems(f"```\n# Edit: a.txt\n{sections}```")[0]
    )


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "```\n",
            "```python\n",
            "```python\n# File: a.py\n",
            "````\n```\n",
            " " * 1000,
            "# File: a\n",
            "Reason: x\n",
        ),
        *(
            "```md\n# File: a.md\n```\nx\n",
            "<<<<<<< SEARCH\n",
            "=======\n",
            "\n",
            "~~~\n```x\n",
            "**File:** `a`\n```\n",
        ),
        "```\n# Edit: a\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n",
    ],
)
def test_a_megabyte_of_anything_is_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    read = parse_changes(text)
    assert len(read.changes) <= 500
    assert len(read.problems) <= 101


LINES = st.sampled_from(
    [
        *(
            "x = 1",
            "",
            " ",
            "```",
            "```python",
            "````",
            "~~~",
            "# File: b.py",
            "# Reason: no",
            "<!-- Reason: x -->",
        ),
        *(
            "<<<<<<< SEARCH",
            "=======",
            ">>>>>>> REPLACE",
            "<<<<<<<< SEARCH",
            "# Delete: c.py",
            "# Edit: d.py",
        ),
        *(
            "\r",
            "a\r",
            "\ufeff",
            "#!/bin/sh",
            "\u2028",
            "<think>",
            "</think>",
            "    ```",
            "\x00",
            "=" * 9,
            "File: z",
        ),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        LINES | st.text(alphabet=st.characters(exclude_characters="\n"), max_size=10),
        max_size=12,
    ).map("\n".join),
    st.lists(LINES, max_size=12).map(lambda rows: "".join(f"{row}\n" for row in rows)),
)
ROWS = TEXTS.map(
    lambda text: "".join(f"{row}\n" for row in text.split("\n")) if text else ""
)
NAMES = st.sampled_from(
    [
        "a.py",
        "src/b.md",
        "c d.txt",
        "e (1).py",
        "'f'",
        "docs/g.rst",
        ".h",
        "__init__.py",
        "i*",
    ]
)
PATHS = st.one_of(NAMES, st.text(min_size=1, max_size=12)).filter(
    lambda path: not check_path(path)
)
REASONS = st.one_of(
    st.just(""), st.text(max_size=20).map(lambda text: " ".join(text.split()))
)
EDITS = st.lists(st.builds(Edit, ROWS, ROWS), min_size=1, max_size=3).map(tuple)
ANY_CHANGE = st.one_of(
    st.builds(WholeFile, PATHS, TEXTS, reason=REASONS),
    st.builds(EditedFile, PATHS, EDITS, reason=REASONS),
    st.builds(Deletion, PATHS, reason=REASONS),
)


@pytest.mark.slow
@given(st.lists(ANY_CHANGE, max_size=5, unique_by=lambda change: change.path))
def test_what_is_rendered_reads_back_equal(changes: list[Change]) -> None:
    assert parse_changes(render_changes(changes)) == Changes(tuple(changes))


@given(TEXTS)
def test_any_answer_is_read_with_positions_in_it(text: str) -> None:
    read = parse_changes(text)
    last = text.count("\n") + 1
    places = [*read.changes, *read.problems, *read.unnamed]
    assert all(1 <= place.line <= last for place in places)


@pytest.mark.parametrize("info", ["```\x1b<>p/", "path=`a/b`", "text path=a`b/c.py"])
def test_a_backtick_in_the_info_of_a_fence_is_part_of_no_path(info: str) -> None:
    assert parse_changes(f"~~~{info}\nx\n~~~\n").changes == ()
