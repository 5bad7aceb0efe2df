"""Lines that no test can reach here, as the test writer says: what becomes of its word.

Only lines that no test runs can be named, after the writer was told of them. They are
left out of the coverage until the reviewer of the finished change judges the reason; if
it does not hold, they count again and need a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agentos.documents.changes import UnreachableLines
from agentos.documents.findings import Basis, Category, Tier
from agentos.documents.ledger import Change, FindingState, Ledger, LedgerEntry, Said
from agentos.plain_data import from_data, to_data
from agentos.proving.runners.runs import FileCoverage
from agentos.workflows.implementation.rendering import Reader
from agentos.workflows.implementation.state import Data, ImplementationState

ACCEPTED = "accepted"
REFUSED = "refused"
_QUESTION = (
    "No test runs {place}, and none can here, says who wrote the tests: {reason}. Does"
    " that hold?"
)
_NOT_MISSED = "`unreachable:` names none of the lines that no test runs: {}"


@dataclass(frozen=True, slots=True)
class Missed:
    """The lines of a file that no test runs, of which the test writer is told."""

    path: str
    numbers: tuple[int, ...]
    text: str
    """The whole file."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Lines of which the test writer says that no test can reach them here."""

    path: str
    first: int
    last: int
    text: str
    """The lines as they were when they were named."""
    reason: str
    finding: str = ""
    """The id under which the reviewer of the code is asked about it."""
    judged: str = ""
    """What the reviewer said: `accepted` or `refused`."""
    answer: str = ""
    """Why it said so."""

    @property
    def place(self) -> str:
        """Where the lines were when they were named."""
        if self.first == self.last:
            return f"{self.path}, line {self.first}"
        return f"{self.path}, lines {self.first}-{self.last}"


Claims = Iterable[Claim]
Asked = tuple[list[Claim], Ledger]
"""Claims, and the ledger of what the reviewer of the code is asked about."""


def claims_of(state: ImplementationState) -> list[Claim]:
    """Return what the test writer has claimed so far."""
    stored = state.get("claims", ())
    return [from_data(Claim, data) for data in stored]


def missed_in(state: ImplementationState) -> list[Missed]:
    """Return the lines that the test writer is told of."""
    stored = state.get("missed", ())
    return [from_data(Missed, data) for data in stored]


def as_data(records: Iterable[Claim | Missed]) -> list[Data]:
    """Return claims or lines as plain data for the state."""
    data = map(to_data, records)
    return list(data)


def find_missed(files: Mapping[str, FileCoverage], reader: Reader) -> list[Missed]:
    """Return the lines that no test runs, with the texts of their files."""
    missed = []
    for path, file in files.items():
        text = reader.read(path) or ""
        lines = Missed(path, file.missing, text)
        missed.append(lines)
    return missed


def read_claims(
    named: Iterable[UnreachableLines], missed: Iterable[Missed]
) -> tuple[list[Claim], list[str]]:
    """Return the claims about lines that no test runs, and what is wrong with the
    others.
    """
    files = {file.path: file for file in missed}
    claims = []
    problems = []
    for lines in named:
        file = files.get(lines.path)
        claim = None
        if file is not None:
            claim = _claim(lines, file)
        if claim is None:
            problem = _NOT_MISSED.format(lines)
            problems.append(problem)
        else:
            claims.append(claim)
    return claims, problems


def _claim(lines: UnreachableLines, file: Missed) -> Claim | None:
    numbers = list(filter(lines.__contains__, file.numbers))
    if not numbers:
        return None
    first = numbers[0]
    last = numbers[-1]
    rows = file.text.splitlines()
    start = first - 1
    block = rows[start:last]
    text = "\n".join(block)
    return Claim(
        path=file.path,
        first=first,
        last=last,
        text=text,
        reason=lines.reason,
    )


def add_claims(claims: Claims, new: Claims) -> list[Claim]:
    """Return claims with new ones; one about lines of which another one waits for a
    verdict adds nothing.
    """
    known = list(claims)
    waiting = {claim.place for claim in known if not claim.judged}
    for claim in new:
        place = claim.place
        if place not in waiting:
            waiting.add(place)
            known.append(claim)
    return known


