"""What holds for every text: nothing raises, nothing is lost, the same design is read
whatever its dress.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.documents.issue import parse_issue
from agentos.documents.lld import (
    SECTION_TITLES,
    check_lld,
    parse_lld,
    unwrap,
)
from agentos.documents.tables import render_table
from tests.documents.llds.corpus import (
    BASE,
    ISSUE,
    LOGGED,
    UNCITED,
    Files,
    edit,
    fenced,
    headings,
    section,
)

SOURCE = parse_issue(ISSUE)
MARKS = st.sampled_from(
    [
        *(
            "#",
            "##",
            "###",
            "```",
            "~~~",
            "````markdown",
            "- ",
            "1. ",
            "|",
            "\\|",
            "\\",
            "<!--",
            "-->",
            "`",
            "x",
            " ",
        ),
        *(
            "\n",
            "\r\n",
            "\n\n",
            "[ ] ",
            "[x] ",
            "|---|",
            "| a | b |\n|---|---|\n",
            "===",
            "---",
            "\t",
            "\u2003",
            "\ufeff",
        ),
        *(
            "## 3. Requirements\n",
            "## 10. Testing\n",
            "### 10.1 x\n",
            "Here is the LLD:\n",
            "Let me know\n",
            "<<<X\n",
        ),
        *(
            "# 7 - T\n",
            "## Review Log\n",
            "## Original Issue\n",
            "| ID | Expected |\n",
            "**Status:** x\n",
            "R1: ",
            "...",
        ),
    ]
)
HOSTILE = st.lists(st.one_of(MARKS, st.text(max_size=6)), max_size=60).map("".join)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(HOSTILE)
def test_no_text_breaks_the_reader_or_the_rules(text: str) -> None:
    lld = parse_lld(text)
    check_lld(lld, SOURCE, lld, Files())
    check_lld(parse_lld(BASE), SOURCE, lld)


@settings(deadline=None, max_examples=80)
@given(st.text(max_size=300))
def test_any_characters_at_all_are_read(text: str) -> None:
    check_lld(parse_lld(text), SOURCE, parse_lld(BASE), Files())


@settings(deadline=None, max_examples=80)
@given(HOSTILE)
def test_unwrapping_twice_changes_nothing(text: str) -> None:
    assert unwrap(unwrap(text)) == unwrap(text)


WORDS = (
    st.text(alphabet="abc xyz`*_.,äß", min_size=1, max_size=30)
    .map(str.strip)
    .filter(bool)
)
LINE = WORDS.filter(lambda text: text[0] in "abcxyzäß")
CELL = st.text(alphabet="abc|`x -", max_size=12).map(str.strip)
AROUND = st.sampled_from(
    [
        "",
        "Some words.\n\n",
        "```python\n## 3. Requirements\n1. hidden\n```\n\n",
        "<!-- hidden\n## 3. Requirements\n-->\n\n",
        "<details>\n## 3. Requirements\n</details>\n\n",
        "- an item\n\n  ```\n  ## 3. Requirements\n  ```\n\n",
    ]
)


@st.composite
def designs(draw: st.DrawFn) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Write a design, and return its requirements and its risks with it."""
    requirements = draw(st.lists(LINE, max_size=4, unique=True))
    risks = draw(st.lists(st.tuples(LINE, CELL), max_size=4))
    listed = "".join(f"{n}. {text}\n" for n, text in enumerate(requirements, 1))
    table = render_table(("Risk", "Mitigation"), risks)
    text = f"# {draw(st.integers(1, 999))} - {draw(LINE)}\n\n{draw(AROUND)}"
    for number, title in SECTION_TITLES.items():
        heading = st.sampled_from([f"## {number}. {title}\n\n", f"{title}\n---\n\n"])
        text += draw(heading)
        if number == 3:
            text += listed
        else:
            text += draw(AROUND)
        if number == 11:
            text += table
        text += "\n\n"
    return text, requirements, risks


@settings(deadline=None, max_examples=60)
@given(designs())
def test_a_design_made_of_data_is_read_as_that_data(
    made: tuple[str, list[str], list[tuple[str, str]]],
) -> None:
    text, requirements, risks = made
    lld = parse_lld(text)
    assert list(lld.sections) == list(SECTION_TITLES)
    assert [requirement.text for requirement in lld.requirements] == requirements
    assert [(risk.risk, risk.mitigation) for risk in lld.risks] == risks
    for found in lld.sections.values():
        assert text.split("\n")[found.line - 1].endswith(found.title)


def spread(text: str) -> str:
    return text.replace("\n\n", "\n\n\n\n")


