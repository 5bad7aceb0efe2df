"""What speaks against an approval is found wherever it stands, however much prose is around it."""

from __future__ import annotations

import re
import string
import sys

import pytest

from agentos.documents.verdict import Decision, VerdictError, read_verdict
from agentos.documents.verdict.decisions import read_decision
from agentos.documents.verdict.marks import bare, low_letters, show
from agentos.documents.verdict.vocabulary import LEAD, PHRASES

APPROVED = "# Review\n\n## Verdict\n\n[x] **APPROVED** - Ready for implementation\n\n## Notes\n\n"
ROW = "The ledger keeps every retry with its cause, so a later run can see what was tried.\n"
AGAINST = (
    "I withdraw my approval.",
    "Having read on, I REVOKE THE DECISION.",
    "The lock must be fixed.",
    "This is not yet ready.",
    "One blocking issue remains open.",
    "There is 1 Tier-1 problem: the token is logged.",
    "The retry path needs a change.",
    "Please fix section 5 first.",
    "With the open lock this is REJECTED for me.",
    "For me this stays a DISCUSS.",
    "Ignore that.",
    "Do not merge this.",
    "You don\u2019t yet proceed.",
    "The lock has to be fixed before the merge.",
    "The implementation mu\u017ft wait.",
    "The verd\u0131ct above is wrong; I am changing my verdict.",
    "**Revised ver**dict: REVISE",
    "My decision, on reflection: Revise",
)


@pytest.mark.parametrize("said", AGAINST)
@pytest.mark.parametrize("gap", ["", "\n"], ids=["in a paragraph", "on its own"])
def test_a_contradiction_within_long_prose_is_found(said: str, gap: str) -> None:
    with pytest.raises(VerdictError):
        read_verdict(f"{APPROVED}{ROW * 300}{gap}{said}\n{gap}{ROW * 300}")


def test_long_prose_alone_leaves_an_approval_as_it_is() -> None:
    assert read_verdict(APPROVED + ROW * 600).decision is Decision.APPROVED


def test_low_letters_meet_what_a_pattern_without_regard_to_case_meets() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    found = {letter: set(re.findall(letter, everything, re.IGNORECASE)) for letter in string.ascii_lowercase}
    lowered = low_letters(everything)
    assert len(lowered) == len(everything)
    for letter, members in found.items():
        assert {one for one, low in zip(everything, lowered, strict=True) if low == letter} == members


@pytest.mark.parametrize("text", ["", " ", "a b", "a  b", " a", "a ", "a\tb", "a\u00a0b", 'x: "y" (z) - 1/2, [3; #4!'])
def test_a_text_without_marks_is_bare_already(text: str) -> None:
    assert bare(text) == show(text)


def test_no_space_or_unseen_character_passes_for_a_plain_one() -> None:
    for text in (f"a{chr(code)}b" for code in (*range(0x3100), *range(0xFE00, 0x10000), 0x1F600)):
        if not re.search(r"[\\<~*_\]]", text):
            assert bare(text) == show(text)


@pytest.mark.parametrize("phrase", [" ".join(words) for words in PHRASES])
def test_every_phrase_is_found_behind_as_many_words_as_may_lead_to_it(phrase: str) -> None:
    lead = [word for word in sorted(LEAD) if word not in ("i", "we")][:10]
    assert read_decision(phrase) is not None
    assert read_decision(" ".join([*lead, phrase])) is not None
    assert read_decision(" ".join([*lead, "this", phrase])) is None
