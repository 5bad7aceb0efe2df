"""Nothing but one clear approval is an approval, whatever stands around it, and reading
stays linear.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.verdict import Decision, VerdictError, read_verdict
from tests.documents.verdicts.bases import (
    APPROVALS,
    APPROVED,
    COVERED_APPROVED,
    OBJECT,
    OPENING,
    TIERS,
    boxes,
)
from tests.documents.verdicts.prose import PROSE

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
OTHER = [
    "Some words about the design.",
    "## Notes\n\n- a point\n- another point",
    "## Tier 3: SUGGESTIONS\n\n- **Naming:** be brief.",
    "## Tier 1: BLOCKING Issues\n\n### Cost\n- [ ] No issues found.",
    "## Questions for Orchestrator\n\n1. None.",
    "```python\nverdict = 'REVISE'\n```",
    "> **Verdict:** REVISE",
    "---",
    *PROSE.values(),
]
JUNK = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "# ",
                "## Verdict",
                "\n",
                "\n\n",
                "- [x] ",
                "[x] ",
                "**",
                "REVISE",
                "Verdict: ",
                "```",
                "> ",
            ]
        ),
        st.sampled_from(
            [
                "~~",
                "`",
                "<!--",
                "-->",
                "{",
                "}",
                '"decision"',
                ":",
                " ",
                "    ",
                "\x00",
                "\ud800",
                "☑ ",
            ]
        ),
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


@given(st.lists(st.sampled_from(NO_APPROVALS + OTHER), max_size=8))
def test_text_without_an_approval_of_the_form_is_never_approved(
    parts: list[str],
) -> None:
    assert decide("\n\n".join(parts)) is not Decision.APPROVED


@given(
    st.lists(st.sampled_from(NO_APPROVALS + OTHER), max_size=4),
    st.sampled_from([OPENING + TIERS + boxes("r"), OBJECT % "REVISE"]),
    st.lists(st.sampled_from(NO_APPROVALS + OTHER), max_size=4),
)
def test_no_text_around_a_rejection_makes_an_approval(
    before: list[str], rejection: str, after: list[str]
) -> None:
    text = "\n\n".join([*before, rejection, *after])
    assert decide(text) is not Decision.APPROVED


@given(
    st.lists(st.sampled_from(NO_APPROVALS + OTHER), max_size=2),
    st.sampled_from(sorted(APPROVALS.values())),
    st.lists(st.sampled_from(NO_APPROVALS + OTHER), max_size=2),
)
def test_an_approval_among_other_text_is_not_one(
    before: list[str], approval: str, after: list[str]
) -> None:
    text = "\n\n".join([*before, approval, *after])
    is_alone = not before and not after
    assert (decide(text) is Decision.APPROVED) == is_alone


@given(JUNK)
def test_junk_is_never_approved_and_never_breaks_the_reader(junk: str) -> None:
    assert decide(junk) is not Decision.APPROVED


@given(JUNK, st.sampled_from(sorted(APPROVALS.values())))
def test_junk_around_an_approval_leaves_nothing_of_it(junk: str, approval: str) -> None:
    is_blank = not junk.strip().strip("\ufeff")
    for text in (f"{junk}\n\n{approval}", f"{approval}\n\n{junk}"):
        assert is_blank or decide(text) is not Decision.APPROVED


def _has_one_approval(text: str) -> bool:
    """Tell by plain rules whether exactly one box for approval is checked in the open,
    and no other box.
    """
    approvals, others, is_code = 0, 0, False
    for line in re.sub(r"<!--.*?(-->|\Z)", "", text, flags=re.DOTALL).split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        match = re.match(
            r" {0,3}(?:[-*] )?\[([xX])\] \**(APPROVED|REVISE|DISCUSS)", line
        )
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
            lines[place] = (
                lines[place].replace("[ ]", "[x]")
                if "[ ]" in lines[place]
                else lines[place]
            )
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
def test_an_edited_approval_stays_one_only_when_one_clear_approval_is_left(
    seed: int,
) -> None:
    chance = random.Random(seed)
    bases = [APPROVED, COVERED_APPROVED, APPROVED.replace("\n[", "\n- [")]
    for _ in range(40):
        text = chance.choice(bases)
        for _ in range(chance.randrange(1, 4)):
            text = _edit(text, chance)
        if decide(text) is Decision.APPROVED:
            assert _has_one_approval(text), text


@pytest.mark.parametrize("name", sorted(APPROVALS))
def test_an_answer_that_is_cut_off_is_never_approved(name: str) -> None:
    whole = APPROVALS[name]
    for length in range(len(whole)):
        assert decide(whole[:length]) is not Decision.APPROVED, whole[:length]


UNITS = (
    *("`", "```\n", "`a`", "~~~\n", "<!---->", "<think>", "> ", "\\", "**", "~~"),
    *("[x] **APPROVED**\n", "- a\n", "  - a\n", "x\n", "# a\n", "### Cost\n", "a, "),
    *("{\n", "[\n", "[{", "[{\n", '{"a": 1}\n', '"', '"\\', ',"\\"', "//", ",//", ", "),
    *('{"verdict": ', '{"decision": "APPROVED",\n', "| a | b |\n", "|", "\\|", "&#38;"),
    *("**resolved:", "- a **resolved:\n", "Section 1", "**F1** (", "No issues found. "),
)


def _count_calls(work: Callable[[], Any]) -> int:
    """Count the calls that a piece of work makes, which do not depend on the machine's
    load.
    """
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


PLACES = {
    "alone": "{}",
    "summary": "## Summary\n\n{}",
    "tier": APPROVED.replace("- **Naming:**", "- {}"),
    "resolved": COVERED_APPROVED.replace("~~May two", "{}"),
    "coverage": COVERED_APPROVED.replace("Every retry", "{}"),
    "verdict": APPROVED.replace("## Verdict\n", "## Verdict\n{}"),
    "after an object": f"{OBJECT % 'APPROVED'}\n{{}}".replace("{\n", "{{\n", 1),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("place", sorted(PLACES))
def test_work_grows_no_faster_than_the_text(unit: str, place: str) -> None:
    def count(times: int) -> int:
        text = PLACES[place].replace("{}", unit * times)
        return _count_calls(lambda: decide(text))

    assert count(600) <= 2.5 * count(300) + 200


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("place", sorted(PLACES))
def test_a_long_repetition_is_read_in_a_moment(unit: str, place: str) -> None:
    text = PLACES[place].replace("{}", unit * (200_000 // len(unit)))
    started = time.process_time()
    decide(text)
    assert time.process_time() - started < 2


def test_two_megabytes_are_read() -> None:
    finding = "- A long review, with `code` and *stress*. " + "Word. " * 1_000 + "\n"
    tiers = TIERS.replace("- **Naming:**", f"{finding * 350}- **Naming:**")
    assert decide(OPENING + tiers + boxes("a")) is Decision.APPROVED
    assert decide("[" * 2_000_000) is None
    assert decide('{"decision": ' * 150_000) is None
    assert decide("> " * 1_000_000) is None
