"""What a fuzzer calls to try the readers of designs, issues and briefs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentos.documents.answers import parse_answers, render_answers
from agentos.documents.brief import parse_brief
from agentos.documents.dependencies import dependencies
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec
from agentos.documents.lld import check_lld, coverage, parse_lld, unwrap
from agentos.documents.markdown import items, paragraphs, scan, sections
from agentos.documents.tables import tables

_ISSUE = parse_issue(
    "# 7 - T\n\n## Acceptance Criteria\n\n- [ ] A label is printed\n- [ ] `--all` lists TODO\n"
)
_BRIEF = parse_brief("# 7 - T\n\nNumbers are wrong.\n\n- Print a label\n")


def try_lld(text: str) -> None:
    """Read, check and unwrap a design; without its wrapping it reads equal."""
    lld = parse_lld(text)
    check_lld(lld, _ISSUE, lld)
    coverage(lld)
    plain = unwrap(text)
    assert unwrap(plain) == plain
    assert parse_lld(plain) == lld


def try_issue(text: str) -> None:
    """Read and check an issue."""
    issue = parse_issue(text)
    check_issue_spec(issue, _BRIEF, issue)


def try_brief(text: str) -> None:
    """Read a brief, and check an issue against it."""
    check_issue_spec(_ISSUE, parse_brief(text))


def try_markdown(text: str) -> None:
    """Read lines, lists and paragraphs; every line is classified once, in order."""
    lines = scan(text)
    assert [line.number for line in lines] == list(range(1, text.count("\n") + 2))
    found = sections(lines)
    assert all(lines[section.line - 1].level == section.level for section in found)
    begun = {line.number for line in lines if line.item}
    assert {item.line for item in items(lines)} <= begun
    paragraphs(lines)


def try_tables(text: str) -> None:
    """Read tables; every row is as wide as its header."""
    for table in tables(scan(text)):
        assert all(len(row) == len(table.header) for row in table.rows)


def try_answers(text: str) -> None:
    """Read answers of people; what is written reads back equal."""
    answers = parse_answers(text)
    assert parse_answers(render_answers("LLD-7", answers)) == answers


def try_dependencies(text: str) -> None:
    """Read what an issue depends on."""
    assert len(set(dependencies(text))) == len(dependencies(text))


TARGETS: Mapping[str, Callable[[str], None]] = {
    "lld": try_lld,
    "issue": try_issue,
    "brief": try_brief,
    "markdown": try_markdown,
    "tables": try_tables,
    "answers": try_answers,
    "dependencies": try_dependencies,
}
