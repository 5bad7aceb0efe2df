"""Read a review in Markdown, which must have exactly this form.

    # Review: title
    ## Identity Confirmation          optional, ignored
    ## Pre-Flight Gate                optional, PASSED
    ## Review Summary                 prose
    ## Open Questions Resolved        optional, `- [x] question **Resolved:** answer`
    ## Requirement Coverage           optional, a table of four columns
    ## Tier 1: BLOCKING Issues        list items below a heading for each category
    ## Tier 2: HIGH PRIORITY Issues   the same
    ## Tier 3: SUGGESTIONS            the same
    ## Questions for Orchestrator     list items
    ## Verdict                        three boxes, exactly one of them checked

The sections come in this order, each at most once, and nothing follows the boxes. Code
fences, quotes and HTML are not part of the form, so nothing can be hidden or quoted in
it. Anything else raises `VerdictError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.verdict.model import (
    MAX_ENTRIES,
    MAX_TEXT,
    CoverageRow,
    Decision,
    ResolvedQuestion,
    Verdict,
    VerdictError,
    check_sense,
    number_findings,
)


class Part(StrEnum):
    """The sections of a review in their order, each with its title."""

    IDENTITY = "Identity confirmation"
    GATE = "Pre-flight gate"
    SUMMARY = "Summary"
    RESOLVED = "Open questions resolved"
    COVERAGE = "Requirement coverage"
    BLOCKING = "Tier 1: Blocking"
    HIGH = "Tier 2: High priority"
    SUGGESTIONS = "Tier 3: Suggestions"
    QUESTIONS = "Questions for a person"
    VERDICT = "Verdict"


TIERS = {
    Part.BLOCKING: Tier.BLOCKING,
    Part.HIGH: Tier.HIGH,
    Part.SUGGESTIONS: Tier.SUGGESTION,
}
BOXES = {
    Decision.APPROVED: "ready for implementation",
    Decision.REVISE: "fix the blocking and high-priority findings first",
    Decision.DISCUSS: "a person has to decide first",
}
SIMPLE_ID = re.compile(r"[A-Z]{1,4}-?\d{1,4}(?:\.\d{1,3}){0,3}")
OTHER_DECISION = re.compile(r"\b(?:REVISE|DISCUSS|REJECTED|BLOCKED)\b")

_ORDER = list(Part)
_REQUIRED = (Part.SUMMARY, *TIERS, Part.QUESTIONS, Part.VERDICT)
_PROSE = (Part.IDENTITY, Part.SUMMARY, Part.COVERAGE)
_TITLES = {
    "review summary": Part.SUMMARY,
    "requirement coverage analysis": Part.COVERAGE,
    "requirement coverage analysis (mandatory)": Part.COVERAGE,
    "tier 1: blocking issues": Part.BLOCKING,
    "tier 2: high priority issues": Part.HIGH,
    "questions for orchestrator": Part.QUESTIONS,
    **{part.casefold(): part for part in Part},
}
_KNOWN_COMMENTS = frozenset(
    {
        *BOXES.values(),
        "fix tier 1/2 issues first",
        "needs orchestrator decision",
    }
)
_NO_BLOCKERS = "no blocking issues found."
_NO_CONDITION = ("", "lld is approved for implementation.")

_FOREIGN = re.compile(r"\s*(?:```|~~~|<|>)|.*<!--")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ITEM = re.compile(r"(?:[-*]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_NOTHING = re.compile(
    r"(?:none|no (?:blocking |high[- ]priority )?(?:issues|findings|suggestions)"
    r"(?: found)?)\.?",
    re.IGNORECASE,
)
_OWN_FINDING = re.compile(
    rf"\*\*(?:({SIMPLE_ID.pattern})|\[([^\]]+)\])\*\*(?: \(([^()]*)\))?:(.*)"
)
_SECTION_NUMBER = re.compile(r"\bSection (\d{1,3}(?:\.\d{1,3}){0,4})", re.IGNORECASE)
_ANSWER = re.compile(r"(.*?)\*\*resolved:(?:\*\*(.*)|(.*)\*\*)", re.IGNORECASE)
_CELL_END = re.compile(r"(?<!\\)\|")
_TABLE_RULE = re.compile(r"[\s|:-]+")
_BOX = re.compile(r" {0,3}(?:[-*] )?\[([ xX])\] \*\*([A-Z]+)\*\*(?: - (.*))?")
_CHARACTER = re.compile(r"&#(\d{1,7});")
_HALF = re.compile("[\ud800-\udfff]")


class _Line(NamedTuple):
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class _Section:
    part: Part
    number: int = 0
    lines: list[_Line] = field(default_factory=list)
    """The lines that are not blank."""

    def ends_in_colon(self) -> bool:
        """Tell whether the section introduces the text below it."""
        if not self.lines:
            return False
        last = self.lines[-1]
        return last.text.rstrip().endswith(":")


def read_form(text: str) -> Verdict:
    """Read a review of exactly this form, or raise `VerdictError`."""
    sections = _split(text)
    for part in _REQUIRED:
        if part not in sections:
            raise VerdictError(f"the review has no section '{part}'")
    decision = _read_boxes(sections[Part.VERDICT])
    is_approval = decision is Decision.APPROVED
    if is_approval and Part.GATE in sections:
        _check_gate(sections[Part.GATE])
    findings: list[Finding] = []
    for part, tier in TIERS.items():
        findings += _read_tier(sections[part], tier, is_approval)
    coverage: list[CoverageRow] = []
    if Part.COVERAGE in sections:
        coverage += _read_coverage(sections[Part.COVERAGE], is_approval)
    resolved: list[ResolvedQuestion] = []
    if Part.RESOLVED in sections:
        resolved += _read_resolved(sections[Part.RESOLVED])
    verdict = Verdict(
        decision,
        _read_summary(sections[Part.SUMMARY], is_approval),
        number_findings(findings),
        tuple(resolved),
        tuple(_read_questions(sections[Part.QUESTIONS])),
        tuple(coverage),
    )
    check_sense(verdict)
    return verdict


def flat(text: str) -> str:
    """Return a text on one line with single spaces and without surrogates."""
    whole = _HALF.sub("\ufffd", text)
    return " ".join(whole.split())


def says_nothing(text: str) -> bool:
    """Tell whether a list item only says that the list is empty."""
    return _NOTHING.fullmatch(text.strip()) is not None


def _split(text: str) -> dict[Part, _Section]:
    """Return the sections of a review; refuse lines that do not fit the form."""
    sections: dict[Part, _Section] = {}
    current: _Section | None = None
    has_title = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith("## "):
            following = _open_section(line, number, current)
            sections[following.part] = following
            current = following
        elif _FOREIGN.match(line):
            raise VerdictError("a fence, quote or HTML is not part of a review", number)
        elif current is None:
            if has_title or not line.startswith("# "):
                raise VerdictError("neither a verdict object nor a review", number)
            has_title = True
        elif _HEADING.match(line) and current.part not in TIERS:
            raise VerdictError("an unknown heading", number)
        else:
            current.lines.append(_Line(number, line))
    return sections


def _open_section(line: str, number: int, last: _Section | None) -> _Section:
    title = " ".join(line[3:].split())
    part = _TITLES.get(title.casefold())
    if part is None:
        raise VerdictError(f"unknown section {title[:60]!r}", number)
    if last is not None:
        if _ORDER.index(part) <= _ORDER.index(last.part):
            raise VerdictError(f"section {title!r} is out of order", number)
        # "The draft says:" makes what follows somebody else's review.
        if last.part in _PROSE and last.ends_in_colon():
            raise VerdictError("what follows is introduced as a quote", number)
    return _Section(part, number)


def _read_boxes(section: _Section) -> Decision:
    """Return the decision of the one checked box; all three must be offered."""
    offered: list[str] = []
    checked: list[str] = []
    comments: set[str] = set()
    for number, line in section.lines:
        box = _BOX.fullmatch(line.rstrip())
        if box is None:
            raise VerdictError("the verdict must be three check boxes only", number)
        mark, name, comment = box.groups("")
        offered.append(name)
        comments.add(comment.casefold())
        if mark != " ":
            checked.append(name)
            if len(checked) > 1:
                raise VerdictError("two boxes are checked", number)
    if offered != list(Decision):
        raise VerdictError(
            "the verdict must offer APPROVED, REVISE and DISCUSS", section.number
        )
    if not checked:
        raise VerdictError("no box is checked", section.number)
    decision = Decision(checked[0])
    if decision is Decision.APPROVED and not comments <= _KNOWN_COMMENTS:
        raise VerdictError("the approval has a condition or is cut off", section.number)
    return decision


def _check_gate(section: _Section) -> None:
    for number, line in section.lines:
        if line.strip("*. ") != "PASSED":
            raise VerdictError(
                "APPROVED, but the pre-flight gate is not PASSED", number
            )


def _read_summary(section: _Section, is_approval: bool) -> str:
    texts = []
    for number, line in section.lines:
        if is_approval and OTHER_DECISION.search(line):
            raise VerdictError("APPROVED, but the summary decides otherwise", number)
        texts.append(line)
    return _as_data(" ".join(texts))


def _read_tier(section: _Section, tier: Tier, is_approval: bool) -> list[Finding]:
    category = Category.QUALITY
    categories: list[Category] = []
    texts: list[str] = []
    for number, line in section.lines:
        stripped = line.strip()
        item = _ITEM.fullmatch(stripped)
        if line.startswith("### "):
            category = _read_category(line, number)
        elif texts and line[0] in " \t":
            # An indented line or item belongs to the item above it.
            detail = item[1] if item else stripped
            texts[-1] += f" {detail}"
        elif item:
            categories.append(category)
            texts.append(item[1])
        elif stripped.casefold().startswith(_NO_BLOCKERS):
            comment = stripped.casefold().removeprefix(_NO_BLOCKERS)
            if is_approval and comment.strip() not in _NO_CONDITION:
                raise VerdictError("the approval has a condition", number)
        elif not says_nothing(stripped):
            raise VerdictError("a finding must be a list item", number)
    if len(texts) > MAX_ENTRIES:
        raise VerdictError(f"more than {MAX_ENTRIES} findings", section.number)
    return [
        _read_finding(text, tier, category)
        for text, category in zip(texts, categories, strict=True)
        if not says_nothing(text)
    ]


def _read_category(line: str, number: int) -> Category:
    title = line.removeprefix("### ")
    name = title.strip().casefold()
    try:
        return Category(name)
    except ValueError:
        message = f"unknown category {title[:60]!r}"
        raise VerdictError(message, number) from None


def _read_finding(text: str, tier: Tier, category: Category) -> Finding:
    id = section = ""
    own = _OWN_FINDING.fullmatch(text)
    number = _SECTION_NUMBER.search(text)
    if own:
        simple, other, section, text = own.groups("")
        id = simple or other
    elif number:
        section = number[1]
    return Finding(
        id=_as_data(id),
        tier=tier,
        category=category,
        section=_as_data(section),
        text=_as_data(text),
    )


def _read_questions(section: _Section) -> Iterator[str]:
    for number, line in section.lines:
        item = _ITEM.fullmatch(line.strip())
        text = item[1] if item else line
        if says_nothing(text):
            continue
        if item is None:
            raise VerdictError("a question must be a list item", number)
        yield _as_data(text)


def _read_resolved(section: _Section) -> Iterator[ResolvedQuestion]:
    for number, line in section.lines:
        item = _ITEM.fullmatch(line.strip())
        answered = None
        if item:
            answered = _ANSWER.fullmatch(item[1])
        if answered is None:
            raise VerdictError("a resolved question must have an answer", number)
        question, answer, bold_answer = answered.groups("")
        question = question.strip()
        question = question.removeprefix("~~")
        question = question.removesuffix("~~")
        answer = answer or bold_answer
        yield ResolvedQuestion(_as_data(question), _as_data(answer))


def _read_coverage(section: _Section, is_approval: bool) -> Iterator[CoverageRow]:
    """Read the rows of the table; other lines are remarks."""
    seen = 0
    for number, line in section.lines:
        if not line.startswith("|"):
            label, _, value = line.replace("*", "").partition(":")
            is_verdict = label.strip().casefold() == "verdict"
            if is_approval and is_verdict and value.strip() != "PASS":
                raise VerdictError("APPROVED, but the coverage is not PASS", number)
            continue
        seen += 1
        if seen == 1 or (seen == 2 and _TABLE_RULE.fullmatch(line)):
            continue
        cells = _CELL_END.split(line.strip())
        if len(cells) != 6:
            raise VerdictError("a row of the coverage must have four cells", number)
        requirement, text, tests, status = cells[1:5]
        text = text.replace("\\|", "|")
        status = status.strip("✓✔✅* ")
        yield CoverageRow(
            _as_data(requirement),
            _as_data(text),
            tuple(_read_scenarios(tests)),
            status.casefold() == "covered",
        )


def _read_scenarios(cell: str) -> Iterator[str]:
    for name in cell.split(","):
        if name.strip() not in ("", "-"):
            yield _as_data(name)


def _as_data(text: str) -> str:
    """Return a field of the form with its character references resolved."""
    if len(text) > MAX_TEXT:
        raise VerdictError(f"a text of {len(text)} characters is over {MAX_TEXT}")
    line = flat(text)
    return _CHARACTER.sub(_resolve, line)


def _resolve(match: re.Match[str]) -> str:
    code = int(match[1])
    is_half = 0xD800 <= code < 0xE000
    if is_half or code >= 0x110000:
        return match[0]
    return chr(code)
