"""Revise a design by rules: do what the findings name, keep everything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.bounds import bounds
from agentos.documents.findings import Finding
from agentos.documents.hazards import unsafe_path
from agentos.documents.lld import Lld, parse_lld
from agentos.documents.markdown import Kind, split_lines
from agentos.documents.tables import render_row, split_row, tables
from agentos.documents.words import WordIndex
from agentos.providers.offline.blueprint import Blueprint, Demand
from agentos.providers.offline.lld_drafter import WRITERS
from agentos.providers.offline.proofs import Proof, prove, prove_bound, prove_failure

_SECTION_RULES = (
    *("missing-section", "empty-section", "placeholder", "table", "repeated-section", "section-order", "truncated"),
    *("no-status", "no-decisions", "no-rationale", "no-expected", "repeated-requirement", "repeated-path"),
)
_ROW_RULES = (
    "uncovered",
    "boundary",
    "error-path",
    "asserts-nothing",
    "unknown-requirement",
    "path",
    "scenario-id",
    "existing-path",
)
_TEXT_RULES = ("criterion", "requirement", "differs", "secret", "no-requirements", "no-scenarios", "no-files", "echo")


def revise_lld(previous: str, blueprint: Blueprint, findings: Sequence[Finding]) -> str:
    """Return the previous draft with what the findings name mended where a rule can."""
    text = previous
    if any(finding.id == "echo" for finding in findings):
        text = _without_echo(text)
    text = _rewrite_sections(text, _sections_to_write(findings), blueprint)
    text = _mend_requirements(text, blueprint, findings)
    text = _mend_rows(text, blueprint, findings)
    return _take_notes(text, [finding for finding in findings if not _has_rule(finding)])


def _without_echo(text: str) -> str:
    """Cut what follows the design."""
    lld = parse_lld(text)
    return "\n".join(split_lines(text)[: lld.trailing_line - 1]).rstrip() + "\n" if lld.trailing else text


def _has_rule(finding: Finding) -> bool:
    return finding.id.startswith((*_SECTION_RULES, *_ROW_RULES, *_TEXT_RULES, "lost-section"))


def _sections_to_write(findings: Iterable[Finding]) -> set[int]:
    wanted: set[int] = set()
    whole = {"no-requirements": 3, "no-scenarios": 10, "no-files": 2}
    for finding in findings:
        if finding.id in whole:
            wanted.add(whole[finding.id])
        elif finding.id.startswith((*_SECTION_RULES, "lost-section")):
            number = finding.section.split(".")[0]
            wanted.update({int(number)} if number.isdecimal() and int(number) in WRITERS else ())
    return wanted


def _rewrite_sections(text: str, wanted: set[int], blueprint: Blueprint) -> str:
    """Replace or insert whole sections, in the order of their numbers."""
    if not wanted:
        return text
    rows = split_lines(text)
    lld = parse_lld(text)
    starts = sorted((section.line, number) for number, section in lld.sections.items())
    head = rows[: starts[0][0] - 1] if starts else rows
    chunks: dict[int, str] = {}
    tail = ""
    for line, number in starts:
        end = line + len(lld.sections[number].lines)
        chunks[number] = "\n".join(rows[line - 1 : end]).rstrip()
        if (line, number) == starts[-1]:
            tail = "\n".join(rows[end:]).strip()
    for number in wanted:
        chunks[number] = WRITERS[number](blueprint)
    parts = ["\n".join(head).rstrip(), *(chunks[number] for number in sorted(chunks)), tail]
    return "\n\n".join(part for part in parts if part) + "\n"


def _mend_requirements(text: str, blueprint: Blueprint, findings: Sequence[Finding]) -> str:
    """Give section 3 what it lacks, and the issue's own words where it departed from them."""
    lld = parse_lld(text)
    rows = split_lines(text)
    sources = [demand.text for demand in blueprint.demands]
    index = WordIndex(sources)
    wrong = {finding.id.removeprefix("differs-") for finding in findings if finding.id.startswith("differs-")}
    for requirement in lld.requirements:
        nearest = index.nearest(requirement.text) if requirement.id in wrong else None
        if nearest:
            head = rows[requirement.line - 1].partition(". ")[0]
            rows[requirement.line - 1] = f"{head}. {sources[nearest[0]]}"
    missing = [sentence for finding in findings if (sentence := _absent(finding, blueprint))]
    present = WordIndex([requirement.text for requirement in lld.requirements])
    new = [sentence for sentence in dict.fromkeys(missing) if present.exact(sentence) is None]
    if new and lld.requirements:
        last = lld.requirements[-1].line
        count = len(lld.requirements)
        rows[last:last] = [f"{count + n}. {sentence}" for n, sentence in enumerate(new, 1)]
    return "\n".join(rows)


def _absent(finding: Finding, blueprint: Blueprint) -> str:
    kind, _, rest = finding.id.partition("-")
    number = rest.removesuffix("-absent")
    if not (rest.endswith("-absent") and number.isdecimal()):
        return ""
    place = int(number) - 1
    if kind == "criterion" and place < len(blueprint.issue.criteria):
        return blueprint.issue.criteria[place]
    if kind == "requirement" and place < len(blueprint.issue.requirements):
        return blueprint.issue.requirements[place].text
    return ""


