"""Find what a review says against its own approval, in the text that a reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.findings import Tier
from agentos.documents.tables import tables
from agentos.documents.verdict.blocks import Form, Row
from agentos.documents.verdict.decisions import read_decision
from agentos.documents.verdict.marks import bare, low_letters, options, show
from agentos.documents.verdict.model import Decision, VerdictError
from agentos.documents.verdict.nothing import says_nothing
from agentos.documents.verdict.parts import Part
from agentos.documents.verdict.titles import Role, is_foreign, split_label, tier_of, words_of
from agentos.documents.verdict.vocabulary import word_set

_TRIGGERS = (
    *("not", "first", "before", "chang", "requir", "approved", "approval", "verdict", "decision", "block", "wait"),
    *("has to", "have to", "critical", "revise", "reject", "discuss", "revers", "revok", "rescind", "retract"),
    *("withdraw", "correction", "second thought", "ignore", "disregard", "p0"),
)
"""Without one of these, or one of those below, a text in lower case says nothing against an approval."""
_WHOLE_TRIGGERS = re.compile(r"\bmust|\bneed|tier[ -]?1|don.t")
_MAYBE_TRIGGERS = ("must", "need", "tier", "don")
_ASIDE = re.compile(r'`[^`]{0,300}`|"[^"]{0,300}"|\u201c[^\u201d]{0,300}\u201d')
_SENTENCE = re.compile(r"[.!?]+(?:\s|$)")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|[:;|()=]")
_CAPITALS = frozenset({"REVISE", "DISCUSS", "BLOCK", "BLOCKED", "REJECT", "REJECTED"})
_EARLIER = word_set("was were previous previously earlier prior former formerly initial initially round than longer")
_STILL = word_set("still again now remains remain")
_NEGATIONS = word_set("no not none nothing zero without neither never nor 0 any isn't aren't")
_RESOLVED = word_set("resolved addressed fixed closed cleared previous previously prior earlier former raised")
_OPEN = word_set("remain remains remaining open unresolved outstanding still not unaddressed")
_COUNTS = word_set(
    "a an one two three four five six seven eight nine ten several multiple some another following few many remaining"
    " still has have"
)
_THINGS = word_set("issue issues finding findings problem problems item items count blocking found total blockers")
_FIX = r"(?:fix|fixes|change|changes|rework|revision|revisions|correction|corrections)"
_FIXED = r"(?:fixed|addressed|resolved|corrected|changed|reworked|revised|closed|answered)"
_TAKES_BACK = re.compile(
    r"\b(?:"
    r"(?:withdraw|withdrawing|withdrawn|revoke|revoking|rescind|retract|reverse) (?:my |the |this |that |our )?"
    r"(?:earlier |previous )?(?:approval|verdict|decision)"
    r"|chang(?:e|ed|ing) (?:my|our|the) (?:approval|verdict|decision|mind)"
    r"|(?:ignore|disregard|ignored|disregarded) (?:that|this|it)"
    r"|(?:do not|don't|don\u2019t|cannot|can't) (?:yet )?(?:implement|proceed|ship|approve)"
    r"|(?:do not|don't|don\u2019t) (?:yet )?(?:merge|start|begin) (?:until|before|yet|this|it)"
    r"|(?:must|should|can|may) ?not (?:yet )?be (?:implemented|merged|approved|shipped)"
    r"|not (?:yet )?ready|not (?:yet )?approved"
    r"|take (?:back )?(?:my|the) (?:approval|verdict)|must wait"
    r"|severity (?:[:|(] )?(?:critical|blocker|blocking|p0)"
    r")\b"
    r"|^(?:"
    r"(?:please )?(?:fix|address|resolve|correct|rework) .{0,200}\bfirst$"
    r"|\( (?:critical|blocking|blocker|p0) \)"
    r"|(?:correction|on second thought|wait|actually wait)\b"
    r")"
)
_ORDERS = re.compile(
    rf"\b(?:(?:must|needs to|need to|has to|have to) (?:first |all |still )?(?:be )?(?:first |all )?{_FIXED}"
    rf"|(?:requires?|needs?) (?:(?:a|an|the|some|further|more|one) )?{_FIX})\b"
)
_FIRST = re.compile(r"\bbefore (?:the )?(?:implement|merg|coding|develop|releas|work)")
_FIRST_ORDERS = word_set("fix address resolve needs need must add correct change requires required close has have")


def check_words(parts: Sequence[Part]) -> None:
    """Raise `VerdictError` when a review speaks against its own approval."""
    for part in parts:
        if part.role in (Role.FOREIGN, Role.RESOLVED):
            continue
        is_title = part.role is Role.OPENING or part.role is Role.FINDINGS
        if not is_title and speaks_against(part.heading):
            raise _error(part.number, part.heading)
        is_other_verdict = part.role is Role.OTHER and words_of(part.heading)[-1:] in (["verdict"], ["decision"])
        for line, text in _blocks(part):
            stated = read_decision(bare(text)) if is_other_verdict else None
            if speaks_against(text) or (stated is not None and stated.decision is not Decision.APPROVED):
                raise _error(line, text)
        if part.role is not Role.COVERAGE:
            _check_tables(part)


def speaks_against(text: str) -> bool:
    """Tell whether a text says that something is not approved, not ready or has to be mended first."""
    if not _holds_trigger(low_letters(text)):
        return False
    clean = _ASIDE.sub(" ", bare(text))
    label, value = split_label(clean)
    if label and _is_labelled_against(words_of(label), value):
        return True
    if words_of(clean[-40:])[-1:] == ["not"]:
        return True
    return any(_is_sentence_against(sentence) for sentence in _SENTENCE.split(clean) if sentence)


def _holds_trigger(low: str) -> bool:
    if any(map(low.__contains__, _TRIGGERS)):
        return True
    return any(map(low.__contains__, _MAYBE_TRIGGERS)) and _WHOLE_TRIGGERS.search(low) is not None


def _error(line: int, text: str) -> VerdictError:
    return VerdictError(f"the approval is contradicted by {show(text)[:80]!r}", line)


def _blocks(part: Part) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, items and rows that the reviewer wrote, without the lists of lighter findings."""
    found: list[str] = []
    first = 0
    rule, may_list = Form.RULE, part.role in (Role.COVERAGE, Role.FINDINGS)
    for row in part.rows:
        if found and (row.is_first or _is_labelled(row)):
            yield first, " ".join(found)
            found = []
        if row.is_hidden or row.form is rule or (may_list and _is_listed(part, row)) or _is_option(row):
            continue
        first = first if found else row.number
        found.append(row.text)
    if found:
        yield first, " ".join(found)


