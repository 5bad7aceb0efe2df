"""Review a design against its issue, by rules, seeing nothing but the two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.bounds import bounds
from agentos.documents.clarity import asserts_nothing, vague_words
from agentos.documents.failures import FailurePath, failure_paths
from agentos.documents.findings import Category, Finding, Tier, blocks_approval, without_repeats
from agentos.documents.hazards import has_secret
from agentos.documents.issue import Issue, is_settled, parse_issue
from agentos.documents.lld import Lld, LldRequirement, check_lld, coverage, parse_lld
from agentos.documents.verdict import CoverageRow, Decision, ResolvedQuestion, Verdict
from agentos.documents.words import Figure, WordIndex, code_spans, figures, keywords, likeness, limits, share

CONTRADICTION = "contradiction-"
_LONGEST_ISSUE = 300_000
_MOST_FINDINGS = 100
_MOST_LOOKUPS = 400
_ALIKE = 0.45
_SAID = 0.6
_NUMBER = re.compile(r"\d[\d,]{0,11}")


def review_lld(issue_text: str, draft: str) -> Verdict:
    """Return the verdict of the rules on a design."""
    if len(issue_text) > _LONGEST_ISSUE:
        question = f"The issue has {len(issue_text)} characters; into which smaller issues shall it be split?"
        return Verdict(Decision.DISCUSS, "The issue is too long to be one design.", questions=(question,))
    issue, lld = parse_issue(issue_text), parse_lld(draft)
    rows = coverage(lld)
    findings = without_repeats(
        [
            *check_lld(lld, issue, None),
            *_check_departures(lld, issue),
            *_check_requirements(lld, issue),
            *_check_contradictions(lld),
            *_check_scenarios(lld),
            *_check_failures(lld, issue),
            *_check_bounds(lld),
            *_suggest(lld, issue),
        ]
    )
    questions = (*_questions(issue), *_ask_which_holds(findings, issue))
    decision = _decide(findings, rows, questions)
    return Verdict(
        decision,
        _summarise(decision, lld, findings, rows, questions),
        findings[:_MOST_FINDINGS],
        tuple(ResolvedQuestion(q.text, q.answer) for q in issue.open_questions if q.answer)[:50],
        questions[:50],
        rows[: 10 * _MOST_FINDINGS],
    )


def _decide(findings: Sequence[Finding], rows: Sequence[CoverageRow], questions: Sequence[str]) -> Decision:
    if questions:
        return Decision.DISCUSS
    if any(blocks_approval(finding) for finding in findings) or not all(row.covered for row in rows):
        return Decision.REVISE
    return Decision.APPROVED if rows else Decision.REVISE


def _summarise(
    decision: Decision,
    lld: Lld,
    findings: Sequence[Finding],
    rows: Sequence[CoverageRow],
    questions: Sequence[str],
) -> str:
    covered = sum(row.covered for row in rows)
    heavy = sum(blocks_approval(finding) for finding in findings)
    facts = (
        f"{len(lld.sections)} of 12 sections, {len(lld.scenarios)} scenarios, "
        f"{covered} of {len(rows)} requirements tested. Reviewed by rules; no model was asked."
    )
    match decision:
        case Decision.APPROVED:
            return f"No blocking or high-priority finding. {facts}"
        case Decision.DISCUSS:
            return f"{len(questions)} question(s) that no rule can answer. {facts}"
        case _:
            shown = f" The first {_MOST_FINDINGS} are listed." if len(findings) > _MOST_FINDINGS else ""
            return f"{heavy} finding(s) to mend before approval.{shown} {facts}"


def _high(id: str, section: str, text: str, category: Category = Category.QUALITY) -> Finding:
    return Finding(id, Tier.HIGH, category, section, text)


def _check_departures(lld: Lld, issue: Issue) -> Iterator[Finding]:
    """Compare the figures and names of each requirement with those of the sentence it comes from."""
    sentences = _sentences(issue)
    index = WordIndex(sentences)
    lookups = 0
    for requirement in lld.requirements:
        if index.exact(requirement.text) is not None and _same_names(requirement.text, sentences, index):
            continue
        lookups += 1
        nearest = index.nearest(requirement.text) if lookups <= _MOST_LOOKUPS else None
        if nearest is None or nearest[1] < _ALIKE:
            continue
        source = sentences[nearest[0]]
        lost = _lost(source, requirement.text)
        if lost:
            yield _high(
                f"differs-{requirement.id}",
                "3",
                f'{requirement.id} departs from the issue: {", ".join(lost)} of "{_short(source)}" is not in '
                f'"{_short(requirement.text)}".',
            )


def _same_names(text: str, sentences: Sequence[str], index: WordIndex) -> bool:
    exact = index.exact(text)
    return exact is not None and code_spans(sentences[exact]) == code_spans(text)


def _lost(source: str, text: str) -> list[str]:
    """Return the figures and names of the source that the text does not have."""
    present = {round(figure.value, 6) for figure in figures(text)}
    lost = [figure.text for figure in figures(source) if round(figure.value, 6) not in present]
    return lost + [f"`{span}`" for span in code_spans(source) if span not in text]


def _sentences(issue: Issue) -> list[str]:
    steps = (step for scenario in issue.scenarios for step in scenario.steps)
    return [*issue.criteria, *(requirement.text for requirement in issue.requirements), *steps]


def _check_requirements(lld: Lld, issue: Issue) -> Iterator[Finding]:
    index = WordIndex([requirement.text for requirement in lld.requirements])
    lookups = 0
    for number, requirement in enumerate(issue.requirements, 1):
        if index.exact(requirement.text) is not None:
            continue
        lookups += 1
        nearest = index.nearest(requirement.text) if lookups <= _MOST_LOOKUPS else None
        if nearest is None or share(keywords(requirement.text), index.words[nearest[0]]) < _SAID:
            yield _high(
                f"requirement-{number}-absent",
                "3",
                f"The design leaves out a requirement of the issue: {_short(requirement.text)}",
            )


def _check_contradictions(lld: Lld) -> Iterator[Finding]:
    """Find two requirements that give different figures for the same thing."""
    limited = [(req, limits(req.text), _without_figures(req.text)) for req in lld.requirements]
    limited = [entry for entry in limited if entry[1]][:150]
    for position, (one, figures_one, words_one) in enumerate(limited):
        for other, figures_other, words_other in limited[position + 1 :]:
            pair = _clash(figures_one, figures_other)
            if pair and likeness(words_one, words_other) >= 0.5:
                yield _contradiction(one, other, *pair)


def _contradiction(one: LldRequirement, other: LldRequirement, first: Figure, second: Figure) -> Finding:
    return _high(
        f"{CONTRADICTION}{one.id}-{other.id}",
        "3",
        f"{one.id} says {first.text} and {other.id} says {second.text} of the same thing: "
        f'"{_short(one.text)}" against "{_short(other.text)}". Both cannot be tested; the issue has to be mended.',
    )


def _without_figures(text: str) -> frozenset[str]:
    return frozenset(word for word in keywords(text) if not word[0].isdigit())


def _clash(one: Sequence[Figure], other: Sequence[Figure]) -> tuple[Figure, Figure] | None:
    for first in one:
        same = [figure for figure in other if figure.unit == first.unit]
        if same and all(abs(figure.value - first.value) > 1e-9 for figure in same):
            return first, same[0]
    return None


def _check_scenarios(lld: Lld) -> Iterator[Finding]:
    for scenario in lld.scenarios:
        if asserts_nothing(f"{scenario.expected} {scenario.pass_criteria}"):
            yield _high(
                f"asserts-nothing-{scenario.id}",
                "10.1",
                f'Scenario {scenario.id} asserts nothing: its expected output is "{_short(scenario.expected)}".',
            )


def _check_failures(lld: Lld, issue: Issue) -> Iterator[Finding]:
    rows = [f"{s.name} {s.input} {s.expected} {s.pass_criteria}" for s in lld.scenarios]
    joined = "\n".join(rows)
    words = [keywords(row) for row in rows[:500]]
    for path in failure_paths(issue)[:100]:
        if not _is_walked(path, joined, words):
            yield _high(
                f"error-path-{path.number}",
                "10.1",
                f'The issue describes a failure that no scenario walks through: "{_short(path.scenario.title)}" '
                f"({_short(path.cause)}).",
            )


def _is_walked(path: FailurePath, joined: str, words: Sequence[frozenset[str]]) -> bool:
    """A failure is walked through when its cause and all that it must show are in the scenarios."""
    cause = keywords(path.cause)
    has_cause = any(share(cause, row) >= 0.6 for row in words)
    return has_cause and all(literal in joined for literal in path.literals)


def _check_bounds(lld: Lld) -> Iterator[Finding]:
    inputs: dict[str, list[str]] = {}
    for scenario in lld.scenarios:
        for name in scenario.requirements:
            inputs.setdefault(name, []).append(f"{scenario.name} {scenario.input}")
    for requirement in lld.requirements[:_MOST_LOOKUPS]:
        for bound in bounds(requirement.text):
            tried = {
                int(digits.replace(",", "")) for text in inputs.get(requirement.id, ()) for digits in _digits(text)
            }
            if bound.beyond >= 0 and bound.beyond not in tried:
                yield _high(
                    f"boundary-{requirement.id}",
                    "10.1",
                    f"{requirement.id} sets a limit of {bound.value}; no scenario goes beyond it with {bound.beyond}.",
                )


def _digits(text: str) -> list[str]:
    return _NUMBER.findall(text[:5000])


def _suggest(lld: Lld, issue: Issue) -> Iterator[Finding]:
    if has_secret(issue.text):
        text = (
            "The issue itself holds something that looks like a credential: replace the credential and edit the issue."
        )
        yield Finding("issue-secret", Tier.SUGGESTION, Category.SECURITY, "", text)
    if not issue.scenarios and not failure_paths(issue):
        text = "The issue walks through no failure; say in it what a user sees when this goes wrong."
        yield Finding("no-failure-told", Tier.SUGGESTION, Category.QUALITY, "10.1", text)
    if not issue.files and 2 in lld.sections:
        text = "The issue lists no files; name them, so that work on other issues can be planned around this one."
        yield Finding("no-files-told", Tier.SUGGESTION, Category.ARCHITECTURE, "2.1", text)


def _questions(issue: Issue) -> Iterator[str]:
    """Ask what only a person can answer: vague criteria and open questions."""
    for number, criterion in enumerate(issue.criteria, 1):
        words = vague_words(criterion)
        if words and not is_settled(_short(criterion).rstrip("…"), issue.open_questions):
            yield (
                f'Acceptance criterion {number} ("{_short(criterion)}") cannot be tested: what measure decides '
                f"whether it is {_listed(words)}?"
            )
    if not issue.criteria and not issue.requirements:
        yield "The issue lists no acceptance criterion and no requirement: what must be true when it is done?"
    for question in issue.open_questions:
        if not question.answer and not is_settled(question.text, issue.open_questions):
            yield f"The issue leaves open: {_short(question.text)}"
    for defect in issue.defects:
        yield f"The issue cannot be designed from: {defect}"


def _ask_which_holds(findings: Sequence[Finding], issue: Issue) -> Iterator[str]:
    """Ask about what the issue itself says in two ways: no revision of the design can decide it."""
    for finding in findings:
        if finding.id.startswith(CONTRADICTION):
            said = finding.text.partition(". Both cannot")[0]
            if not is_settled(said, issue.open_questions):
                yield f"{said}. Which of them holds? Say it in the issue."


def _listed(words: Sequence[str]) -> str:
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _short(text: str, limit: int = 140) -> str:
    flat = " ".join(text[: 2 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