def _mend_rows(text: str, blueprint: Blueprint, findings: Sequence[Finding]) -> str:
    """Mend the scenario table: replace rows that prove nothing, add rows that are missing."""
    lld = parse_lld(text)
    rows = split_lines(text)
    demands = tuple(Demand(req.id, req.text, "draft") for req in lld.requirements)
    by_id = {demand.id: demand for demand in demands}
    if not demands or not lld.scenarios:
        return text
    _replace_rows(rows, lld, by_id, blueprint, findings)
    _drop_paths(rows, lld, findings)
    _mend_changes(rows, lld, findings)
    cited = {name for scenario in lld.scenarios for name in scenario.requirements}
    uncovered = [prove(demand, blueprint) for demand in demands if demand.id not in cited]
    proofs = [*uncovered, *_wanted_proofs(findings, by_id, demands, blueprint)]
    _append_proofs(rows, lld, proofs)
    return "\n".join(rows)


def _wanted_proofs(
    findings: Sequence[Finding], by_id: dict[str, Demand], demands: tuple[Demand, ...], blueprint: Blueprint
) -> list[Proof]:
    found: list[Proof] = []
    for finding in findings:
        if finding.id.startswith("boundary-"):
            demand = by_id.get(finding.id.removeprefix("boundary-"))
            for bound in bounds(demand.text) if demand else ():
                found.extend(prove_bound(demand, bound) if demand and bound.beyond >= 0 else ())
        elif finding.id.startswith("error-path-"):
            number = finding.id.removeprefix("error-path-")
            path = next((path for path in blueprint.failures if str(path.number) == number), None)
            if path is not None:
                found.append(prove_failure(path, blueprint, demands))
    return found


def _replace_rows(
    rows: list[str], lld: Lld, by_id: dict[str, Demand], blueprint: Blueprint, findings: Sequence[Finding]
) -> None:
    empty = _named(findings, "asserts-nothing-")
    unknown = _named(findings, "unknown-requirement-")
    for scenario in lld.scenarios:
        known = [name for name in scenario.requirements if name in by_id]
        if scenario.id in empty and known:
            rows[scenario.line - 1] = render_row(prove(by_id[known[0]], blueprint).cells(scenario.id))
        elif scenario.id in unknown:
            cells = split_row(rows[scenario.line - 1])
            rows[scenario.line - 1] = render_row([*cells[:-1], ", ".join(known) or "-"])


def _named(findings: Iterable[Finding], start: str) -> set[str]:
    return {finding.id.removeprefix(start) for finding in findings if finding.id.startswith(start)}


def _drop_paths(rows: list[str], lld: Lld, findings: Sequence[Finding]) -> None:
    """Blank the rows of files outside the repository; the lines stay, so that line numbers stay right."""
    if not any(finding.id.startswith("path-") for finding in findings) or 2 not in lld.sections:
        return
    for grid in tables(lld.sections[2].lines):
        for row, line in zip(grid.rows, grid.row_lines, strict=True):
            if grid.column("file", "path") is not None and unsafe_path(grid.cell(row, "file", "path").strip("` ")):
                rows[line - 1] = _DROPPED


def _mend_changes(rows: list[str], lld: Lld, findings: Sequence[Finding]) -> None:
    """Turn the adding of a file that exists already into its change."""
    if any(finding.id.startswith("existing-path-") for finding in findings):
        said = " ".join(finding.text for finding in findings if finding.id.startswith("existing-path-"))
        for change in lld.files:
            if f"`{change.path}`" in said:
                rows[change.line - 1] = rows[change.line - 1].replace("| Add |", "| Modify |", 1)


_DROPPED = "\x00"


def _append_proofs(rows: list[str], lld: Lld, proofs: Sequence[Proof]) -> None:
    numbers = [int(scenario.id) for scenario in lld.scenarios if scenario.id.isdecimal()]
    known = {requirement.id for requirement in lld.requirements}
    present = {(s.name, tuple(name for name in s.requirements if name in known)) for s in lld.scenarios}
    first = max(numbers, default=0) // 10 + 1
    new = [proof for proof in dict.fromkeys(proofs) if (proof.name, proof.requirements) not in present]
    last = max(scenario.line for scenario in lld.scenarios)
    rows[last:last] = [render_row(proof.cells(f"{(first + n) * 10:03d}")) for n, proof in enumerate(new)]
    rows[:] = [row for row in rows if row != _DROPPED]


def _take_notes(text: str, findings: Sequence[Finding]) -> str:
    """Write down what no rule can mend: questions in section 1, the rest as risks in section 11."""
    for finding in findings:
        if _statement(finding) in text:
            continue
        write = _note_question if finding.id.startswith("contradiction-") else _note_risk
        text = write(text, finding)
    return text


def _statement(finding: Finding) -> str:
    """Return what a finding says, without the line at which it was found: lines move."""
    flat = " ".join(finding.text.split())
    head, found, rest = flat.partition(": ")
    is_place = found and head.startswith("Line ") and head[5:].isdecimal()
    return rest[:1].upper() + rest[1:] if is_place else flat


def _insert(text: str, after: int, row: str) -> str:
    rows = split_lines(text)
    rows.insert(after, row)
    return "\n".join(rows)


def _note_question(text: str, finding: Finding) -> str:
    lld = parse_lld(text)
    row = f"- [ ] {_statement(finding)}"
    for line in lld.lines:
        if line.kind is Kind.HEADING and line.text.casefold().startswith("open questions"):
            return _insert(text, line.number + 1, row)
    return text


def _note_risk(text: str, finding: Finding) -> str:
    lld = parse_lld(text)
    grids = tables(lld.sections[11].lines) if 11 in lld.sections else ()
    if not grids or not grids[0].row_lines:
        return text
    where = f"section {finding.section}" if finding.section else "the change"
    answer = f"Accepted from the review ({finding.id}); shown in the code review of {where}"
    cells = (_statement(finding), "Med", "Med", answer)
    return _insert(
        text, grids[0].row_lines[-1], render_row((*cells, *("",) * len(grids[0].header))[: len(grids[0].header)])
    )
