"""How looks are read from the answer of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentos.repository.look import looks_in
from tests.repository.look.repositories import look, write


def test_a_fenced_block_asks() -> None:
    answer = (
        "I need to see two things first.\n\n"
        "```look\nread a.py 1-20\n\nsearch x\n```\nThanks."
    )
    assert looks_in(answer) == ("read a.py 1-20", "search x")


@pytest.mark.parametrize(
    "answer",
    [
        "~~~look\nread a.py\n~~~",
        "```Look\nread a.py\n```",
        "```looks\nread a.py\n```",
        "``` look\nread a.py\n```",
        "````look\nread a.py\n````",
        "- so:\n\n  ```look\n  read a.py\n  ```",
        "```look\nread a.py",
        "```look\r\nread a.py\r\n```\r\n",
    ],
)
def test_variants_of_the_fence(answer: str) -> None:
    assert looks_in(answer) == ("read a.py",)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "read a.py",
        "# Design\n\nlook\n\nread a.py\n",
        "```python\nlook = 1\n```",
        "```\nlook\nread a.py\n```",
        "````markdown\n```look\nread a.py\n```\n````",
        "    ```look\n    read a.py\n    ```",
    ],
)
def test_what_asks_for_nothing(answer: str) -> None:
    assert looks_in(answer) is None


def test_an_empty_block_asks_for_nothing_but_is_one() -> None:
    assert looks_in("```look\n\n```") == ()


def test_two_blocks_are_taken_together() -> None:
    answer = "```look\nread a.py\n```\n```python\nx\n```\n```look\nread b.py\n```"
    assert looks_in(answer) == ("read a.py", "read b.py")


@pytest.mark.parametrize(
    "line",
    [
        "read a.py 2-3",
        "- read a.py 2-3",
        "* read a.py 2-3",
        "1. read a.py 2-3",
        "2) read a.py 2-3",
        "(3) read a.py 2-3",
        "> read a.py 2-3",
        "$ read a.py 2-3",
        "`read a.py 2-3`",
        "- `read a.py 2-3`",
        '"read a.py 2-3"',
        "READ a.py 2-3",
        "Read: a.py 2-3",
        "**read** a.py 2-3",
        "read `a.py` 2-3",
        'read "a.py" 2-3',
        "read a.py:2-3",
        "read a.py L2-L3",
        "read a.py 2:3",
        "read a.py 2 3",
        "read a.py 2 to 3",
        "read a.py 2 \u2013 3",
        "read a.py 2, 3",
        "  read   a.py   2-3  ",
        "read ./a.py 2-3",
    ],
)
def test_a_look_may_be_written_in_many_ways(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"a.py": "one\ntwo\nthree\nfour\n"})
    text = look(tmp_path, line)
    assert "lines 2-3 of 4:\n    2| two\n    3| three\n" in text


def test_paths_with_spaces(tmp_path: Path) -> None:
    write(tmp_path, {"my notes 2.md": "one\ntwo\n", "my folder/a.py": "x\n"})
    text = look(
        tmp_path,
        "read my notes 2.md 1",
        "outline my notes 2.md",
        "read 'my notes 2.md'",
    )
    assert text.count("lines 1-") == 2
    assert "1 hit in 1 file" in look(tmp_path, "search 'x' my folder")


def test_an_unknown_verb_is_told_what_there_is(tmp_path: Path) -> None:
    text = look(tmp_path, "cat a.py", "", "# why", "read")
    assert text.startswith(
        "look 1: cat a.py\n"
        "no such look; the looks are: outline PATH; read PATH 120-220,300-340;"
        " search TEXT [PATH]; symbol NAME; tests NAME; history PATH\n\n"
        "look 2: read\nincomplete; write read PATH 120-220,300-340\n\n"
    )


def test_lines_of_a_field_may_hold_several_looks(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x\n"})
    text = look(tmp_path, "read a.py\nsearch x")
    assert "look 2: search x" in text
