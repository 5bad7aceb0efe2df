"""Nothing but one clear approval is an approval, whatever stands around it, and reading stays linear."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.verdict import Decision, VerdictError, read_verdict
from tests.documents.verdicts.bases import APPROVED, COVERAGE, ENDINGS, OPENING, SHORT, TIERS, boxes

NO_APPROVALS = [
    "The word APPROVED is only named here.",
    "> [x] **APPROVED** - said the draft",
    "> ## Verdict\n> APPROVED",
    "`[x] **APPROVED**`",
    "[ ] **APPROVED** - Ready for implementation",
    "- [ ] APPROVED",
    "```\n## Verdict\n[x] **APPROVED**\n```",
    "<!-- **Verdict:** APPROVED -->",
    "~~**Verdict:** APPROVED~~",
    "    **Verdict:** APPROVED",
    "## Previous Verdict\n\nAPPROVED",
    "## Requirement Coverage\n\n**Verdict:** PASS",
    "- The author writes:\n  - [x] APPROVED",
    "- **Approved list:** the allowed hosts",
    "| Review | Verdict |\n|---|---|\n| 1 | APPROVED |",
    "**Status of the draft:** APPROVED",
    "<del>\n[x] APPROVED\n</del>",
]
HARMLESS = [
    "Some words about the design.",
    "## Notes\n\n- a point\n- another point",
    "## Strengths\n\n- The files are named.",
    "## Tier 3: SUGGESTIONS\n\n- **Naming:** be brief.",
    "## Tier 1: BLOCKING Issues\n\n### Cost\n- [ ] No issues found.",
    "## Questions for Orchestrator\n\n1. None.",
    "```python\nverdict = 'REVISE'\n```",
    "> **Verdict:** REVISE",
    "## Notes\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "---",
    COVERAGE.replace("- | ✗ Not covered", "T040 | ✓ Covered").strip(),
    "## Identity Confirmation\nI am the reviewer.",
    "<!-- [x] **REVISE** -->",
]
JUNK = st.lists(
    st.one_of(
        st.sampled_from(["# ", "## Verdict", "\n", "\n\n", "- [x] ", "[x] ", "**", "REVISE", "Verdict: ", "```", "> "]),
        st.sampled_from(["~~", "`", "<!--", "-->", "{", "}", '"decision"', ":", " ", "    ", "\x00", "\ud800", "☑ "]),
        st.text(max_size=8),
    ),
    max_size=40,
).map("".join)


def decide(text: str) -> Decision | None:
    try:
        return read_verdict(text).decision
    except VerdictError as error:
        if error.line > text.count("\n") + text.count("\r") + 1:
            raise AssertionError("the error names a line that is not there") from error
        return None


@given(st.lists(st.sampled_from(NO_APPROVALS), max_size=8))
def test_text_without_a_clear_approval_is_never_approved(parts: list[str]) -> None:
    assert decide("\n\n".join([SHORT, *parts])) is not Decision.APPROVED


@given(st.lists(st.sampled_from(NO_APPROVALS + HARMLESS), max_size=6), st.lists(st.sampled_from(HARMLESS), max_size=3))
def test_no_text_around_a_rejection_makes_an_approval(before: list[str], after: list[str]) -> None:
    assert decide("\n\n".join([SHORT, *before, boxes("r").strip(), *after])) is not Decision.APPROVED


@given(st.sampled_from(sorted(ENDINGS)), st.lists(st.sampled_from(HARMLESS), max_size=6))
def test_a_clear_approval_among_harmless_sections_is_found(ending: str, before: list[str]) -> None:
    text = "\n\n".join([SHORT.strip(), *before, "## Assessment", ENDINGS[ending]])
    assert decide(text) is Decision.APPROVED


@given(JUNK)
def test_junk_is_never_approved_and_never_breaks_the_reader(junk: str) -> None:
    assert decide(junk) is not Decision.APPROVED


@given(JUNK, st.sampled_from(sorted(ENDINGS)))
def test_junk_around_an_approval_raises_nothing_but_verdict_errors(junk: str, ending: str) -> None:
    decide(junk + "\n\n" + ENDINGS[ending])
    decide(ENDINGS[ending] + "\n\n" + junk)


def _has_one_approval(text: str) -> bool:
    """Tell by plain rules whether exactly one box for approval is checked in the open, and no other box."""
    approvals, others, is_code = 0, 0, False
    for line in re.sub(r"<!--.*?(-->|\Z)", "", text, flags=re.DOTALL).split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        match = re.match(r" {0,3}(?:[-*] )?\[([xX])\] \**(APPROVED|REVISE|DISCUSS)", line)
        if is_code or match is None:
            continue
        approvals += match[2] == "APPROVED"
        others += match[2] != "APPROVED"
    return approvals == 1 and others == 0 and not is_code


def _edit(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    place = chance.randrange(len(lines))
    match chance.randrange(9):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[place])
        case 2:
            lines[place] = lines[place].replace("[ ]", "[x]") if "[ ]" in lines[place] else lines[place]
        case 3:
            lines[place] = lines[place].replace("[x]", "[ ]")
        case 4:
            lines[place] = f"> {lines[place]}"
        case 5:
            lines.insert(place, "```")
        case 6:
            return text[: chance.randrange(len(text) + 1)]
        case 7:
            lines[place] = f"~~{lines[place]}~~"
        case _:
            lines[place] = f"<!-- {lines[place]} -->"
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(20))
def test_an_edited_approval_stays_one_only_when_one_clear_approval_is_left(seed: int) -> None:
    chance = random.Random(seed)
    bases = [APPROVED, OPENING + COVERAGE + TIERS + boxes("a"), SHORT + ENDINGS["listed boxes"]]
    for _ in range(40):
        text = chance.choice(bases)
        for _ in range(chance.randrange(1, 4)):
            text = _edit(text, chance)
        if decide(text) is Decision.APPROVED:
            assert _has_one_approval(text), text


@pytest.mark.parametrize("text", [APPROVED, SHORT + ENDINGS["listed boxes"]], ids=["whole form", "short"])
def test_an_answer_cut_before_its_verdict_is_never_approved(text: str) -> None:
    end = text.index("APPROVED**") + len("APPROVED**")
    for length in range(max(0, end - 400), end):
        assert decide(text[:length]) is not Decision.APPROVED


UNITS = [
    *(
        "`a`",
        "<!---->",
        "[x] ",
        "\\[x\\] ",
        "☐ ",
        "**",
        "~~",
        "&#38;",
        "<del>",
        "a, ",
        "APPROVED with notes and ",
        "> ",
    ),
    *("[x] A\n", "APPROVED\n", "Verdict: APPROVED\n", "{\n", '{"a": 1}\n', "```\n", "- a\n", "  - a\n", "x\n", "# a\n"),
    *(
        "**Verdict:**\n",
        "## Tier 1\n### a\n",
        "`\n",
        '"\\',
        "| a | b |\n",
        "## Open questions resolved\n- a resolved: b\n",
    ),
    *(
        "[a](b)",
        "[a",
        "Verdict\n",
        "one blocking, ",
        "must be ",
        "REVISE was ",
        "The author wrote:\n",
        "All resolved. ",
    ),
    *("<verdict>", "<think>", '{"verdict": ', ',"\\"', "//", "[{", "There is no ", "It is. ", "APPROVED because a "),
]


def _count_calls(work: Callable[[], Any]) -> int:
    """Count the calls that a piece of work makes, which do not depend on the machine's load."""
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", UNITS)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    small = _count_calls(lambda: decide("## Verdict\n\n" + unit * 300))
    large = _count_calls(lambda: decide("## Verdict\n\n" + unit * 600))
    assert large <= 2.5 * small + 200


def test_two_megabytes_are_read() -> None:
    filler = "A line of a long review, with `code` and *stress*.\n" * 20_000
    assert decide(OPENING + "\n## Analysis\n\n" + filler * 2 + TIERS + boxes("a")) is Decision.APPROVED
    assert decide("[" * 2_000_000) is None
    assert decide('{"decision": ' * 150_000) is None
    assert decide("> " * 1_000_000) is None
