"""What a fuzzer calls to try the readers of designs, issues and briefs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentos.documents.answers import parse_answers, render_answers
from agentos.documents.blocks import read_outline, render_outline
from agentos.documents.brief import parse_brief
from agentos.documents.dependencies import dependencies
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec
from agentos.documents.lld import check_lld, coverage, parse_lld, render_lld, unwrap
from agentos.documents.markdown import code_blocks, items, paragraphs, scan, sections
from agentos.documents.tables import tables

_ISSUE = parse_issue("# 7 - T\n\n## Acceptance Criteria\n\n- [ ] A label is printed\n- [ ] `--all` lists TODO\n")
_BRIEF = parse_brief("# 7 - T\n\nNumbers are wrong.\n\n- Print a label\n")


def try_lld(text: str) -> None:
    """Read, check, render and unwrap a design; what is rendered reads back equal."""
    lld = parse_lld(text)
    check_lld(lld, _ISSUE, lld)
    coverage(lld)
    assert parse_lld(render_lld(lld)) == lld
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
    """Read lines, lists and code; what is rendered reads back equal."""
    lines = scan(text)
    sections(lines)
    items(lines)
    paragraphs(lines)
    code_blocks(lines)
    parts = read_outline(lines)
    assert read_outline(scan(render_outline(parts))) == parts


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
