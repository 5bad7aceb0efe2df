"""The end of a run in words, as a table and as JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agentos.gateway.account import Account
from agentos.redaction import redact, redact_json
from agentos.report.entries import COMPLETE, HELD, NOT_STARTED, WAITING, Entry
from agentos.task import Failure, State
from agentos.wording import count, describe_seconds

SCHEMA = 1
LONG_TABLE = 200
LONGEST_KEPT = 20

_WORDS = {
    State.APPROVED: "approved",
    State.IMPLEMENTED: "implemented",
    State.SCAFFOLDED: "scaffolded",
    State.NEEDS_REVISION: "need revision",
    State.NEEDS_DISCUSSION: "need discussion",
    State.INTERRUPTED: "interrupted",
    HELD: "held by another run",
    COMPLETE: "completed by another run",
    WAITING: "waiting",
    NOT_STARTED: "not started",
}

_COMPLETED = (State.APPROVED, State.IMPLEMENTED, State.SCAFFOLDED, State.NEEDS_REVISION, State.NEEDS_DISCUSSION)
_NEEDS_NO_WORD = (State.APPROVED, State.INTERRUPTED, NOT_STARTED, WAITING)
_NOT_BEGUN = (NOT_STARTED, WAITING)


@dataclass(frozen=True, slots=True)
class Summary:
    """All entries of a run."""

    run: str
    workflow: str
    repository: str
    command: str
    started: str
    finished: str
    seconds: float
    parallel: int
    folder: str
    retry: tuple[str, ...]
    """The command that runs chosen items again, without the ids."""
    entries: Iterable[Entry]
    """Looked through more than once."""
    is_interrupted: bool = False
    trouble: str = ""
    """What went wrong with the run itself."""
    account: Account = field(default_factory=Account)
    asks_models: bool = False
    """Whether anybody was asked who may want money for it."""
    remedies: Mapping[str, str] = field(default_factory=dict)
    """For each cap that stopped a call, the option and the amount with which it would have been sent."""

    @property
    def failed(self) -> list[Entry]:
        """The items that failed."""
        return [entry for entry in self.entries if entry.is_failed]

    @property
    def is_unfinished(self) -> bool:
        """Whether the same command can go on: items cut off, never begun, without money left, or still to be filed."""
        return self.is_interrupted or any(_is_budget(entry) or _is_unfiled(entry) for entry in self.entries)

    @property
    def waiting(self) -> list[Entry]:
        """The items that were not started because one that they depend on was not approved."""
        return [entry for entry in self.entries if entry.status == WAITING]

    @property
    def is_out_of_money(self) -> bool:
        """Whether a cap is all that has kept items from their end."""
        failed = self.failed
        return bool(failed) and all(_is_budget(entry) for entry in failed)

    def counts(self) -> dict[str, int]:
        """Return how many items ended in each status."""
        return dict(Counter(entry.status for entry in self.entries))

    def counts_line(self) -> str:
        """Say it as `8 approved, 2 need revision` or `9 completed, 1 failed (LLD-42)`."""
        counts = Counter(entry.status for entry in self.entries)
        parts = [f"{counts[status]} {words}" for status, words in _WORDS.items() if counts[status]]
        failed = self.failed
        if not failed:
            return ", ".join(parts) or "nothing to do"
        ended = [status for status in _COMPLETED if counts[status]]
        names = ", ".join(entry.task.label for entry in failed[:20])
        more = f" and {len(failed) - 20} more" if len(failed) > 20 else ""
        line = f"{sum(counts[status] for status in ended)} completed, {len(failed)} failed ({names}{more})"
        others = [status for status in _WORDS if counts[status] and status not in ended]
        line = ", ".join([line, *(f"{counts[status]} {_WORDS[status]}" for status in others)])
        if ended in ([], [State.APPROVED], [State.IMPLEMENTED]):
            return line
        return f"{line}; of the completed {', '.join(f'{counts[status]} {_WORDS[status]}' for status in ended)}"

    def retry_line(self) -> str:
        """Return the ids that failed and the command that runs them again; empty when none failed."""
        ids = list(dict.fromkeys(entry.task.item for entry in self.failed))
        if not ids:
            return ""
        if self.is_out_of_money:
            raised = [word for remedy in self.remedies.items() for word in remedy]
            command = shlex.join((*self._without(self.remedies), *raised, *self._named(ids)))
            return f"Budget exhausted: {', '.join(ids)}. Go on with at least: {command}"
        # A file that gave no usable id has to be renamed; no command can name it.
        usable = [item for item in ids if "?" not in item]
        retry = f" Retry: {shlex.join((*self.retry, *self._named(usable)))}" if usable else ""
        return f"Failed: {', '.join(ids)}.{retry}"

    def _named(self, ids: list[str]) -> tuple[str, ...]:
        return () if "--brief" in self.retry else ("--ids", *ids)

    def _without(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return the retry command without some options and their values."""
        command = self.retry
        for option in options:
            if option in command:
                place = command.index(option)
                command = (*command[:place], *command[place + 2 :])
        return command

    def _shown(self) -> list[Entry]:
        """Return the entries of the table: all that were begun, but of a long list only what needs a look."""
        counts = self.counts()
        is_long = sum(amount for status, amount in counts.items() if status not in _NOT_BEGUN) > LONG_TABLE
        left_out = (*_NOT_BEGUN, State.APPROVED) if is_long else _NOT_BEGUN
        return [entry for entry in self.entries if entry.status not in left_out]

    def trouble_line(self) -> str:
        """Say what went wrong with the run itself; empty when nothing did."""
        return f"The run itself was cut short: {redact(self.trouble)}" if self.trouble else ""

    def money_line(self) -> str:
        """Say what was asked and what it cost; empty when no model was asked."""
        account = self.account
        if not self.asks_models:
            return ""
        parts = [f"{count(account.calls, 'call')}, {account.cost.describe()}"]
        if account.from_journal:
            parts.append(f"{count(account.from_journal, 'answer')} from the journal, not paid for again")
        if account.repeated:
            were = "was" if account.repeated == 1 else "were"
            parts.append(f"{account.repeated} {were} under way at a kill and asked again")
        if account.resent:
            were = "was" if account.resent == 1 else "were"
            parts.append(f"{account.resent} {were} sent again after a call that may have been billed")
        if not account.repeated and not account.resent:
            parts.append("nothing was paid for twice")
        return f"Models: {'; '.join(parts)}."

    def resume_line(self) -> str:
        """Say how to go on; empty when there is nothing to go on with."""
        if self.trouble or not self.is_interrupted:
            return ""
        if "--redo" not in self.retry:
            return "Stopped early: run the same command again to go on from the checkpoints."
        left = [entry.task.item for entry in self.entries if entry.status in (NOT_STARTED, State.INTERRUPTED)]
        return f"Stopped early. Go on with: {shlex.join((*self.retry, '--ids', *left))}"

    def waiting_line(self) -> str:
        """Say what becomes of the items that wait; empty when none does."""
        if not (waiting := self.waiting):
            return ""
        ids = [entry.task.item for entry in waiting[:LONGEST_KEPT]]
        more = f" and {len(waiting) - len(ids)} more" if len(waiting) > len(ids) else ""
        command = shlex.join((*self.retry, "--ids", *ids))
        return f"Waiting: {', '.join(ids)}{more}. To go on without what they wait for: {command}"

    def filed_line(self) -> str:
        """Say what was filed, and what was filed before with another text; empty when nothing was."""
        filed = [(e.task.label, e.filed) for e in self.entries if e.filed is not None and not e.filed.problem]
        new = [f"{label} as {entry.reference}" for label, entry in filed if not entry.remark]
        old = [f"{label} as {entry.reference} ({entry.remark})" for label, entry in filed if entry.remark]
        lists = (("Filed", new), ("Already filed", old))
        return " ".join(f"{words}: {_enumerate(names)}." for words, names in lists if names)

    def unfiled_line(self) -> str:
        """Say what is approved and was not filed; empty when all was."""
        missing = [entry.task.item for entry in self.entries if _is_unfiled(entry)]
        return f"Not filed: {', '.join(missing)}. Run the same command again to file them." if missing else ""

    def _unfiled_lines(self) -> list[str]:
        """Say why approved items were not filed."""
        unfiled = [entry for entry in self.entries if _is_unfiled(entry)]
        lines = [f"  {e.task.label}: approved, not filed: {e.filed.problem}" for e in unfiled[:LONGEST_KEPT] if e.filed]
        more = len(unfiled) - len(lines)
        return [*lines, f"  ... and {more} more not filed, which summary.json lists"] if more else lines

    def _waiting_lines(self) -> list[str]:
        """Say what each item waits for."""
        waiting = self.waiting
        lines = [f"  {entry.task.label}: {entry.message}" for entry in waiting[:LONGEST_KEPT]]
        more = len(waiting) - len(lines)
        return [*lines, f"  ... and {more} more waiting, which summary.json lists"] if more else lines

    def answer_line(self) -> str:
        """Say how to answer what reviewers asked; empty when they asked nothing."""
        asked = [entry.task.label for entry in self.entries if entry.status == State.NEEDS_DISCUSSION]
        if not asked:
            return ""
        place = self.retry.index("--repo") if "--repo" in self.retry else len(self.retry)
        where = shlex.join(self.retry[place : place + 2])
        return f"Answer with: agentos answer {asked[0]} {where + ' ' if where else ''}--text '...'; then run again."

    def _kept_lines(self) -> list[str]:
        """Say which approved documents have findings in their review log."""
        kept = [entry for entry in self.entries if entry.status == State.APPROVED and _findings(entry)]
        lines = [
            f"  {entry.task.label}: approved with {count(len(_findings(entry)), 'finding')} for the implementation, "
            f"see its review log: {entry.artefact}"
            for entry in kept[:LONGEST_KEPT]
        ]
        more = len(kept) - len(lines)
        return [*lines, f"  ... and {more} more approved with findings, which summary.json lists"] if more else lines

    def render(self) -> str:
        """Return the table, the counts and the retry command."""
        rows = [("ITEM", "STATUS", "TIME", "TRIES", "COST", "LOG")]
        rows += [
            (
                e.task.label,
                _status_words(e),
                describe_seconds(e.seconds) if e.attempts else "-",
                str(e.attempts or "-"),
                e.cost.describe() if e.cost else "-",
                e.log or "-",
            )
            for e in self._shown()
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = ["  ".join((*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[5])) for row in rows]
        if hidden := sum(entry.status not in _NOT_BEGUN for entry in self.entries) - len(rows) + 1:
            lines.append(f"... and {hidden} approved, which summary.json lists")
        told = [f"  {e.task.label}: {e.message}" for e in self.entries if e.message and e.status not in _NEEDS_NO_WORD]
        told += [*self._waiting_lines(), *self._kept_lines(), *self._unfiled_lines()]
        lines += ["", *told] if told else []
        lines += [
            "",
            f"{self.counts_line()} in {describe_seconds(self.seconds)}, {self.parallel} at a time. Logs: {self.folder}",
        ]
        ends = (
            self.money_line(),
            self.filed_line(),
            self.unfiled_line(),
            self.answer_line(),
            self.retry_line(),
            self.waiting_line(),
            self.trouble_line(),
            self.resume_line(),
        )
        lines += [line for line in ends if line]
        return redact("\n".join(lines) + "\n")

    def to_json(self) -> dict[str, Any]:
        """Return the summary, its items aside, as JSON data with a versioned schema."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "workflow": self.workflow,
            "repository": self.repository,
            "command": self.command,
            "started": self.started,
            "finished": self.finished,
            "seconds": round(self.seconds, 3),
            "parallel": self.parallel,
            "interrupted": self.is_interrupted,
            "trouble": self.trouble or None,
            "counts": self.counts(),
            "failed": [entry.task.item for entry in self.failed],
            **self.account.cost.to_json(),
            "calls": {
                "answered": self.account.calls,
                "from_journal": self.account.from_journal,
                "asked_again_after_a_kill": self.account.repeated,
                "sent_again_after_a_failure": self.account.resent,
                "by_node_and_model": [
                    {
                        "node": node,
                        "model": model,
                        "calls": line.calls,
                        "input_tokens": line.input_tokens,
                        "output_tokens": line.output_tokens,
                        "cached_tokens": line.cached_tokens,
                        **line.cost.to_json(),
                    }
                    for (node, model), line in self.account.lines.items()
                ],
            },
            "logs": self.folder,
        }

    def to_json_text(self) -> Iterator[str]:
        """Give the summary as one JSON document, an item a line; thousands of items are never text all at once."""
        yield f'{redact_json(json.dumps(self.to_json(), indent=1))[:-2]},\n "items": ['
        for number, entry in enumerate(self.entries):
            yield f"{',' if number else ''}\n{redact_json(json.dumps(_entry_to_json(entry)))}"
        yield "\n]}\n"


def _enumerate(names: list[str]) -> str:
    more = f" and {len(names) - LONGEST_KEPT} more" if len(names) > LONGEST_KEPT else ""
    return f"{', '.join(names[:LONGEST_KEPT])}{more}"


def _findings(entry: Entry) -> tuple[str, ...]:
    return entry.outcome.findings if entry.outcome is not None else ()


def _is_budget(entry: Entry) -> bool:
    return entry.outcome is not None and entry.outcome.failure is Failure.BUDGET


def _is_unfiled(entry: Entry) -> bool:
    return entry.filed is not None and bool(entry.filed.problem)


def _status_words(entry: Entry) -> str:
    if entry.outcome is not None and entry.outcome.failure is not None:
        return f"failed: {entry.outcome.failure}"
    return entry.status


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    outcome = entry.outcome
    return {
        "id": entry.task.item,
        "label": entry.task.label,
        "source": entry.task.source,
        "status": entry.status,
        "class": str(outcome.failure) if outcome is not None and outcome.failure is not None else None,
        "message": entry.message,
        "seconds": round(entry.seconds, 3),
        "attempts": entry.attempts,
        "rounds": outcome.rounds if outcome is not None else 0,
        "calls": outcome.calls if outcome is not None else 0,
        "findings": list(outcome.findings) if outcome is not None else [],
        "questions": list(outcome.questions) if outcome is not None else [],
        **entry.cost.to_json(),
        "artefact": entry.artefact or None,
        "log": entry.log or None,
        "filed": asdict(entry.filed) if entry.filed is not None else None,
    }