def _is_labelled(row: Row) -> bool:
    label, _ = split_label(row.bare if len(row.text) <= 200 else bare(row.text[:200]))
    return 0 < len(words_of(label)) <= 4


def _is_listed(part: Part, row: Row) -> bool:
    if row.form is Form.TABLE:
        return part.role in (Role.COVERAGE, Role.FINDINGS)
    return part.role is Role.FINDINGS and (row.form is Form.ITEM or row.is_nested)


def _is_option(row: Row) -> bool:
    text = row.bare
    boxes = options(text) or options(split_label(text)[1])
    return any(read_decision(option.text) is not None for option in boxes)


def _check_tables(part: Part) -> None:
    """Raise `VerdictError` for a table row that names a blocking finding, or a requirement that is not covered."""
    hidden = {row.number for row in part.rows if row.is_hidden}
    for table in tables(part.lines):
        heads = [_is_blocking(title) for title in table.header]
        for cells, line in zip(table.rows, table.row_lines, strict=True):
            is_counted = any(head and _is_count(cell) for head, cell in zip(heads, cells, strict=False))
            is_gap = any(words_of(cell)[:2] in (["not", "covered"], ["uncovered"]) for cell in cells)
            if line not in hidden and (is_counted or is_gap or _is_blocking_row(cells)):
                raise _error(line, " | ".join(cells))