def counted(claims: Claims, reader: Reader) -> list[UnreachableLines]:
    """Return the lines that do not count, as they are numbered now."""
    found = []
    for claim in claims:
        if claim.judged == REFUSED:
            continue
        first = _find(claim, reader)
        if first:
            length = claim.last - claim.first
            last = first + length
            lines = UnreachableLines(claim.path, first, last, claim.reason)
            found.append(lines)
    return found


def _find(claim: Claim, reader: Reader) -> int:
    """Return where the lines of a claim begin now; 0 if they have changed, or could be
    at several places.
    """
    text = reader.read(claim.path) or ""
    rows = text.splitlines()
    wanted = claim.text.splitlines()
    length = len(wanted)
    places = []
    for start in range(len(rows)):
        end = start + length
        block = rows[start:end]
        if block == wanted:
            number = start + 1
            places.append(number)
    if claim.first in places:
        return claim.first
    if len(places) == 1:
        return places[0]
    return 0


def ask_reviewer(
    claims: Claims,
    ledger: Ledger,
    reader: Reader,
    said: Said,
) -> Asked:
    """Add the claims that nobody has judged to the findings that the reviewer has to
    settle.
    """
    asked = []
    for claim in claims:
        first = _find(claim, reader)
        if first and not claim.finding:
            number = ledger.last + 1
            id = f"F{number}"
            claim = replace(claim, finding=id)
            entry = _open(claim, first, said)
            entries = (*ledger.entries, entry)
            ledger = replace(ledger, entries=entries, last=number)
        asked.append(claim)
    return asked, ledger


def _open(claim: Claim, first: int, said: Said) -> LedgerEntry:
    length = claim.last - claim.first
    last = first + length
    moved = replace(claim, first=first, last=last)
    opened = Change(FindingState.OPEN, said.by, said.on)
    reason = claim.reason.rstrip(".")
    text = _QUESTION.format(place=moved.place, reason=reason)
    return LedgerEntry(
        id=claim.finding,
        # An approval has to say what becomes of it.
        tier=Tier.BLOCKING,
        category=Category.QUALITY,
        section=claim.path,
        text=text,
        basis=Basis.TEXT,
        quotes=(),
        changes=(opened,),
    )


def settle(claims: Claims, ledger: Ledger) -> Asked:
    """Return the claims with the reviewer's word; what it has not settled is refused,
    and is no finding any more: the coverage decides what follows.
    """
    settled = []
    entries = list(ledger.entries)
    for claim in claims:
        entry = ledger.find(claim.finding)
        if entry is not None and not claim.judged:
            claim = _judge(claim, entry)
            if entry.is_open:
                entries.remove(entry)
        settled.append(claim)
    left = tuple(entries)
    return settled, replace(ledger, entries=left)


def _judge(claim: Claim, entry: LedgerEntry) -> Claim:
    judged = ACCEPTED
    if entry.is_open:
        judged = REFUSED
    last = entry.changes[-1]
    return replace(claim, judged=judged, answer=last.reason)


def is_refused(claim: Claim) -> bool:
    """Tell whether the reviewer does not accept a claim."""
    return claim.judged == REFUSED


def say_claims(claims: Claims) -> list[str]:
    """Describe the claims that count, and what the reviewer said of them."""
    lines = []
    for claim in claims:
        if is_refused(claim):
            continue
        line = f"{claim.place}: no test can reach this here: {claim.reason}"
        if claim.judged:
            line += "; the reviewer accepts it"
        if claim.answer:
            line += f": {claim.answer}"
        lines.append(line)
    return lines


def say_refused(claims: Claims) -> list[str]:
    """Describe the claims that the reviewer does not accept, with its reasons."""
    lines = []
    for claim in filter(is_refused, claims):
        answer = claim.answer or "the reviewer does not accept the reason"
        line = f"{claim.place}: a test can reach this: {answer}"
        lines.append(line)
    return lines
