"""The same design in the styles in which people and models write one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agentos.documents.lld import parse_lld
from agentos.documents.lld.model import Lld
from agentos.documents.tables import render_row, split_row, tables

Rows = list[tuple[str, ...]]
Cite = Callable[[Sequence[str]], str]
REASON = "Not applicable: a change of a few lines."
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
VALUES = (
    "None",
    '""',
    "0",
    "[]",
    "{}",
    "False",
    "''",
    "an empty string",
    "`-`",
    "`''`",
)


def rename_sections(text: str, write: Callable[[int, str], str]) -> str:
    """Rewrite the headings of the twelve sections."""
    lld = parse_lld(text)
    rows = text.split("\n")
    for number, section in lld.sections.items():
        _, _, title = rows[section.line - 1].partition(". ")
        rows[section.line - 1] = write(number, title)
    return "\n".join(rows)


def underline_headings(text: str) -> str:
    """Write the headings of the first two levels as underlined ones."""
    text = re.sub(r"(?m)^# (.+)$", r"\1\n=====", text, count=1)
    return rename_sections(text, lambda n, title: f"{n}. {title}\n-----")


def rewrite_tables(text: str, write: Callable[[str], str]) -> str:
    """Rewrite each row of each table."""
    rows = text.split("\n")
    for line in parse_lld(text).lines:
        if line.is_row:
            rows[line.number - 1] = write(rows[line.number - 1])
    return "\n".join(rows)


def without_outer_pipes(row: str) -> str:
    """Write a row without the pipes around it."""
    bare = row.strip().removeprefix("|").removesuffix("|")
    return bare.strip()


def rewrite_scenarios(text: str, write: Callable[[Rows], Rows]) -> str:
    """Rewrite the table of scenarios, its header first."""
    lld = parse_lld(text)
    wanted = {scenario.line for scenario in lld.scenarios}
    rows = text.split("\n")
    for table in tables(lld.sections[10].lines):
        if wanted.isdisjoint(table.row_lines):
            continue
        header, *body = write([table.header, *table.rows])
        rule = "|---" * len(header) + "|"
        written = [render_row(header), rule, *map(render_row, body)]
        rows[table.line - 1 : table.row_lines[-1]] = written
        return "\n".join(rows)
    raise AssertionError("no scenarios")


def cite(text: str, write: Cite) -> str:
    """Write the citations of the scenarios in another form."""

    def change(rows: Rows) -> Rows:
        header, *body = rows
        column = header.index("Requirement")
        written = [header]
        for row, scenario in zip(body, parse_lld(text).scenarios, strict=True):
            cells = list(row)
            cells[column] = write(
                [id.removeprefix("R") for id in scenario.requirements]
            )
            written.append(tuple(cells))
        return written

    return rewrite_scenarios(text, change)


def cite_in_text(text: str, form: str) -> str:
    """Put the citations in brackets after the words of each scenario."""

    def change(rows: Rows) -> Rows:
        header, *body = rows
        column = header.index("Requirement")
        name = header.index("Scenario")
        written = [header[:column] + header[column + 1 :]]
        for row, scenario in zip(body, parse_lld(text).scenarios, strict=True):
            cells = list(row)
            numbers = [id.removeprefix("R") for id in scenario.requirements]
            cited = ", ".join(form.format(number) for number in numbers)
            cells[name] = f"{cells[name]} ({cited})"
            del cells[column]
            written.append(tuple(cells))
        return written

    return rewrite_scenarios(text, change)


def without_citations(text: str) -> str:
    """Drop the column that cites requirements."""

    def change(rows: Rows) -> Rows:
        column = rows[0].index("Requirement")
        return [row[:column] + row[column + 1 :] for row in rows]

    return rewrite_scenarios(text, change)


def with_matrix(text: str) -> str:
    """Cite in a table of its own, below the scenarios."""
    lld = parse_lld(text)
    rows = ["### 10.4 Traceability", "", "| Requirement | Scenarios |", "|---|---|"]
    for requirement in lld.requirements:
        ids = [s.id for s in lld.scenarios if requirement.id in s.requirements]
        rows.append(render_row([requirement.id, ", ".join(ids)]))
    lines = without_citations(text).split("\n")
    end = parse_lld("\n".join(lines)).sections[10].end
    lines[end:end] = ["", *rows, ""]
    return "\n".join(lines)


def rewrite_requirements(text: str, write: Callable[[Lld], list[str]]) -> str:
    """Write section 3 anew."""
    lld = parse_lld(text)
    rows = text.split("\n")
    section = lld.sections[3]
    rows[section.line : section.end] = ["", *write(lld), ""]
    return "\n".join(rows)


def list_requirements(form: str) -> Callable[[str], str]:
    """Return a style that writes each requirement in a form with its number."""

    def change(text: str) -> str:
        return rewrite_requirements(
            text,
            lambda lld: [
                form.format(number, requirement.text)
                for number, requirement in enumerate(lld.requirements, 1)
            ],
        )

    return change


def requirements_in_table(text: str) -> str:
    """Write the requirements as a table."""
    head = ["| ID | Requirement | Priority |", "|----|----|----|"]
    return rewrite_requirements(
        text,
        lambda lld: (
            head + [render_row([one.id, one.text, "Must"]) for one in lld.requirements]
        ),
    )


def not_applicable(text: str) -> str:
    """Shorten what a small issue does not need to one line."""
    lld = parse_lld(text)
    rows = text.split("\n")
    spans = []
    for number in (4, 5, 6, 7, 8, 9, 11):
        section = lld.sections[number]
        spans.append((section.line, section.end))
    for dotted in ("2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "10.3"):
        part = lld.subsections.get(dotted)
        if part is not None:
            spans.append((part.line, part.end))
    for start, end in sorted(spans, reverse=True):
        rows[start:end] = [REASON, ""]
    return "\n".join(rows)


def expect_values(text: str) -> str:
    """Expect and give values that look like nothing."""

    def change(rows: Rows) -> Rows:
        header, *body = rows
        written = [header]
        for number, row in enumerate(body):
            cells = list(row)
            cells[header.index("Input")] = VALUES[number % len(VALUES)]
            cells[header.index("Expected Output")] = VALUES[(number + 3) % len(VALUES)]
            written.append(tuple(cells))
        return written

    return rewrite_scenarios(text, change)


def files_in_list(text: str) -> str:
    """Declare the files in a list."""
    lld = parse_lld(text)
    rows = text.split("\n")
    part = lld.subsections["2.1"]
    rows[part.line : part.end] = [
        "",
        *(f"- `{f.path}` ({f.change.lower()}): {f.description}" for f in lld.files),
        "",
    ]
    return "\n".join(rows)


def bare_paths(text: str) -> str:
    """Write the paths of section 2.1 without backticks."""
    for file in parse_lld(text).files:
        text = text.replace(f"| `{file.path}` |", f"| {file.path} |", 1)
    return text


STYLES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "underlined headings": underline_headings,
    "numbers without a dot": lambda text: rename_sections(
        text, lambda n, title: f"## {n} {title}"
    ),
    "closed headings": lambda text: rename_sections(
        text, lambda n, title: f"## {n}. {title} ##"
    ),
    "titles alone": lambda text: rename_sections(text, lambda _, title: f"## {title}"),
    "roman numbers": lambda text: rename_sections(
        text, lambda n, title: f"## {ROMAN[n - 1]}. {title}"
    ),
    "bold headings": lambda text: rename_sections(
        text, lambda n, title: f"## **{n}. {title}**"
    ),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "tables without outer pipes": lambda text: rewrite_tables(
        text, without_outer_pipes
    ),
    "wide tables": lambda text: rewrite_tables(
        text, lambda row: row.replace(" | ", "  |   ")
    ),
    "requirements as bullets": list_requirements("- **R{0}:** {1}"),
    "requirements with words": list_requirements("- REQ-{0:03}: {1}"),
    "requirements as boxes": list_requirements("- [ ] **R{0}** - {1}"),
    "criteria": list_requirements("* **AC-{0}** — {1}"),
    "paragraphs": list_requirements("**R{0}.** {1}\n"),
    "requirements under headings": list_requirements("### R{0}: {1}\n"),
    "requirements in a table": requirements_in_table,
    "cited as REQ-1": lambda text: cite(
        text, lambda ns: ", ".join(f"REQ-{n}" for n in ns)
    ),
    "cited as Req 1": lambda text: cite(
        text, lambda ns: " and ".join(f"Req {n}" for n in ns)
    ),
    "cited as requirement 1": lambda text: cite(
        text, lambda ns: "; ".join(f"requirement {n}" for n in ns)
    ),
    "cited as R1/R2": lambda text: cite(text, lambda ns: "/".join(f"R{n}" for n in ns)),
    "cited as #1": lambda text: cite(text, lambda ns: " ".join(f"#{n}" for n in ns)),
    "cited by number": lambda text: cite(text, lambda ns: ",".join(ns)),
    "cited as AC-1": lambda text: cite(
        text, lambda ns: " + ".join(f"AC-{n}" for n in ns)
    ),
    "cited as AC1": lambda text: cite(
        text, lambda ns: "<br>".join(f"AC{n}" for n in ns)
    ),
    "cited with remarks": lambda text: cite(
        text, lambda ns: ", ".join(f"`R{n}` (in part)" for n in ns)
    ),
    "cited in the text": lambda text: cite_in_text(text, "REQ-{0}"),
    "cited in the text by letters": lambda text: cite_in_text(text, "R{0}"),
    "cited in a matrix": with_matrix,
    "without citations": without_citations,
    "small": not_applicable,
    "values": expect_values,
    "files in a list": files_in_list,
    "bare paths": bare_paths,
    "an appendix": lambda text: (
        text
        + "\n## Appendix A: Notes\n\n1. What was measured\n\n## 13. Glossary\n\nNone.\n"
    ),
    "other scripts": lambda text: text.replace(
        "\n## 4. ",
        "\nGrößen wie „ä“ und 日本語 bleiben erhalten \u2013 auch emoji 🏷️.\n\n## 4. ",
        1,
    ),
    "a greeting and a fence": lambda text: (
        f"Here is the design:\n\n````markdown\n{text}````\n"
    ),
}


def without_cell(row: str) -> str:
    """Return a row that lacks its second cell."""
    first, _, *rest = split_row(row)
    return render_row([first, *rest])
