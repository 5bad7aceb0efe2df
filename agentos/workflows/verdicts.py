"""Ask a reviewer for a verdict: let it look, and ask again if the answer cannot count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agentos.documents.findings import Basis, Finding, blocks_approval
from agentos.documents.ledger import Ledger, find_silence, open_binding_ids
from agentos.documents.verdict import (
    Decision,
    EarlierState,
    Verdict,
    VerdictError,
    find_object,
    looks_of_reviewer,
    read_verdict,
)
from agentos.errors import ModelFormat
from agentos.gateway.providers import Completion, Message, Speaker
from agentos.repository.look import Looker, looks_in
from agentos.workflows.looking import Conversation, ask_looking, check_quotes

ATTEMPTS = 2
LONGEST_QUOTE = 20_000
"""Characters of an unreadable answer that are sent back."""
_FIELDS = (
    "one JSON object and nothing before or after it: decision (APPROVED, REVISE or"
    " DISCUSS), summary, earlier (a list; each has id, state, reason), findings (a list;"
    " each has id, tier, category, section, text, basis, quotes), resolved_questions (a"
    " list; each has question, answer, basis), source_errors (a list; each has"
    " sentence, quote, reading), questions (a list of texts), coverage (a list; each has"
    " requirement, text, scenarios, covered)"
)
AGAIN = "Your answer could not be read: {}. Give the same judgment again, as " + (
    f"{_FIELDS}. A condition of an approval is a finding."
)
INCOMPLETE = "Your verdict is incomplete: {}. Give it again, whole, as " + (
    f"{_FIELDS}, kept (a list; each has scenario, kept, reason)."
)
SILENT = "Your verdict cannot count: {}. Give it again, whole, as " + f"{_FIELDS}."
NOT_FOUND = (
    "These quoted lines are not in the repository: {}. Look the place up and give the"
    " verdict again, whole, with the line as it stands; a finding without such a line"
    " is a suggestion. Answer with "
) + f"{_FIELDS}."
REMEMBERED = (
    "Your verdict asks for a revision, and all that could bind in it rests on memory: {}."
    " A finding from memory is a suggestion. Look it up and give the verdict again, whole:"
    " with the lines that show it, with what the text itself shows, or as APPROVED with"
    " suggestions. Answer with "
) + f"{_FIELDS}."
NOT_SHOWN = (
    "{} (The reviewer asked for a revision and showed nothing that binds; what it"
    " remembers is kept as suggestions.)"
)
HOW_TO_ANSWER = (
    'Answer with {"look": [...], "verdict": null} to look at more, or with your verdict'
    ' as {"look": null, "verdict": {...}}.'
)
AskAttempt = Callable[[int, Sequence[Message]], Awaitable[Completion]]
"""Asks with the number of the attempt and what was said since the prompt; both are part
of the request key in the journal.
"""


@dataclass(frozen=True, slots=True)
class Judgment:
    """A verdict and how it came about."""

    verdict: Verdict
    answer: Completion
    answers: tuple[Completion, ...]
    """All answers, the unreadable ones and the looks included."""
    looked: tuple[str, ...] = ()


async def ask_for_verdict(
    ask: AskAttempt,
    looker: Looker | None = None,
    ledger: Ledger | None = None,
    find_gap: Callable[[Verdict], str] | None = None,
) -> Judgment:
    """Return the verdict of a reviewer.

    An answer that cannot be read and an approval that is silent about a blocking
    finding are sent back once. So is a verdict that rests on lines that do not exist, or
    on memory: what is then not shown either holds up no text. And so is one in which
    `find_gap` finds something missing, which counts as it is the second time.
    """
    talk = Conversation()
    attempt = 1
    is_told = False
    has_gap = False
    while True:
        number = attempt

        def ask_turn(
            said: Sequence[Message], attempt: int = number
        ) -> Awaitable[Completion]:
            return ask(attempt, said)

        talk = await ask_looking(ask_turn, _find_looks, looker, HOW_TO_ANSWER, talk)
        complaint = ""
        try:
            verdict = read_verdict(talk.answer.text)
        except VerdictError as error:
            complaint = " ".join(str(error).split())
            reply = AGAIN.format(complaint)
        else:
            missing: list[str] = []
            if looker is not None:
                verdict, missing = check_quotes(verdict, looker)
            unshown = _find_unshown(verdict, missing, ledger)
            if unshown and not is_told:
                is_told = True
                talk = _reply(talk, unshown)
                continue
            gap = "" if find_gap is None or has_gap else find_gap(verdict)
            if gap:
                has_gap = True
                talk = _reply(talk, INCOMPLETE.format(gap))
                continue
            if ledger is not None and _rests_on_memory(verdict, ledger):
                verdict = _approve(verdict)
            complaint = find_silence(ledger or Ledger(), verdict)
            if not complaint:
                return Judgment(verdict, talk.answer, talk.answers, talk.looked)
            reply = SILENT.format(complaint)
        if attempt >= ATTEMPTS:
            raise ModelFormat(
                f"no usable verdict in {ATTEMPTS} answers of the reviewer: {complaint}"
            )
        attempt += 1
        talk = _reply(talk, reply)


def _find_looks(answer: str) -> Sequence[str] | None:
    looks = looks_of_reviewer(answer)
    if looks is not None:
        return looks
    try:
        has_verdict = find_object(answer) is not None
    except VerdictError:
        has_verdict = True
    return None if has_verdict else looks_in(answer)


def _find_unshown(
    verdict: Verdict, missing: Sequence[str], ledger: Ledger | None
) -> str:
    """Return what to reply to a verdict that shows nothing that binds; empty if it may
    count. Without a ledger no text is judged, and memory may decide.
    """
    if missing and _needs_reason(verdict):
        listed = "; ".join(missing[:10])
        return NOT_FOUND.format(listed)
    if ledger is not None and _rests_on_memory(verdict, ledger):
        remembered = filter(_is_remembered, verdict.findings)
        listed = ", ".join(finding.id for finding in remembered)
        return REMEMBERED.format(listed)
    return ""


def _rests_on_memory(verdict: Verdict, ledger: Ledger) -> bool:
    """Tell whether a verdict asks for a revision for no reason but what the reviewer
    remembers.
    """
    if verdict.decision is not Decision.REVISE:
        return False
    if verdict.uncovered or verdict.questions or not _needs_reason(verdict):
        return False
    settled = {
        earlier.id
        for earlier in verdict.earlier
        if earlier.state is not EarlierState.OPEN
    }
    if not settled.issuperset(open_binding_ids(ledger)):
        return False
    return any(map(_is_remembered, verdict.findings))


def _is_remembered(finding: Finding) -> bool:
    return finding.basis is Basis.MEMORY


def _approve(verdict: Verdict) -> Verdict:
    summary = NOT_SHOWN.format(verdict.summary)
    return replace(verdict, decision=Decision.APPROVED, summary=summary)


def _needs_reason(verdict: Verdict) -> bool:
    """Tell whether a verdict asks for a revision without a finding that can bind."""
    if verdict.decision is Decision.APPROVED:
        return False
    return not any(map(blocks_approval, verdict.findings))


def _reply(talk: Conversation, text: str) -> Conversation:
    return talk.add(
        Message(Speaker.ASSISTANT, _shorten(talk.answer.text)),
        Message(Speaker.USER, text),
    )


def _shorten(text: str) -> str:
    """Cut the middle out of an answer that is too long to be paid for again."""
    left_out = len(text) - LONGEST_QUOTE
    if left_out <= 0:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
