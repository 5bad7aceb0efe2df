"""Collect what a review states as its verdict, and judge whether it is one clear decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from agentos.documents.tables import split_row
from agentos.documents.verdict.blocks import Form, Row
from agentos.documents.verdict.boxes import read_boxes
from agentos.documents.verdict.decisions import LONGEST, Stated, is_condition, read_decision
from agentos.documents.verdict.marks import Option, bare, is_balanced, options, show
from agentos.documents.verdict.model import Decision, VerdictError
from agentos.documents.verdict.parts import Part
from agentos.documents.verdict.quoting import conclusion
from agentos.documents.verdict.titles import (
    Role,
    Title,
    may_name_a_verdict,
    split_label,
    status_label,
    verdict_label,
    words_of,
)
from agentos.documents.verdict.vocabulary import word_set

_LISTS = frozenset({Role.FINDINGS, Role.QUESTIONS, Role.RESOLVED})
_STATING = frozenset({Role.VERDICT, Role.OPENING, Role.REMARKS, Role.SUMMARY})
_TABLED = _STATING | {Role.OTHER}
_PASSES = word_set("pass passed ok okay n a na clear none met yes 100")


class Weight(Enum):
    """How much a statement counts."""

    MAIN = auto()
    SIDE = auto()
    """It cannot make the verdict, but an approval must not contradict it."""
    BOX = auto()
    """A main statement made by a check box."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A decision that stands somewhere in a review, None when it is not clear."""

    line: int
    decision: Decision | None
    text: str
    weight: Weight
    explanation: str = ""


def collect(parts: Sequence[Part], *, is_whole: bool = True) -> list[Statement]:
    """Return every statement of a verdict, in order; raise `VerdictError` where boxes or sections make none."""
    found: list[Statement] = []
    counts: list[int] = []
    for part in parts:
        before = len(found)
        if part.role is not Role.FOREIGN:
            found.extend(_read_part(part))
        counts.append(sum(statement.weight is not Weight.SIDE for statement in found[before:]))
    if is_whole:
        _check_sections(parts, counts)
    return found


def judge(statements: Sequence[Statement]) -> Statement:
    """Return the statement that carries the one clear decision, or raise `VerdictError`."""
    main = [statement for statement in statements if statement.weight is not Weight.SIDE]
    if not main:
        where = statements[0].line if statements else 0
        raise VerdictError("no verdict is stated where a verdict stands", where)
    for statement in main:
        if statement.decision is None:
            raise VerdictError(f"the verdict is not clear: {statement.text[:80]!r}", statement.line)
    checked = [statement for statement in main if statement.weight is Weight.BOX]
    if len(checked) > 1:
        raise VerdictError(f"boxes are checked twice, on line {checked[0].line} too", checked[1].line)
    first = main[0]
    for statement in main[1:]:
        if statement.decision is not first.decision:
            told = f"{first.decision} on line {first.line}, then {statement.decision}"
            raise VerdictError(f"the verdict contradicts itself: {told}", statement.line)
    if first.decision is Decision.APPROVED:
        for statement in statements:
            if statement.decision is not Decision.APPROVED:
                raise VerdictError(f"the approval is contradicted by {statement.text[:80]!r}", statement.line)
    return max(main, key=lambda statement: len(statement.explanation) > 0)


def _check_sections(parts: Sequence[Part], counts: Sequence[int]) -> None:
    """Raise `VerdictError` for a verdict section without a decision, or a second one of the same name."""
    seen: dict[str, int] = {}
    for index, part in enumerate(parts):
        if part.role is not Role.VERDICT or part.level > 6:
            continue
        name = " ".join(words_of(part.heading))
        if name in seen and part.title.is_strong:
            raise VerdictError(f"a second section {part.heading[:60]!r}, after line {seen[name]}", part.number)
        seen[name] = part.number
        end = index + 1
        while end < len(parts) and parts[end].level > part.level:
            end += 1
        if part.title.is_strong and not any(counts[index:end]):
            raise VerdictError(f"the section {part.heading[:60]!r} states no decision", part.number)


def _read_part(part: Part) -> Iterator[Statement]:
    found = list(_read_heading(part))
    yield from found
    has_stated = bool(found)
    run: list[tuple[int, Option]] = []
    rule = Form.RULE
    for index, row in enumerate(part.rows):
        if not row.states:
            continue
        boxes = options(row.bare)
        if boxes and not _is_opening_line(part, index, boxes):
            run.extend((row.number, option) for option in boxes)
            last = boxes[-1]
            text = _with_rest(last.text, part.rows, index)
            if _is_torn(row.text, text):
                text = f"? {text}"
            run[-1] = row.number, Option(last.box, text)
            continue
        if row.form is rule:
            continue
        if run:
            made = list(_close_run(run, part))
            yield from made
            has_stated, run = has_stated or bool(made), []
        if not (row.is_first or row.may_name_a_verdict):
            # Only a row that begins something, or names the verdict, can state one.
            continue
        for statement in _read_row(part, index, has_stated):
            yield statement
            has_stated = has_stated or statement.weight is not Weight.SIDE
    yield from _close_run(run, part)