def _is_blocking(cell: str) -> bool:
    return tier_of(words_of(cell)) is Tier.BLOCKING


def _is_count(cell: str) -> bool:
    return bare(cell).isdecimal() and bool(bare(cell).strip("0"))


def _is_blocking_row(cells: Sequence[str]) -> bool:
    place = next((index for index, cell in enumerate(cells) if _is_blocking(cell)), None)
    if place is None or any(_RESOLVED.intersection(words_of(cell)) for cell in cells):
        return False
    others = [bare(cell) for index, cell in enumerate(cells) if index != place]
    return any(others) and not any(cell == "0" or (cell and says_nothing(cell)) for cell in others)


def _is_labelled_against(words: list[str], value: str) -> bool:
    if words in (["approved"], ["approval"]):
        return words_of(value)[:1] in (["no"], ["false"]) and len(words_of(value)) == 1
    if not words or len(words) > 8 or not {"verdict", "decision"}.intersection(words) or is_foreign(words):
        return False
    stated = read_decision(value)
    return stated is not None and stated.decision in (Decision.REVISE, Decision.DISCUSS)


def _is_sentence_against(sentence: str) -> bool:
    words = _TOKEN.findall(sentence)
    low = [word.casefold() for word in words]
    told = " ".join(low)
    if _TAKES_BACK.search(told) or _is_capital_against(words, low) or _counts_blockers(low):
        return True
    order = _ORDERS.search(told)
    if order is not None and not _NEGATIONS.intersection(told[: order.start()].split()[-8:]):
        return True
    first = _FIRST.search(told)
    before = told[: first.start()].split() if first is not None else []
    return bool(_FIRST_ORDERS.intersection(before)) and not _NEGATIONS.intersection(before)


def _is_capital_against(words: Sequence[str], low: Sequence[str]) -> bool:
    """Tell whether a decision in capitals stands here that is not about an earlier round."""
    for place, word in enumerate(words):
        if word in _CAPITALS:
            before = low[max(0, place - 4) : place]
            is_last = "last" in before and {"round", "review", "time", "verdict"}.intersection(before)
            is_none = before[-1:] in (["no"], ["zero"], ["without"])
            is_earlier = bool(_EARLIER.intersection(before)) or bool(is_last) or is_none
            if not is_earlier or _STILL.intersection(before):
                return True
    return False


def _counts_blockers(low: Sequence[str]) -> bool:
    """Tell whether a sentence speaks of blockers that are there."""
    is_over = bool(_RESOLVED.intersection(low)) and not _OPEN.intersection(low)
    for place, word in enumerate(low):
        is_tier = word == "tier" and low[place + 1 : place + 2] == ["1"]
        if not (is_tier or word in ("blocking", "blocker", "blockers", "tier1")) or is_over:
            continue
        before = list(low[max(0, place - 6) : place])
        if _NEGATIONS.intersection(before) or before[-1:] == ["non"]:
            continue
        if _is_number_after(low, place + 1 + is_tier) or _is_counted(before):
            return True
        if not is_tier and _OPEN.intersection(low[place + 1 : place + 8]) and "not" not in low[place + 1 :]:
            return True
    return False


def _is_counted(before: Sequence[str]) -> bool:
    if before[-1:] in (["is"], ["are"]):
        return True
    for place in range(max(0, len(before) - 3), len(before)):
        word = before[place]
        is_name = place > 0 and before[place - 1] in ("tier", "round", "section")
        if word in _COUNTS or (word.isdecimal() and int(word[:9]) > 0 and not is_name):
            return True
    return False


def _is_number_after(low: Sequence[str], start: int) -> bool:
    is_apart = False
    for word in low[start : start + 8]:
        if word.isdecimal():
            return is_apart and int(word[:9]) > 0
        is_apart = is_apart or word in ":|=("
        if word not in _THINGS and word not in ":|=()":
            return False
    return False
