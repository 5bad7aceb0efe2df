"""Read from an issue's own words which concerns a design must answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.words import keywords, stem

_CODE = re.compile(r"`[^`]{0,300}`")


@dataclass(frozen=True, slots=True)
class Signal:
    """A concern, the words that raise it, and the decision that answers it."""

    name: str
    words: frozenset[str]
    area: str
    """`security` or `safety`."""
    concern: str
    mitigation: str
    impact: str
    likelihood: str
    least: int = 1
    """How many of the words a sentence must have."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A signal and the sentence of the issue that raised it."""

    signal: Signal
    evidence: str


def _signal(name: str, words: str, area: str, concern: str, mitigation: str, weight: str, least: int = 1) -> Signal:
    impact, likelihood = weight.split("/")
    stems = frozenset(stem(word) for word in words.split())
    return Signal(name, stems, area, concern, mitigation, impact, likelihood, least)


SIGNALS: tuple[Signal, ...] = (
    _signal(
        "credentials",
        "credential credentials password passwords token tokens secret secrets login session cookie apikey",
        "security",
        "A credential reaches a log, an error message or another user",
        "Credentials are read only where they are used and never formatted into text, "
        "and a test searches all output for a known value",
        "High/Low",
    ),
    _signal(
        "concurrency",
        "parallel parallelism concurrent concurrently thread threads worker workers lock locks race simultaneous "
        "simultaneously",
        "safety",
        "Two executions touch the same state at the same time",
        "Each shared resource has one owner; others ask it, and every wait has a limit so that nothing can deadlock",
        "High/Med",
    ),
    _signal(
        "storage",
        "migration migrate schema column transaction insert index trigger triggers contention",
        "safety",
        "Stored data is lost or left half changed",
        "Changes run in one transaction; what is there before is kept until the new state has been verified",
        "High/Low",
    ),
    _signal(
        "files",
        "file files export directory directories folder write written disk checkpoint",
        "safety",
        "A file is left half written when the process stops",
        "Write to a temporary file beside the target, flush it, then rename it over the target; remove the temporary "
        "file on success and on failure",
        "Med/Med",
    ),
    _signal(
        "outside-input",
        "upload import csv json parse parsed payload form query parameter parameters url html markdown filename",
        "security",
        "Input from outside is malformed, hostile or far too large",
        "Sizes and types are checked before use, paths are resolved and refused outside their folder, text is escaped "
        "for where it is shown",
        "High/Med",
    ),
    _signal(
        "network",
        "api webhook remote download fetch smtp socket unreachable https mail mails",
        "safety",
        "The other side of the network is slow, absent or answers with an error",
        "Every call has a time limit and a bounded number of retries; an answer is checked before it is believed",
        "Med/Med",
    ),
    _signal(
        "serving",
        "endpoint route handler status http client get post request requests",
        "security",
        "A client sends something malformed, or far too much of it",
        "Parameters are parsed and bounded before anything is looked up; an error names the parameter and nothing "
        "internal",
        "High/Med",
        least=2,
    ),
    _signal(
        "shell",
        "subprocess shell command-line environment env variable",
        "security",
        "A value from outside is run as part of a command",
        "Commands are argument lists, never strings for a shell; identifiers are validated against an allow-list",
        "High/Low",
    ),
    _signal(
        "personal-data",
        "email phone personal privacy gdpr birthday surname consent name address pin member",
        "security",
        "Personal data becomes visible to somebody it does not concern",
        "Only the fields that the requirements name are read; they are left out of logs and error messages",
        "High/Low",
        least=2,
    ),
    _signal(
        "removal",
        "delete deletes deleted remove removes removed cleanup purge drop prune erase",
        "safety",
        "Something is deleted that is still needed",
        "Only what this change itself created is deleted, by exact name, after the success it depends on",
        "High/Low",
    ),
    _signal(
        "logging",
        "log logs logging audit metric metrics trace telemetry",
        "security",
        "Logs show more than their readers may see",
        "Log lines carry identifiers and counts, not content; the log has the visibility of the data it describes",
        "Med/Low",
    ),
    _signal(
        "compatibility",
        "flag flags option options existing compatible backward sequential rename renamed deprecate",
        "safety",
        "Existing users see a change that they did not ask for",
        "Without the new input everything behaves as before, and a scenario compares the two",
        "High/Low",
    ),
    _signal(
        "load",
        "slow slower faster latency memory cpu performance throughput benchmark exhaustion capped",
        "safety",
        "The change needs more time or memory than there is",
        "The budget of section 8 is measured by a scenario on data of realistic size",
        "Med/Med",
    ),
    _signal(
        "calendar",
        "timezone schedule scheduled cron reminder daily weekly month midnight dst due",
        "safety",
        "A date or time is read in the wrong zone or on a day with 23 or 25 hours",
        "Times are stored in UTC and converted at the edge; a scenario crosses a change of clocks",
        "Med/Low",
    ),
)


def raised_signals(sentences: Sequence[str]) -> tuple[Raised, ...]:
    """Return every signal that a sentence raises, with the sentence that raises it most."""
    best: dict[str, tuple[int, str]] = {}
    for sentence in sentences[:2000]:
        words = keywords(_without_denied(_CODE.sub(" ", sentence[:2000])))
        for signal in SIGNALS:
            count = len(words & signal.words)
            if count >= signal.least and count > best.get(signal.name, (0, ""))[0]:
                best[signal.name] = (count, sentence)
    return tuple(Raised(signal, best[signal.name][1]) for signal in SIGNALS if signal.name in best)


def _without_denied(sentence: str) -> str:
    """Leave out what a sentence says is not there: `no login` raises no concern about logins."""
    words = sentence.split()
    denials = ("no", "without", "neither", "nor")
    kept = [word for position, word in enumerate(words) if not (position and words[position - 1].casefold() in denials)]
    return " ".join(kept)
