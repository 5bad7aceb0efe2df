"""Judge one item by its own text: what contradicts itself, what cannot be measured, what is missing or too much."""

from __future__ import annotations

from collections.abc import Iterator

from agentos.documents.clarity import asserts_nothing, vague_words
from agentos.task import Workflow
from agentos.triage import Class, Complaint
from agentos.triage.contradictions import contradicts_exclusion, find_contradictions
from agentos.triage.demands import Demands, read_demands

MOST_CRITERIA = 40
MOST_BYTES = 200_000
FEWEST_WORDS = 20
_MOST_OF_A_KIND = 5
_MOST_PAIRS = 4_000


def judge(text: str, workflow: Workflow) -> tuple[Demands, tuple[Complaint, ...]]:
    """Return what an item demands and what is wrong with it by itself."""
    size = len(text.encode("utf-8", "replace"))
    demands = read_demands(text, workflow)
    found = [
        *_check_size(demands, size),
        *_check_contradictions(demands),
        *_check_exclusions(demands),
        *_check_substance(demands, workflow),
        *_check_measures(demands, workflow),
        *_check_questions(demands),
    ]
    return demands, tuple(found)


def _check_size(demands: Demands, size: int) -> Iterator[Complaint]:
    advice = "split it into items that can be designed and reviewed on their own"
    if size > MOST_BYTES:
        yield Complaint(Class.TOO_LARGE, f"{size / 1000:.0f} kB of text, more than {MOST_BYTES // 1000} kB", advice)
    if len(demands.criteria) > MOST_CRITERIA:
        what = f"{len(demands.criteria)} acceptance criteria, more than {MOST_CRITERIA}"
        yield Complaint(Class.TOO_LARGE, what, advice)


def _check_contradictions(demands: Demands) -> Iterator[Complaint]:
    statements = [*demands.criteria, *demands.requirements]
    for number, clash in enumerate(find_contradictions(statements)):
        if number == _MOST_OF_A_KIND:
            return
        places = sorted(
            (demands.line_of(text), text, word)
            for text, word in ((clash.one, clash.first), (clash.other, clash.second))
        )
        (first, text, word), (second, other, against) = places
        yield Complaint(
            Class.CONTRADICTORY,
            f"{_at(first)}{_quote(text)} against {_at(second)}{_quote(other)}: {word} or {against}",
            "settle on one of the two",
            _lines(first, second),
        )


def _check_exclusions(demands: Demands) -> Iterator[Complaint]:
    found = 0
    statements = [*demands.criteria, *demands.requirements]
    for number, exclusion in enumerate(demands.out_of_scope):
        if (number + 1) * len(statements) > _MOST_PAIRS or found == _MOST_OF_A_KIND:
            return
        for statement in statements:
            words = contradicts_exclusion(statement, exclusion)
            if words:
                found += 1
                asked, excluded = demands.line_of(statement), demands.line_of(exclusion)
                yield Complaint(
                    Class.CONTRADICTORY,
                    f"{_at(asked)}{_quote(statement)} asks for what {_at(excluded)}puts out of scope: {_quote(words)}",
                    "take one of the two lines out",
                    _lines(asked, excluded),
                )
                break


def _check_substance(demands: Demands, workflow: Workflow) -> Iterator[Complaint]:
    """Find what the workflow itself would refuse, and what says too little to begin with."""
    if demands.defects:
        yield Complaint(Class.UNUSABLE, "; ".join(demands.defects), "mend it: the workflow refuses it as it is")
        return
    words = len(demands.text.split())
    if words < FEWEST_WORDS:
        what = f"{words} words in all, fewer than {FEWEST_WORDS}"
        yield Complaint(Class.VAGUE, what, "say what is wrong today and what must be true afterwards")
    elif not demands.is_aimed:
        what = "no objective, no user story and no background"
        yield Complaint(Class.VAGUE, what, "say in a sentence what it is for", is_serious=False)
    if demands.criteria or workflow is Workflow.ISSUE:
        return
    if demands.requirements:
        what = "requirements, but no acceptance criteria"
        advice = "add a section Acceptance Criteria with what decides whether it is done"
        yield Complaint(Class.NO_CRITERIA, what, advice, is_serious=False)
    else:
        what = "neither acceptance criteria nor requirements"
        yield Complaint(Class.NO_CRITERIA, what, "add a section Acceptance Criteria with what must be true at the end")


def _check_measures(demands: Demands, workflow: Workflow) -> Iterator[Complaint]:
    """Find criteria that nobody can measure; all of them empty is as bad as one of them vague."""
    name = "wish" if workflow is Workflow.ISSUE else "criterion"
    vague = [(text, words) for text in demands.criteria if (words := vague_words(text))]
    for text, words in vague[:_MOST_OF_A_KIND]:
        line = demands.line_of(text)
        listed = " and ".join(f"'{word}'" for word in words)
        what = f"{_at(line)}{_quote(text)}: no measure for {listed}"
        yield Complaint(
            Class.VAGUE, what, f"give the {name} a figure, a name or a result that can be seen", _lines(line)
        )
    if len(vague) > _MOST_OF_A_KIND:
        rest = len(vague) - _MOST_OF_A_KIND
        yield Complaint(Class.VAGUE, f"{rest} more of its lines have no measure", f"give each {name} one")
    if workflow is not Workflow.ISSUE and demands.criteria and not vague:
        empty = [text for text in demands.criteria if asserts_nothing(text)]
        if len(empty) == len(demands.criteria):
            line = demands.line_of(empty[0])
            what = f"{_at(line)}{_quote(empty[0])}: no criterion says more than that it works"
            yield Complaint(Class.VAGUE, what, "say what can be seen when it works", _lines(line))


def _check_questions(demands: Demands) -> Iterator[Complaint]:
    for question in demands.open_questions[:_MOST_OF_A_KIND]:
        line = demands.line_of(question)
        what = f"{_at(line)}{_quote(question)} has no answer"
        yield Complaint(
            Class.OPEN_QUESTION,
            what,
            "answer it in the text, or leave it to the reviewer",
            _lines(line),
            is_serious=False,
        )


def _at(line: int) -> str:
    return f"line {line} " if line else ""


def _lines(*lines: int) -> tuple[int, ...]:
    return tuple(line for line in lines if line)


def _quote(text: str, limit: int = 100) -> str:
    flat = " ".join(text[: 2 * limit].split())
    return f'"{flat}"' if len(flat) <= limit else f'"{flat[: limit - 3].rstrip()}..."'
