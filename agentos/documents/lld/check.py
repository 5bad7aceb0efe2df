"""The mechanical rules that every design must pass before a reviewer sees it."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.documents.blocks import Grid
from agentos.documents.findings import Category, Finding, Tier, without_repeats
from agentos.documents.hazards import find_placeholder, find_placeholders, find_secrets, is_sample_path, is_soft
from agentos.documents.issue import Issue
from agentos.documents.lld.coverage import coverage
from agentos.documents.lld.model import Lld
from agentos.documents.lld.paths import Tree, check_paths
from agentos.documents.lld.titles import SECTION_TITLES
from agentos.documents.lld.wholeness import check_echo, check_revision, cut_row, find_cut
from agentos.documents.words import WordIndex, keywords, normalise, share

MAX_BYTES = 400_000
MAX_REQUIREMENTS = 400
_FUZZY_LOOKUPS = 200
_ALIKE = 0.6
_NOTHING = frozenset({"", "-", "—", "\u2013", "...", "…", "n/a", "none", "?"})


def check_lld(lld: Lld, issue: Issue, previous: Lld | None, tree: Tree | None = None) -> tuple[Finding, ...]:
    """Return what the mechanical rules find, heaviest first; empty when all rules hold.

    Every text names the line that it is about. With a tree, the declared paths are looked up in the repository.
    """
    if len(lld.text) > MAX_BYTES:
        return tuple(_check_size(lld))
    return without_repeats(
        [
            *_check_size(lld),
            *_check_whole(lld),
            *_check_sections(lld),
            *(check_revision(lld, previous) if previous else ()),
            *_check_tables(lld),
            *_check_decisions(lld),
            *_check_scenarios(lld),
            *_check_coverage(lld),
            *_check_criteria(lld, issue),
            *_check_placeholders(lld, issue),
            *_check_secrets(lld),
            *check_paths(lld.files, tree, issue.text),
            *check_echo(lld, issue),
        ]
    )


def check_plan(lld: Lld) -> tuple[Finding, ...]:
    """Return what is wrong with the tables from which a design is built: files and scenarios."""
    return without_repeats([*_check_tables(lld), *_check_scenarios(lld)])


def _quality(id: str, section: str, line: int, text: str, tier: Tier = Tier.HIGH) -> Finding:
    return Finding(id, tier, Category.QUALITY, section, f"Line {line}: {text}")


def _check_size(lld: Lld) -> Iterator[Finding]:
    if len(lld.text) > MAX_BYTES:
        text = f"the design has {len(lld.text)} characters; over {MAX_BYTES} nobody can review it. Split the issue."
        yield _quality("size", "", lld.text.count("\n", 0, MAX_BYTES) + 1, text)
    if len(lld.requirements) > MAX_REQUIREMENTS:
        text = f"{len(lld.requirements)} requirements; more than {MAX_REQUIREMENTS} are several issues, not one."
        yield _quality("size-requirements", "3", lld.requirements[MAX_REQUIREMENTS].line, text)


def _check_whole(lld: Lld) -> Iterator[Finding]:
    cut = find_cut(lld)
    if cut:
        yield _quality("truncated", section_at(lld, cut[0]), cut[0], f"the design is cut off: {cut[1]}.")
    if not lld.title:
        yield _quality("title", "", lld.lines[0].number if lld.lines else 1, "the design has no title.")
    if 1 in lld.sections and not lld.status:
        text = "section 1 has no line `* **Status:** Draft`."
        yield _quality("no-status", "1", lld.sections[1].line, text)


def _check_sections(lld: Lld) -> Iterator[Finding]:
    for number, title in SECTION_TITLES.items():
        section = lld.sections.get(number)
        if section is None:
            text = f"section {number} ({title}) is missing; it belongs here."
            yield _quality(f"missing-section-{number}", str(number), _place_of(lld, number), text)
        elif section.is_empty:
            text = f"section {number} ({title}) is empty."
            yield _quality(f"empty-section-{number}", str(number), section.line, text)
    for number, line in zip(lld.repeated_sections, lld.repeated_lines, strict=False):
        yield _quality(f"repeated-section-{number}", str(number), line, f"section {number} occurs twice.")
    before = 0
    for number in sorted(lld.sections, key=lambda number: lld.sections[number].line):
        if number < before:
            text = f"section {number} stands after section {before}; keep the order of the numbers."
            yield _quality("section-order", str(number), lld.sections[number].line, text)
        before = max(before, number)


def _place_of(lld: Lld, number: int) -> int:
    """Return the line before which a missing section belongs."""
    later = [section.line for other, section in lld.sections.items() if other > number]
    last = lld.lines[-1].number if lld.lines else 1
    return min(later, default=lld.log.line if lld.log else last)


def _check_tables(lld: Lld) -> Iterator[Finding]:
    cut = cut_row(lld)
    for number, line in lld.ragged_tables:
        if line != cut:
            text = "a table row has not as many cells as its header."
            yield _quality(f"table-{number}", str(number), line, text)
    if 10 in lld.sections and not lld.scenarios:
        yield _quality("no-scenarios", "10.1", lld.sections[10].line, "section 10.1 has no table of test scenarios.")
    if 2 in lld.sections and not lld.files:
        yield _quality("no-files", "2.1", lld.sections[2].line, "section 2.1 has no table of changed files.")


def _check_decisions(lld: Lld) -> Iterator[Finding]:
    if 2 in lld.sections and not lld.decisions:
        text = "section 2.7 has no table of architecture decisions (Decision, Options Considered, Choice, Rationale)."
        yield _quality("no-decisions", "2.7", lld.sections[2].line, text)
    for row in lld.decisions:
        if _says_nothing(row.rationale):
            name = normalise(row.decision[:80]).replace(" ", "-") or "unnamed"
            text = f"the decision {_short(row.decision or 'without a name', 60)!r} has no rationale."
            yield _quality(f"no-rationale-{name}", "2.7", row.line, text)


def _check_scenarios(lld: Lld) -> Iterator[Finding]:
    seen: set[str] = set()
    for scenario in lld.scenarios:
        name = scenario.id or "empty"
        if scenario.id in seen or not scenario.id:
            text = f"scenario id {scenario.id!r} is empty or used twice."
            yield _quality(f"scenario-id-{name}", "10.1", scenario.line, text)
        seen.add(scenario.id)
        if _says_nothing(scenario.expected):
            text = f"scenario {name} has no expected result."
            yield _quality(f"no-expected-{name}", "10.1", scenario.line, text)


def _says_nothing(cell: str) -> bool:
    return cell.strip("*_` .").casefold() in _NOTHING or cell.strip() in _NOTHING


def _check_coverage(lld: Lld) -> Iterator[Finding]:
    if 3 in lld.sections and not lld.requirements:
        yield _quality("no-requirements", "3", lld.sections[3].line, "section 3 has no numbered requirements.")
    seen: set[str] = set()
    for requirement in lld.requirements:
        if requirement.id in seen:
            text = f"the id {requirement.id} is used twice."
            yield _quality(f"repeated-requirement-{requirement.id}", "3", requirement.line, text)
        seen.add(requirement.id)
    lines = {requirement.id: requirement.line for requirement in lld.requirements}
    for row in coverage(lld):
        if not row.covered:
            text = f"no scenario tests {row.requirement}: {_short(row.text)}"
            yield _quality(f"uncovered-{row.requirement}", "10.1", lines[row.requirement], text)
    for scenario in lld.scenarios:
        unknown = [name for name in scenario.requirements if name not in seen]
        if unknown:
            text = f"scenario {scenario.id} cites {_short(', '.join(unknown))}, which section 3 does not have."
            yield _quality(f"unknown-requirement-{scenario.id}", "10.1", scenario.line, text)


def _check_criteria(lld: Lld, issue: Issue) -> Iterator[Finding]:
    index = WordIndex([requirement.text for requirement in lld.requirements])
    line = lld.sections[3].line if 3 in lld.sections else _place_of(lld, 3)
    lookups = 0
    for number, criterion in enumerate(issue.criteria, 1):
        if index.exact(criterion) is not None:
            continue
        lookups += 1
        nearest = index.nearest(criterion) if lookups <= _FUZZY_LOOKUPS else None
        if nearest is None or share(keywords(criterion), index.words[nearest[0]]) < _ALIKE:
            text = f"acceptance criterion {number} is no requirement of the design: {_short(criterion)}"
            yield _quality(f"criterion-{number}-absent", "3", line, text)


def _check_placeholders(lld: Lld, issue: Issue) -> Iterator[Finding]:
    quoted = [normalise(text) for text in _said(issue) if find_placeholder(text)]
    for number, section in lld.sections.items():
        rows = {line.number: line.text for line in section.lines}
        for line, word in find_placeholders(section.lines):
            is_quoted = any(text in normalise(rows[line][:4000]) for text in quoted)
            if not is_quoted and not (is_soft(word) and word in issue.text):
                yield _placeholder(number, line, word)
        for block in section.blocks:
            for row, line in zip(block.rows, block.row_lines, strict=False) if isinstance(block, Grid) else ():
                if any(cell in ("...", "…") for cell in row):
                    yield _placeholder(number, line, "...")
    for change in lld.files:
        if is_sample_path(change.path):
            yield _placeholder(2, change.line, change.path)


def _said(issue: Issue) -> list[str]:
    return [*issue.criteria, *(requirement.text for requirement in issue.requirements)]


def _placeholder(section: int, line: int, word: str) -> Finding:
    text = f"the placeholder {_short(word, 60)!r} was left in."
    return _quality(f"placeholder-{section}", str(section), line, text)


def _check_secrets(lld: Lld) -> Iterator[Finding]:
    found = find_secrets(lld.text)
    if found:
        line = lld.text.count("\n", 0, found[0][0]) + 1
        text = (
            f"Line {line}: the design contains something that looks like a credential; it must name where the "
            "credential is kept, never the credential."
        )
        yield Finding("secret", Tier.BLOCKING, Category.SECURITY, "", text)


def section_at(lld: Lld, line: int) -> str:
    """Return the number of the section that a line belongs to."""
    before = [number for number, section in lld.sections.items() if section.line <= line]
    return str(max(before, key=lambda number: lld.sections[number].line)) if before else ""


def _short(text: str, limit: int = 160) -> str:
    flat = " ".join(text[: 2 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
