"""Compare the words of a design, as hints for its reviewer.

None of this sends a design back: words alone prove nothing.
"""

from __future__ import annotations

import itertools

from agentos.documents.clarity import asserts_nothing, vague_words
from agentos.documents.findings import Findings
from agentos.documents.hazards import find_placeholders, is_unfilled
from agentos.documents.hints import MOST_HINTS, compare, hint, quote
from agentos.documents.issue import Issue
from agentos.documents.lld.completeness import find_echo
from agentos.documents.lld.coverage import coverage
from agentos.documents.lld.model import Lld
from agentos.documents.words import normalize


def find_hints(lld: Lld, issue: Issue) -> Findings:
    """Yield a question for everything in the words of a design that looks odd."""
    rules = (
        _compare_criteria(lld, issue),
        _compare_scenarios(lld),
        _find_vague_words(lld),
        _find_empty_results(lld),
        _find_placeholders(lld, issue),
    )
    for rule in rules:
        yield from itertools.islice(rule, MOST_HINTS)
    echo = find_echo(lld, issue)
    if echo:
        line, what = echo
        row = lld.row(line)
        yield hint(
            "echo",
            "",
            line,
            f"{what}: {quote(row)}. Does it belong there?",
        )


def _compare_criteria(lld: Lld, issue: Issue) -> Findings:
    texts = [requirement.text for requirement in lld.requirements]
    section = lld.sections.get(3)
    if section is None:
        return
    answers = issue.open_questions
    for number, question in compare(issue.criteria, texts, "issue", "design", answers):
        yield hint(
            f"criterion-{number}",
            "3",
            section.line,
            question,
        )


def _compare_scenarios(lld: Lld) -> Findings:
    """Yield the requirements without a scenario of like words, if none is cited."""
    if lld.cites_requirements or not lld.scenarios:
        return
    for requirement, row in zip(lld.requirements, coverage(lld), strict=True):
        if row.covered:
            continue
        text = (
            f"no scenario cites {row.requirement}, and none has its words:"
            f" {quote(row.text)}. Which scenario would fail without it?"
        )
        yield hint(f"uncovered-{row.requirement}", "10.1", requirement.line, text)


def _find_vague_words(lld: Lld) -> Findings:
    for requirement in lld.requirements:
        vague = vague_words(requirement.text)
        if not vague:
            continue
        text = (
            f"{requirement.id} says {', '.join(vague)!r} and names no measure:"
            f" {quote(requirement.text)}. What would a test assert?"
        )
        yield hint(f"vague-{requirement.id}", "3", requirement.line, text)


def _find_empty_results(lld: Lld) -> Findings:
    """Yield the scenarios that expect nothing, or nothing but the requirement's words."""
    said = {}
    for requirement in lld.requirements:
        said[normalize(requirement.text)] = requirement.id
    for scenario in lld.scenarios:
        expected = scenario.expected
        both = f"{expected} {scenario.pass_criteria}"
        same = said.get(normalize(expected), "")
        if same and normalize(scenario.pass_criteria) in ("", normalize(expected)):
            text = (
                f"scenario {scenario.id} expects what {same} says: {quote(expected)}."
            )
        elif any(map(str.isalpha, both)) and asserts_nothing(both):
            text = f"scenario {scenario.id} expects no more than {quote(both)}."
        else:
            continue
        question = f"{text} What would a test assert?"
        yield hint(f"expected-{scenario.id[:40]}", "10.1", scenario.line, question)


def _find_placeholders(lld: Lld, issue: Issue) -> Findings:
    """Yield words such as `TODO`, unless the issue has them too."""
    asked = issue.text.casefold()
    for number, section in lld.sections.items():
        for line, word in find_placeholders(section.lines):
            if is_unfilled(word) or word.casefold() in asked:
                continue
            row = lld.row(line)
            text = f"{word!r} stands in {quote(row)}. Was something left open?"
            yield hint(f"placeholder-{number}", str(number), line, text)
