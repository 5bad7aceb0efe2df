"""Judge one item by its own text: what is contradictory, vague, missing or too large."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.backlog.triage import Class, Complaint
from agentos.backlog.triage.demands import Demands, read_demands
from agentos.backlog.triage.figures import Measure, Measures
from agentos.documents.clarity import asserts_nothing, vague_words
from agentos.kinds import Kind

MOST_CRITERIA = 40
MOST_BYTES = 200_000
FEWEST_WORDS = 20
_MOST_OF_A_KIND = 5


def judge(text: str, workflow: Kind) -> tuple[Demands, tuple[Complaint, ...]]:
    """Return the demands of an item and the complaints about it."""
    size = len(text.encode("utf-8", "replace"))
    demands = read_demands(text, workflow)
    found = [
        *_check_size(demands, size),
        *_check_figures(demands),
        *_check_substance(demands, workflow),
        *_check_measures(demands, workflow),
        *_check_questions(demands),
    ]
    return demands, tuple(found)


def _check_size(demands: Demands, size: int) -> Iterator[Complaint]:
    advice = "split it into items that can be designed and reviewed on their own"
    if size > MOST_BYTES:
        what = f"{size / 1000:.0f} kB of text, more than {MOST_BYTES // 1000} kB"
        yield Complaint(
            Class.TOO_LARGE,
            what,
            advice,
        )
    if len(demands.criteria) > MOST_CRITERIA:
        what = f"{len(demands.criteria)} acceptance criteria, more than {MOST_CRITERIA}"
        yield Complaint(
            Class.TOO_LARGE,
            what,
            advice,
        )


def _check_figures(demands: Demands) -> Iterator[Complaint]:
    measures = Measures()
    found = 0
    for measure in demands.measures():
        other = measures.find_conflict(measure)
        measures.add(measure)
        if other is None:
            continue
        yield _describe_conflict(demands, measure, other)
        found += 1
        if found == _MOST_OF_A_KIND:
            return


def _describe_conflict(demands: Demands, one: Measure, other: Measure) -> Complaint:
    lines = demands.lines_of(other.statement, one.statement)
    if lines != tuple(sorted(lines)):
        one, other = other, one
    what = (
        f"{demands.quote(other.statement)} against {demands.quote(one.statement)}:"
        f" {other.figure.text} or {one.figure.text}"
    )
    advice = "settle on one of the two"
    return Complaint(Class.CONTRADICTORY, what, advice, tuple(sorted(lines)))


def _check_substance(demands: Demands, workflow: Kind) -> Iterator[Complaint]:
    """Yield what says too little."""
    if not demands.title:
        what = "no title: neither a heading nor a first line"
        advice = "begin it with a heading such as '# 42 - Export to CSV'"
        yield Complaint(Class.VAGUE, what, advice, is_serious=False)
    words = len(demands.text.split())
    if words < FEWEST_WORDS:
        what = f"{words} words in all, fewer than {FEWEST_WORDS}"
        advice = "say what is wrong today and what must be true afterwards"
        yield Complaint(
            Class.VAGUE,
            what,
            advice,
        )
    elif not demands.is_aimed:
        what = "no objective, no user story and no background"
        advice = "say in a sentence what it is for"
        yield Complaint(
            Class.VAGUE,
            what,
            advice,
            is_serious=False,
        )
    if demands.has_criteria or not workflow.record.takes_issues:
        return
    if demands.requirements or demands.criteria:
        what = "requirements, but no acceptance criteria"
        advice = (
            "add a section Acceptance Criteria with what decides whether it is done"
        )
        yield Complaint(
            Class.NO_CRITERIA,
            what,
            advice,
            is_serious=False,
        )
    else:
        what = "neither acceptance criteria nor requirements"
        advice = "add a section Acceptance Criteria with what must be true at the end"
        yield Complaint(
            Class.NO_CRITERIA,
            what,
            advice,
        )


def _check_measures(demands: Demands, workflow: Kind) -> Iterator[Complaint]:
    """Yield criteria that cannot be measured, and criteria that all say nothing."""
    name = "criterion" if workflow.record.takes_issues else "wish"
    vague = [text for text in demands.criteria if vague_words(text)]
    for text in vague[:_MOST_OF_A_KIND]:
        listed = " and ".join(f"'{word}'" for word in vague_words(text))
        what = f"{demands.quote(text)}: no measure for {listed}"
        advice = f"give the {name} a figure, a name or a result that can be seen"
        yield Complaint(
            Class.VAGUE,
            what,
            advice,
            demands.lines_of(text),
        )
    rest = len(vague) - _MOST_OF_A_KIND
    if rest > 0:
        what = f"{rest} more of its lines have no measure"
        yield Complaint(
            Class.VAGUE,
            what,
            f"give each {name} one",
        )
    if not workflow.record.takes_issues or vague or not demands.criteria:
        return
    if all(asserts_nothing(text) for text in demands.criteria):
        first = demands.criteria[0]
        what = f"{demands.quote(first)}: no criterion says more than that it works"
        advice = "say what can be seen when it works"
        yield Complaint(
            Class.VAGUE,
            what,
            advice,
            demands.lines_of(first),
        )


def _check_questions(demands: Demands) -> Iterator[Complaint]:
    for question in demands.open_questions[:_MOST_OF_A_KIND]:
        what = f"{demands.quote(question)} has no answer"
        advice = "answer it in the text, or leave it to the reviewer"
        lines = demands.lines_of(question)
        yield Complaint(
            Class.OPEN_QUESTION,
            what,
            advice,
            lines,
            is_serious=False,
        )
