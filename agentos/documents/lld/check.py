"""Check the structure of a design, before a reviewer is paid to read it.

Only structure sends a draft back; what compares words is a hint, see `hints`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from agentos.documents.cutoff import find_cut_row
from agentos.documents.findings import (
    Category,
    Finding,
    Findings,
    Tier,
    quality_finding,
    shorten,
    without_repeats,
)
from agentos.documents.hazards import find_placeholders, find_secrets, is_unfilled
from agentos.documents.hints import hint, quote
from agentos.documents.issue import Issue
from agentos.documents.lld.completeness import check_revision, find_cut, last_line
from agentos.documents.lld.coverage import coverage
from agentos.documents.lld.hints import find_hints
from agentos.documents.lld.model import Lld
from agentos.documents.lld.paths import Tree, check_paths
from agentos.documents.lld.titles import SECTION_TITLES
from agentos.documents.words import normalize

MAX_BYTES = 400_000
MAX_REQUIREMENTS = 400
_NOTHING = frozenset({"", "-", "—", "\u2013", "…", "n/a", "?"})
_READ = (2, 3, 10)
"""Sections whose tables are read: a shifted cell would be read as another."""


def check_lld(
    lld: Lld, issue: Issue, previous: Lld | None, tree: Tree | None = None
) -> tuple[Finding, ...]:
    """Return the findings of the rules, the most severe first, hints at the end.

    Every finding names its line. With a tree, the declared paths are looked up in the
    repository.
    """
    if len(lld.text) > MAX_BYTES:
        return tuple(_check_size(lld))
    lost: Iterable[Finding] = ()
    if previous:
        lost = check_revision(lld, previous)
    findings = itertools.chain(
        _check_size(lld),
        _check_whole(lld),
        _check_sections(lld),
        lost,
        _check_tables(lld),
        _check_decisions(lld),
        _check_scenarios(lld),
        _check_coverage(lld),
        _check_unfilled(lld, issue),
        _check_secrets(lld),
        check_paths(lld.files, tree, issue.text),
        find_hints(lld, issue),
    )
    return without_repeats(findings)


def check_plan(lld: Lld) -> tuple[Finding, ...]:
    """Return the findings about the tables that an implementation needs."""
    findings = itertools.chain(_check_tables(lld), _check_scenarios(lld))
    return without_repeats(findings)


def _check_size(lld: Lld) -> Findings:
    size = len(lld.text)
    if size > MAX_BYTES:
        text = (
            f"the design has {size} characters; over {MAX_BYTES} nobody can"
            " review it. Split the issue."
        )
        line = lld.text.count("\n", 0, MAX_BYTES) + 1
        yield quality_finding(
            "size",
            "",
            line,
            text,
        )
    count = len(lld.requirements)
    if count > MAX_REQUIREMENTS:
        text = (
            f"{count} requirements; more than {MAX_REQUIREMENTS} are"
            " several issues, not one."
        )
        line = lld.requirements[MAX_REQUIREMENTS].line
        yield quality_finding(
            "size-requirements",
            "3",
            line,
            text,
        )


def _check_whole(lld: Lld) -> Findings:
    cut = find_cut(lld)
    if cut:
        line, why = cut
        section = _section_at(lld, line)
        text = f"the design is cut off: {why}."
        yield quality_finding(
            "truncated",
            section,
            line,
            text,
        )
    if not lld.title:
        first = lld.parts[0]
        text = "the design has no title."
        yield quality_finding("title", "", first.line, text)


def _require(lld: Lld, section: str, content: object, id: str, text: str) -> Findings:
    """Yield a finding if a section exists but lacks content that it must have."""
    if content:
        return
    number, _, _ = section.partition(".")
    whole = lld.sections.get(int(number))
    if whole:
        yield quality_finding(id, section, whole.line, text)


def _check_sections(lld: Lld) -> Findings:
    for number, title in SECTION_TITLES.items():
        section = lld.sections.get(number)
        if section is None:
            text = f"section {number} ({title}) is missing; it belongs here."
            yield quality_finding(
                f"missing-section-{number}", str(number), _line_for(lld, number), text
            )
        elif section.is_empty and not (number == 3 and lld.requirements):
            text = f"section {number} ({title}) is empty."
            yield quality_finding(
                f"empty-section-{number}", str(number), section.line, text
            )
    repeated = zip(lld.repeated_sections, lld.repeated_lines, strict=True)
    for number, line in repeated:
        text = f"section {number} occurs twice."
        yield quality_finding(f"repeated-section-{number}", str(number), line, text)


def _line_for(lld: Lld, number: int) -> int:
    """Return the line before which a missing section belongs."""
    line = last_line(lld)
    if lld.log:
        line = lld.log.line
    for other, section in lld.sections.items():
        if other > number:
            line = min(line, section.line)
    return line


def _check_tables(lld: Lld) -> Findings:
    cut = find_cut_row(lld.lines)
    for number, line in lld.ragged_tables:
        if line == cut:
            continue
        text = "a table row has more or fewer cells than its header."
        if number in _READ:
            yield quality_finding(f"table-{number}", str(number), line, text)
        else:
            yield hint(f"table-{number}", str(number), line, f"{text} Is one lost?")
    for number, line in lld.broken_tables:
        text = "the line below a table's header does not have as many cells."
        yield quality_finding(f"table-{number}", str(number), line, text)
    text = "section 10.1 has no table of test scenarios."
    yield from _require(lld, "10.1", lld.scenarios, "no-scenarios", text)
    text = "section 2.1 has no table of changed files."
    yield from _require(lld, "2.1", lld.files, "no-files", text)


def _check_decisions(lld: Lld) -> Findings:
    for row in lld.decisions:
        if not _is_blank(row.rationale):
            continue
        words = normalize(row.decision[:80])
        name = words.replace(" ", "-") or "unnamed"
        decision = shorten(row.decision or "without a name", 60)
        text = f"the decision {decision!r} has no rationale."
        yield quality_finding(f"no-rationale-{name}", "2.7", row.line, text)


def _check_scenarios(lld: Lld) -> Findings:
    seen = set()
    for scenario in lld.scenarios:
        id = scenario.id
        name = id or "empty"
        if id in seen or not id:
            text = f"scenario id {id!r} is empty or used twice."
            yield quality_finding(f"scenario-id-{name}", "10.1", scenario.line, text)
        seen.add(id)
        if _is_blank(scenario.expected, scenario.pass_criteria):
            text = f"scenario {name} has no expected result."
            yield quality_finding(f"no-expected-{name}", "10.1", scenario.line, text)


def _is_blank(cell: str, reason: str = "") -> bool:
    """Tell whether a cell is empty, or has a mere dash that no other cell explains.

    `None`, `""` and `0` are values.
    """
    if not cell.strip():
        return True
    if "`" in cell:
        return False
    bare = cell.strip("*_ .").casefold()
    return bare in _NOTHING and reason.strip("*_ .-").casefold() in _NOTHING


def _check_coverage(lld: Lld) -> Findings:
    text = "section 3 has no numbered requirements."
    yield from _require(lld, "3", lld.requirements, "no-requirements", text)
    lines: dict[str, int] = {}
    for requirement in lld.requirements:
        id = requirement.id
        line = requirement.line
        if id in lines:
            text = f"the id {id} is used twice."
            yield quality_finding(f"repeated-requirement-{id}", "3", line, text)
        lines[id] = line
    for row in coverage(lld):
        if row.covered or not lld.cites_requirements:
            continue
        id = row.requirement
        text = f"no scenario cites {id}: {shorten(row.text)}"
        yield quality_finding(f"uncovered-{id}", "10.1", lines[id], text)
    for scenario in lld.scenarios:
        unknown = [name for name in scenario.requirements if name not in lines]
        if not unknown:
            continue
        id = scenario.id
        cited = shorten(", ".join(unknown))
        text = f"scenario {id} cites {cited}, which section 3 does not have."
        yield quality_finding(f"unknown-requirement-{id}", "10.1", scenario.line, text)


def _check_unfilled(lld: Lld, issue: Issue) -> Findings:
    for line, word in find_placeholders(lld.lines):
        if is_unfilled(word) and word not in issue.text:
            section = _section_at(lld, line)
            text = f"the template's {quote(lld.row(line))} was not filled in."
            yield quality_finding(f"unfilled-{section or 0}", section, line, text)


def _check_secrets(lld: Lld) -> Findings:
    found = find_secrets(lld.text)
    if not found:
        return
    position, _ = found[0]
    line = lld.text.count("\n", 0, position) + 1
    text = (
        f"Line {line}: the design contains something that looks like a credential;"
        " it must name where the credential is kept, never the credential."
    )
    yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def _section_at(lld: Lld, line: int) -> str:
    """Return the number of the section that a line belongs to."""
    found = ""
    start = 0
    for number, section in lld.sections.items():
        if start < section.line <= line:
            found = str(number)
            start = section.line
    return found