def _close_run(run: Sequence[tuple[int, Option]], part: Part) -> Iterator[Statement]:
    if part.role is Role.RESOLVED:
        return
    checked = read_boxes(run, is_verdict=part.role is Role.VERDICT)
    if checked is None:
        return
    line, option = checked
    stated = read_decision(option.text)
    decision = stated.decision if stated else None
    if part.role in _STATING:
        yield Statement(line, decision, option.text, Weight.BOX, stated.explanation if stated else "")
    elif decision is not None:
        yield Statement(line, decision, option.text, Weight.SIDE)


def _read_heading(part: Part) -> Iterator[Statement]:
    if part.role in (Role.COVERAGE, Role.GATE):
        yield from _oppose(part.number, part.title.value)
        return
    if part.role is Role.OPENING and part.level == 1:
        yield from _read_first_title(part)
        return
    value = part.title.value if part.role is Role.VERDICT else ""
    if not value and part.parent is Role.VERDICT and part.is_child and part.level < 7:
        value = bare(part.heading)
        if read_decision(value) is None:
            return
    if not value:
        return
    stated = read_decision(value)
    if stated is None and not part.title.is_strong:
        return
    yield _state(part.number, part.heading, stated, Weight.MAIN)


def _read_first_title(part: Part) -> Iterator[Statement]:
    """Read `# APPROVED` and `# LLD Review #42: APPROVED`; the title of the document itself states nothing."""
    clean = bare(part.heading)
    label, value = split_label(clean)
    words = words_of(label)
    is_review = "review" in words and words[-1:] != ["review"] and words[-1].isdigit()
    stated = read_decision(value if is_review else clean)
    if stated is not None and stated.is_emphatic:
        yield _state(part.number, part.heading, stated, Weight.MAIN)


def _read_row(part: Part, index: int, has_stated: bool) -> Iterator[Statement]:
    row = part.rows[index]
    if row.form is Form.TABLE:
        yield from _read_table_row(part, index)
        return
    label, value = _split_verdict(row.bare) if row.may_name_a_verdict else ("", row.bare)
    labelled = words_of(label)
    noun = verdict_label(labelled) or status_label(labelled)
    if part.role in (Role.COVERAGE, Role.GATE):
        yield from _oppose(row.number, value if noun else row.text if row.is_first else "")
        return
    if noun and not (row.form is Form.ITEM and part.role in _LISTS):
        yield from _read_label(part, row, noun, _with_rest(value, part.rows, index))
        return
    if row.is_first and _is_opening(part, index):
        stated = read_decision(_with_rest(row.bare, part.rows, index))
        if stated is not None and (stated.is_emphatic or _is_marked(row.text, stated)):
            yield _state(row.number, row.text, stated, Weight.MAIN)
        return
    if not row.is_first or part.role not in (Role.VERDICT, Role.REMARKS):
        return
    text = row.bare
    if part.role is Role.VERDICT and read_decision(text) is not None:
        stated = read_decision(_with_rest(text, part.rows, index))
        if stated is not None and (not has_stated or stated.is_emphatic):
            yield _state(row.number, row.text, stated, Weight.MAIN)
            return
    if part.role is Role.VERDICT and not has_stated:
        last = conclusion(_with_rest(text, part.rows, index))
        if last:
            yield _state(row.number, row.text, read_decision(last), Weight.MAIN)
            return
    if (part.role is Role.VERDICT or part.parent is Role.VERDICT) and is_condition(text):
        yield Statement(row.number, None, show(row.text), Weight.SIDE)


def _is_opening(part: Part, index: int) -> bool:
    return not index and part.number == 1 and part.role is Role.OPENING and not part.heading


def _is_opening_line(part: Part, index: int, boxes: Sequence[Option]) -> bool:
    """Tell whether an answer begins with a tick and a decision that is no list of boxes."""
    following = part.rows[1].text if len(part.rows) > 1 and not index else ""
    is_alone = len(boxes) == 1 and not options(bare(following))
    return _is_opening(part, index) and is_alone and part.rows[index].bare[:1] in "\u2705\u2714"


def _is_marked(text: str, stated: Stated) -> bool:
    """Tell whether a first line is bold or ticked as a whole, so that it is more than a sentence."""
    return stated.decision is not None and text.strip(" .!").endswith("**")


