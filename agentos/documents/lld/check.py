"""The mechanical rules that every design must pass before a reviewer sees it."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.documents.findings import Category, Finding, Tier, without_repeats
from agentos.documents.hazards import find_placeholders, has_secret, unsafe_path
from agentos.documents.issue import Issue
from agentos.documents.lld.parse import SECTION_TITLES, Lld
from agentos.documents.verdict import CoverageRow
from agentos.documents.words import WordIndex, keywords, share

MAX_BYTES = 400_000
MAX_REQUIREMENTS = 400
_FUZZY_LOOKUPS = 200
_ALIKE = 0.6


def coverage(lld: Lld) -> tuple[CoverageRow, ...]:
    """Return every requirement of section 3 with the scenarios of section 10.1 that cite it."""
    citing: dict[str, list[str]] = {}
    for scenario in lld.scenarios:
        for requirement in scenario.requirements:
            citing.setdefault(requirement, []).append(scenario.id)
    return tuple(
        CoverageRow(req.id, req.text, tuple(citing.get(req.id, ())), req.id in citing) for req in lld.requirements
    )


def check_lld(lld: Lld, issue: Issue, previous: Lld | None) -> tuple[Finding, ...]:
    """Return what the mechanical rules find, heaviest first; empty when all rules hold."""
    if len(lld.text) > MAX_BYTES:
        return tuple(_check_size(lld))
    return without_repeats(
        [
            *_check_size(lld),
            *_check_sections(lld, previous),
            *_check_tables(lld),
            *_check_coverage(lld),
            *_check_criteria(lld, issue),
            *_check_hazards(lld),
            *_check_paths(lld),
        ]
    )


def _quality(id: str, section: str, text: str, tier: Tier = Tier.HIGH) -> Finding:
    return Finding(id, tier, Category.QUALITY, section, text)


def _check_size(lld: Lld) -> Iterator[Finding]:
    if len(lld.text) > MAX_BYTES:
        yield _quality(
            "size",
            "",
            f"The design has {len(lld.text)} characters; over {MAX_BYTES} nobody can review it. Split the issue.",
        )
    if len(lld.requirements) > MAX_REQUIREMENTS:
        yield _quality(
            "size-requirements",
            "3",
            f"{len(lld.requirements)} requirements; more than {MAX_REQUIREMENTS} are several issues, not one.",
        )


def _check_sections(lld: Lld, previous: Lld | None) -> Iterator[Finding]:
    if not lld.title:
        yield _quality("title", "", "The design has no title.")
    for number, title in SECTION_TITLES.items():
        section = lld.sections.get(number)
        if section is None:
            yield _quality(f"missing-section-{number}", str(number), f"Section {number} ({title}) is missing.")
        elif section.is_empty:
            yield _quality(f"empty-section-{number}", str(number), f"Section {number} ({title}) is empty.")
    for number in lld.repeated_sections:
        yield _quality(f"repeated-section-{number}", str(number), f"Section {number} occurs twice.")
    for name in previous.subsections if previous else ():
        if name not in lld.subsections:
            title = previous.subsections[name].title if previous else name
            yield _quality(
                f"lost-section-{name}", name, f"The revision lost subsection {title!r} of the previous draft."
            )


def _check_tables(lld: Lld) -> Iterator[Finding]:
    for number, line in lld.ragged_tables:
        yield _quality(f"table-{number}", str(number), f"Line {line}: a table row has not as many cells as its header.")
    if 10 in lld.sections and not lld.scenarios:
        yield _quality("no-scenarios", "10.1", "Section 10.1 has no table of test scenarios.")
    if 2 in lld.sections and not lld.files:
        yield _quality("no-files", "2.1", "Section 2.1 has no table of changed files.")
    seen: set[str] = set()
    for scenario in lld.scenarios:
        if scenario.id in seen or not scenario.id:
            yield _quality(
                f"scenario-id-{scenario.id or 'empty'}",
                "10.1",
                f"Line {scenario.line}: scenario id {scenario.id!r} is empty or used twice.",
            )
        seen.add(scenario.id)


def _check_coverage(lld: Lld) -> Iterator[Finding]:
    if 3 in lld.sections and not lld.requirements:
        yield _quality("no-requirements", "3", "Section 3 has no numbered requirements.")
    for row in coverage(lld):
        if not row.covered:
            yield _quality(
                f"uncovered-{row.requirement}",
                "10.1",
                f"No scenario tests {row.requirement}: {_short(row.text)}",
            )
    known = {requirement.id for requirement in lld.requirements}
    for scenario in lld.scenarios:
        unknown = [name for name in scenario.requirements if name not in known]
        if unknown:
            yield _quality(
                f"unknown-requirement-{scenario.id}",
                "10.1",
                f"Scenario {scenario.id} cites {_short(', '.join(unknown))}, which section 3 does not have.",
            )


def _check_criteria(lld: Lld, issue: Issue) -> Iterator[Finding]:
    index = WordIndex([requirement.text for requirement in lld.requirements])
    lookups = 0
    for number, criterion in enumerate(issue.criteria, 1):
        if index.exact(criterion) is not None:
            continue
        lookups += 1
        nearest = index.nearest(criterion) if lookups <= _FUZZY_LOOKUPS else None
        if nearest is None or share(keywords(criterion), index.words[nearest[0]]) < _ALIKE:
            yield _quality(
                f"criterion-{number}-absent",
                "3",
                f"Acceptance criterion {number} is no requirement of the design: {_short(criterion)}",
            )


def _check_hazards(lld: Lld) -> Iterator[Finding]:
    numbered = (line for section in lld.sections.values() for line in section.lines)
    for line, word in find_placeholders(numbered):
        section = section_at(lld, line)
        yield _quality(
            f"placeholder-{section or 'top'}", section, f"Line {line}: the placeholder {word!r} was left in."
        )
    if has_secret(lld.text):
        yield Finding(
            "secret",
            Tier.BLOCKING,
            Category.SECURITY,
            "",
            "The design contains something that looks like a credential; it must name where the credential is kept, "
            "never the credential.",
        )


def _check_paths(lld: Lld) -> Iterator[Finding]:
    for number, change in enumerate(lld.files, 1):
        why = unsafe_path(change.path)
        if why:
            yield Finding(
                f"path-{number}",
                Tier.BLOCKING,
                Category.SECURITY,
                "2.1",
                f"The path `{_short(change.path)}` {why}.",
            )


def section_at(lld: Lld, line: int) -> str:
    """Return the number of the section that a line belongs to."""
    before = [number for number, section in lld.sections.items() if section.line <= line]
    return str(max(before, key=lambda number: lld.sections[number].line)) if before else ""


def _short(text: str, limit: int = 160) -> str:
    flat = " ".join(text[: 2 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
