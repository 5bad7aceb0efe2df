"""What a report says reaches a reader of a pull request, and nothing of it reaches
GitHub as an order.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentos.repository.forge.pulls.body import neutralize, write_body, write_title

MARKS = st.lists(
    st.sampled_from(
        [
            "@",
            "#",
            "&#64;",
            "&commat;",
            "\\",
            "<",
            "<!--",
            "GH",
            "gh-",
            "https",
            ":",
            "//",
            "www",
            ".",
        ]
    )
    | st.sampled_from(
        [
            "1",
            "42",
            "a",
            " ",
            "\n",
            "```",
            "~~~",
            "# T",
            "-",
            "\u200b",
            "\r",
            "\x00",
            "é",
            "|",
        ]
    ),
    max_size=40,
).map("".join)
ORDERS = re.compile(
    r"@[A-Za-z0-9]|#\d|\bgh\\?-\d|https?\\?:|www\\?\.|<[!?/A-Za-z]|&[#A-Za-z]|[\x00-\x08\x0b-\x1f]",
    re.IGNORECASE,
)


@given(MARKS)
def test_nothing_that_github_acts_on_is_left(text: str) -> None:
    assert not ORDERS.search(neutralize(text))


@given(st.text(alphabet="abc xyz,.;!?()[]*_`~|=+-/%\n", max_size=200))
def test_plain_text_is_not_changed(text: str) -> None:
    assert neutralize(text) == text


@pytest.mark.slow
@given(MARKS, MARKS, st.integers(400, 900))
@example("", "@\n```\n```@", 400)
def test_a_body_is_within_its_limit_and_shows_the_second_report(
    one: str, two: str, limit: int
) -> None:
    body = write_body(
        "Closes #4",
        [one, f"# Second\n\n{two}", "## Long\n" + "x\n" * 1000],
        "`docs`",
        "GitHub",
        limit,
    )
    assert len(body) <= limit
    assert body.startswith("Closes #4\n\n")
    assert (
        f"*Cut here, as GitHub takes {limit:,} characters. The whole is in `docs`.*"
        in body
    )


@pytest.mark.parametrize("fence", ["```", "~~~~", "   ```python"])
def test_a_fence_that_nobody_closes_does_not_swallow_the_next_report(
    fence: str,
) -> None:
    body = write_body(
        "", [f"# One\n\n{fence}\ncode", "# Two\n"], "`docs`", "GitHub", 65_536
    )
    assert fence.strip() in body
    assert not any(
        row.lstrip(" ").startswith(("```", "~~~")) for row in body.split("\n")
    )
    closed = write_body(
        "", ["# One\n\n```\ncode\n```\n", "# Two\n"], "`docs`", "GitHub", 65_536
    )
    assert "\n```\ncode\n```\n" in closed


def test_it_is_cut_at_a_heading_and_not_in_a_block_of_code() -> None:
    report = "# One\n\ntext\n\n## Two\n\n```\n# no heading\n" + "code\n" * 100 + "```\n"
    body = write_body("", [report], "`docs`", "GitHub", 300)
    assert body.startswith("# One\n\ntext\n\n\n---\n\n*Cut here")
    assert "no heading" not in body


def test_a_title_is_one_line_of_bounded_length_with_the_number() -> None:
    assert (
        write_title("Export\n the  shelf", "LLD-42", 256) == "Export the shelf (LLD-42)"
    )
    assert write_title("", "LLD-42", 256) == "LLD-42"
    long = write_title("word " * 100, "LLD-42", 256)
    assert len(long) == 256
    assert long.endswith("... (LLD-42)")