def _read_label(part: Part, row: Row, noun: str, value: str) -> Iterator[Statement]:
    boxes = options(value) if value[:1] in ("[", "(", "\u2610", "\u2611") else ()
    if len(boxes) > 1:
        section = replace(part, title=Title(Role.VERDICT)) if part.role in _STATING else part
        yield from _close_run([(row.number, option) for option in boxes], section)
        return
    stated = read_decision(value)
    if stated is None:
        words = words_of(value)
        is_partial = part.role not in (Role.VERDICT, Role.OPENING) and _PASSES.issuperset(words)
        if noun == "verdict" and not is_partial:
            yield Statement(row.number, None, show(row.text), Weight.MAIN)
        return
    if noun not in ("verdict", "decision") and part.role in _LISTS:
        return
    yield _state(row.number, row.text, stated, Weight.SIDE if part.role is Role.OTHER else Weight.MAIN)


def _read_table_row(part: Part, index: int) -> Iterator[Statement]:
    """Read `| Verdict | APPROVED |`, a one-row table with a column Verdict, or a table of options."""
    row = part.rows[index]
    if part.role not in _TABLED:
        return
    cells = split_row(row.text)
    if len(cells) < 2:
        return
    name = bare(cells[0])
    is_reviewer = words_of(name) == ["reviewer"] and words_of(bare(cells[-1])) in (["verdict"], ["decision"])
    if not is_reviewer and not verdict_label(words_of(name.rstrip(":"))):
        return
    weight = Weight.SIDE if part.role is Role.OTHER else Weight.MAIN
    stated = read_decision(bare(cells[1]))
    if stated is not None and not is_reviewer:
        yield _state(row.number, row.text, stated, weight)
        return
    body = [other for other in part.rows[index + 1 : index + 4] if other.form is Form.TABLE]
    column = len(cells) - 1 if is_reviewer else 0
    if len(body) == 2 and not set(body[0].text) - set("|-: \t"):
        only = split_row(body[1].text)
        stated = read_decision(bare(only[column])) if len(only) > column else None
        if stated is not None:
            yield _state(body[1].number, body[1].text, stated, weight)


def _oppose(line: int, value: str) -> Iterator[Statement]:
    """Yield what a gate or the coverage says against the document."""
    stated = read_decision(bare(value)) if value else None
    if stated is not None and stated.decision in (Decision.REVISE, Decision.DISCUSS) and stated.is_emphatic:
        yield Statement(line, stated.decision, show(value), Weight.SIDE)


def _split_verdict(text: str) -> tuple[str, str]:
    """Split a row into a label and its value; `Verdict APPROVED` and `The verdict is APPROVED` count too."""
    if not may_name_a_verdict(text):
        return "", text
    label, value = split_label(text)
    labelled = words_of(label)
    if verdict_label(labelled) or status_label(labelled):
        return label, value
    words = text[:120].split(" ")
    for size in range(1, min(6, len(words))):
        head = " ".join(words[:size])
        if words_of(words[size - 1])[-1:] in (["verdict"], ["decision"], ["is"]) and verdict_label(words_of(head)):
            rest = text[len(head) :].strip()
            stated = read_decision(rest)
            if stated is not None and stated.is_emphatic:
                return head, rest
    return label, value


def _with_rest(value: str, rows: Sequence[Row], index: int) -> str:
    """Add the wrapped lines of a paragraph or an item to its first one."""
    found = [value]
    length = len(value)
    for position in range(index + 1, len(rows)):
        row = rows[position]
        text = row.bare
        if row.is_first or row.form is not Form.TEXT or row.is_hidden or options(text):
            break
        label, _ = split_label(text)
        if label and len(words_of(label)) <= 3:
            break
        found.append(text if text[:1].islower() else f"; {text}")
        length += len(text)
        if length > LONGEST:
            break
    return " ".join(found)


def _state(line: int, text: str, stated: Stated | None, weight: Weight) -> Statement:
    if stated is None or _is_torn_decision(text, stated):
        return Statement(line, None, show(text), weight)
    return Statement(line, stated.decision, show(text), weight, stated.explanation)


def _is_torn_decision(text: str, stated: Stated) -> bool:
    return stated.decision is Decision.APPROVED and not _is_whole(text)


def _is_torn(text: str, offered: str) -> bool:
    stated = read_decision(offered)
    return stated is not None and _is_torn_decision(text, stated)


def _is_whole(text: str) -> bool:
    """Tell whether the emphasis of a statement is closed, at least before its explanation."""
    if is_balanced(text):
        return True
    places = [place for mark in (" - ", " \u2013 ", " \u2014 ", ". ", " (") if (place := text.find(mark)) > 0]
    return bool(places) and is_balanced(text[: min(places)])