HARMLESS: list[Callable[[str], str]] = [
    spread,
    lambda text: "\n".join(row + "   " for row in text.split("\n")),
    lambda text: headings(lambda n, t: f"## {n}) {t}", text),
    lambda text: headings(lambda _, t: f"## {t}", text),
    lambda text: headings(lambda n, t: f"## **Section {n + 3}: {t}**", text),
    lambda text: text.replace(" | ", "  |  "),
    lambda text: text.replace("\n|--", "\n| :--"),
]
WRAPPERS: list[Callable[[str], str]] = [
    lambda text: text,
    fenced,
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "Here is the LLD:\n\n" + text,
    lambda text: (
        "Certainly!\n\n" + fenced(text, mark="````") + "\nLet me know what you think.\n"
    ),
    lambda text: text + "\n\nFeel free to ask for changes.\n",
]
HARMFUL: dict[str, Callable[[str], str]] = {
    "missing-section-9": lambda text: edit((section(9, text), ""), base=text),
    "empty-section-5": lambda text: edit(
        (section(5, text), "## 5. Data & Fixtures\n\n"), base=text
    ),
    "hint-placeholder-7": lambda text: edit(
        ("readable by the depot user alone", "TBD"), base=text
    ),
    "unfilled-7": lambda text: edit(
        ("readable by the depot user alone", "<fill in: by whom>"), base=text
    ),
    "no-rationale-where-labels-wait": lambda text: edit(
        ("| A power cut must not lose one |", "|  |"), base=text
    ),
    "no-expected-010": lambda text: edit(
        ("| one label | within", "|  | within"), base=text
    ),
    "scenario-id-030": lambda text: edit(("| 040 |", "| 030 |"), base=text),
    "path-1": lambda text: edit(
        ("`depot/labels.py` | Add", "`../labels.py` | Add"), base=text
    ),
    "lost-section-2.5": lambda text: edit(("### 2.5 Logic Flow", "Flow:"), base=text),
    "hint-criterion-2": lambda text: edit(
        ("A crate that has a label is not printed again", "Fast"), base=text
    ),
    "hint-folder-path-depto/labels.py": lambda text: edit(
        ("`depot/labels.py` | Add", "`depto/labels.py` | Add"), base=text
    ),
}
SHAPES = st.tuples(
    st.sampled_from([BASE, LOGGED, UNCITED]),
    st.lists(st.sampled_from(HARMLESS), max_size=3, unique_by=id),
    st.sampled_from(WRAPPERS),
)


def dress(
    text: str, changes: list[Callable[[str], str]], wrap: Callable[[str], str]
) -> str:
    for change in changes:
        text = change(text)
    return wrap(text)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(SHAPES)
def test_a_clean_design_stays_clean_in_any_dress(
    shape: tuple[str, list[Callable[[str], str]], Callable[[str], str]],
) -> None:
    base, changes, wrap = shape
    lld = parse_lld(dress(base, changes, wrap))
    assert check_lld(lld, SOURCE, parse_lld(base), Files()) == ()
    assert lld.requirements == parse_lld(base).requirements
    assert lld.scenarios == parse_lld(base).scenarios


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(SHAPES, st.sampled_from(sorted(HARMFUL)))
def test_a_flaw_is_found_in_any_dress(
    shape: tuple[str, list[Callable[[str], str]], Callable[[str], str]], flaw: str
) -> None:
    base, changes, wrap = shape
    text = dress(HARMFUL[flaw](base), changes, wrap)
    assert flaw in {
        finding.id
        for finding in check_lld(parse_lld(text), SOURCE, parse_lld(base), Files())
    }


PARAGRAPHS = st.lists(
    st.one_of(LINE, LINE.map("- {}".format), LINE.map("| {} |".format)),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=80)
@given(PARAGRAPHS, st.sampled_from(WRAPPERS))
def test_unwrapping_keeps_every_line_of_the_document(
    rows: list[str], wrap: Callable[[str], str]
) -> None:
    text = "# 7 - Title\n\n" + "\n\n".join(rows) + "\n\n```text\ncode\n```\n"
    assert unwrap(wrap(text)) == text


def test_an_open_fence_around_the_document_is_kept_so_that_the_cut_shows() -> None:
    text = unwrap("Here is the LLD:\n\n```markdown\n" + BASE)
    assert text.startswith("```markdown\n# 51")
    assert "truncated" in {
        finding.id for finding in check_lld(parse_lld(text), SOURCE, None)
    }


def test_code_at_the_end_of_a_fenced_document_is_not_taken_for_its_end() -> None:
    text = "```markdown\n# 7 - T\n\n### 2.5 Logic Flow\n\n```\nWait for a scan"
    assert "Wait for a scan" in unwrap(text)


def count_calls(function: Callable[[str], object], text: str) -> int:
    """Return how many functions are called, those of the interpreter included."""
    calls = 0

    def tick(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        function(text)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "```\n",
            "# x\n",
            "## 3. Requirements\n1. a\n",
            "- a\n",
            "| a | b |\n|---|---|\n",
            "<!-- a -->\n",
            "<!--",
            "\n",
        ),
        *(
            "let me know\n\n",
            "| x |\n",
            "`",
            "``` a\n",
            "> x\n",
            "## Review Log\n",
            "## Original Issue\n",
            "1. a\n\n",
            BASE,
        ),
    ],
    ids=repr,
)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    size = max(4, 8_000 // len(unit))

    def work(text: str) -> object:
        lld = parse_lld(text)
        return check_lld(lld, SOURCE, lld, Files()), unwrap(text)

    assert (
        count_calls(work, unit * 2 * size)
        <= 2.5 * count_calls(work, unit * size) + 2_000
    )


@pytest.mark.slow
def test_a_megabyte_is_read() -> None:
    for text in (
        BASE * 200,
        "| a " * 250_000,
        " #" * 500_000,
        "|" * 500_000 + "\n|-|\n" + "|\n" * 200_000,
    ):
        assert parse_lld(text).text == text


def test_a_log_is_read_as_data() -> None:
    log = parse_lld(LOGGED).log
    assert log is not None
    assert log.final_status == "APPROVED"
    assert log.summary == (("#1", "2026-03-01", "REVISE", "Power cut"),)
    (review,) = log.reviews
    assert (review.number, review.reviewer, review.date, review.verdict) == (
        1,
        "second model",
        "2026-03-01",
        "REVISE",
    )
    assert review.summary == "The power cut was not tested."
    assert [(comment.id, comment.outcome) for comment in review.comments] == [
        ("C1", "YES - scenario 040"),
        ("C2", "NOTED"),
    ]


def test_what_follows_the_log_is_kept_apart() -> None:
    lld = parse_lld(LOGGED + "\n## Original GitHub Issue #51\n\n" + ISSUE)
    assert lld.trailing.startswith("## Original GitHub Issue #51")
    assert lld.trailing_line == LOGGED.count("\n") + 2
    assert lld.sections[12].size < 10
