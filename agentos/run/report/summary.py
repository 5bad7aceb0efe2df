"""The report of a run: as text for people and as JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agentos.gateway.costs import RunCosts
from agentos.item import Failure, Outcome, State
from agentos.money import DOLLAR, format_dollars
from agentos.run.report.rows import (
    COMPACT,
    COMPLETE,
    LOCKED,
    NOT_STARTED,
    WAITING,
    ResultRow,
)
from agentos.state.redaction import redact, redact_json
from agentos.state.wording import count, describe_seconds

SCHEMA = 1
LONG_TABLE = 200
"""Items above which the table leaves out those that ended well."""
MAX_LISTED = 20

_WORDS = {
    State.APPROVED: "approved",
    State.IMPLEMENTED: "implemented",
    State.SCAFFOLDED: "scaffolded",
    State.SKELETON: "skeleton",
    State.SIMULATED: "simulated",
    State.NEEDS_REVISION: "need revision",
    State.NEEDS_DISCUSSION: "need discussion",
    State.REVISED: "design revised",
    State.INTERRUPTED: "interrupted",
    LOCKED: "locked by another run",
    COMPLETE: "completed by another run",
    WAITING: "waiting",
    NOT_STARTED: "not started",
}

_COMPLETED = (
    State.APPROVED,
    State.IMPLEMENTED,
    State.SCAFFOLDED,
    State.NEEDS_REVISION,
)
"""What `completed` counts; skeletons and items that wait for a person are separate."""
_NEEDS_NO_MESSAGE = (*COMPACT, State.INTERRUPTED, NOT_STARTED, WAITING)
_NOT_BEGUN = (NOT_STARTED, WAITING)
_NO_OUTCOME = Outcome(State.INTERRUPTED)
_HEADER = ("ITEM", "STATUS", "TIME", "TRIES", "COST", "LOG")


@dataclass(frozen=True, slots=True)
class Summary:
    """All results of a run."""

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
    rows: Iterable[ResultRow]
    """Must allow several iterations."""
    is_interrupted: bool = False
    trouble: str = ""
    """What went wrong with the run itself."""
    costs: RunCosts = field(default_factory=RunCosts)
    asks_models: bool = False
    """Whether the run used a model that may cost money."""
    answer_with: str = "agentos answer"
    """The command that answers a reviewer's question, without the item."""
    remedies: Mapping[str, str] = field(default_factory=dict)
    """For each cap that stopped a call, the option and the amount that would have
    allowed it.
    """
    left_out: Sequence[Mapping[str, str]] = ()
    """The issues of the source that were not taken because of their authors."""
    is_unsandboxed: bool = False
    """Whether generated code ran without isolation."""

    @property
    def failed(self) -> list[ResultRow]:
        """The items that failed."""
        return self._where(lambda row: row.is_failed)

    @property
    def is_unfinished(self) -> bool:
        """Whether the same command can continue: items were interrupted, not started,
        out of budget, or not filed.
        """
        if self.is_interrupted:
            return True
        rows = self.rows
        return any(map(_is_budget, rows)) or any(map(_is_unfiled, rows))

    @property
    def waiting(self) -> list[ResultRow]:
        """The items that did not start because a dependency was not approved."""
        return self._where(lambda row: row.status == WAITING)

    @property
    def is_out_of_money(self) -> bool:
        """Whether every failed item failed because of a cap."""
        failed = self.failed
        return bool(failed) and all(map(_is_budget, failed))

    def counts(self) -> Counter[str]:
        """Return how many items ended in each status."""
        return Counter(row.status for row in self.rows)

    def counts_line(self) -> str:
        """Return the counts as `8 approved, 2 need revision` or `9 completed, 1 failed
        (LLD-42)`.
        """
        counts = self.counts()
        failed = self.failed
        if not failed:
            return ", ".join(_say_counts(_WORDS, counts)) or "nothing to do"
        ended = [status for status in _COMPLETED if counts[status]]
        completed = sum(counts[status] for status in ended)
        labels = _enumerate([row.item.label for row in failed])
        others = [status for status in _WORDS if status not in ended]
        parts = [
            f"{completed} completed",
            f"{len(failed)} failed ({labels})",
            *_say_counts(others, counts),
        ]
        line = ", ".join(parts)
        if ended in ([], [State.APPROVED], [State.IMPLEMENTED]):
            return line
        details = ", ".join(_say_counts(ended, counts))
        return f"{line}; of the completed {details}"

    def retry_line(self) -> str:
        """Return the ids that failed and the command that runs them again; empty if
        none failed.
        """
        ids = _ids_of(self.failed)
        if not ids:
            return ""
        listed = ", ".join(ids)
        if self.is_out_of_money:
            command = self._without(self.remedies)
            for remedy in self.remedies.items():
                command += remedy
            command += self._select(ids)
            return (
                f"Budget exhausted: {listed}. Continue with at least:"
                f" {shlex.join(command)}"
            )
        # A file without a usable id has to be renamed; no command can name it.
        usable = [item for item in ids if "?" not in item]
        if not usable:
            return f"Failed: {listed}."
        command = self.retry + self._select(usable)
        return f"Failed: {listed}. Retry: {shlex.join(command)}"

    def _where(self, is_wanted: Callable[[ResultRow], bool]) -> list[ResultRow]:
        return list(filter(is_wanted, self.rows))

    def _select(self, ids: list[str]) -> tuple[str, ...]:
        """Return the arguments that select items, none if the command has a brief."""
        if "--brief" in self.retry:
            return ()
        return ("--ids", *ids)

    def _without(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return the retry command without some options and their values."""
        command = self.retry
        for option in options:
            if option in command:
                start = command.index(option)
                command = command[:start] + command[start + 2 :]
        return command

    def trouble_line(self) -> str:
        """Return what went wrong with the run itself; empty if nothing did."""
        if not self.trouble:
            return ""
        return f"The run was cut short: {redact(self.trouble)}"

    def sandbox_line(self) -> str:
        """Return that generated code ran without isolation; empty if it did not."""
        if not self.is_unsandboxed:
            return ""
        return (
            "Generated code ran without a sandbox (allow_unsandboxed): it could read and"
            " change your files and use the network."
        )

    def money_line(self) -> str:
        """Return the number of calls and their cost; empty if no model was asked."""
        if not self.asks_models:
            return ""
        costs = self.costs
        calls = count(costs.calls, "call")
        parts = [f"{calls}, {costs.cost.describe()}"]
        if costs.from_journal:
            answers = count(costs.from_journal, "answer")
            parts.append(f"{answers} from the journal, not paid for again")
        if costs.repeated:
            parts.append(
                f"{_count_were(costs.repeated)} interrupted by a kill and asked again"
            )
        if costs.resent:
            parts.append(
                f"{_count_were(costs.resent)} sent again after a call that may have"
                " been billed"
            )
        if not costs.repeated and not costs.resent:
            parts.append("nothing was paid for twice")
        if costs.cached_share:
            share = f"{costs.cached_share:.0%} of the input came from caches"
            if costs.saved > 0:
                share += f", which saved {format_dollars(costs.saved)}"
            parts.append(share)
        return f"Models: {'; '.join(parts)}."

    def resume_line(self) -> str:
        """Return how to resume the run; empty if it was not interrupted."""
        if self.trouble or not self.is_interrupted:
            return ""
        if "--redo" not in self.retry:
            return (
                "Stopped early: run the same command again to resume from the"
                " checkpoints."
            )
        # The same command would redo the items that have ended too.
        resumable = (NOT_STARTED, State.INTERRUPTED)
        left = self._where(lambda row: row.status in resumable)
        command = (*self.retry, "--ids", *_ids_of(left))
        return f"Stopped early. Resume with: {shlex.join(command)}"

    def waiting_line(self) -> str:
        """Return how to run the waiting items anyway; empty if none waits."""
        ids = _ids_of(self.waiting)
        if not ids:
            return ""
        listed = _enumerate(ids)
        command = (*self.retry, "--ids", *ids[:MAX_LISTED])
        return f"Waiting: {listed}. To run them anyway: {shlex.join(command)}"

    def filed_line(self) -> str:
        """Return what was filed now, and what was filed before with another text; empty
        if nothing was.
        """
        new, old = [], []
        for row in self.rows:
            filed = row.filed
            if filed is None or filed.problem:
                continue
            text = f"{row.item.label} as {filed.reference}"
            if filed.remark:
                old.append(f"{text} ({filed.remark})")
            else:
                new.append(text)
        sentences = []
        if new:
            sentences.append(f"Filed: {_enumerate(new)}.")
        if old:
            sentences.append(f"Already filed: {_enumerate(old)}.")
        return " ".join(sentences)

    def unfiled_line(self) -> str:
        """Return what is approved but not filed; empty if everything is filed."""
        missing = _ids_of(self._where(_is_unfiled))
        if not missing:
            return ""
        listed = ", ".join(missing)
        return f"Not filed: {listed}. Run the same command again to file them."

    def answer_line(self) -> str:
        """Return how to answer reviewers; empty if they asked nothing."""
        asked = self._where(lambda row: row.status == State.NEEDS_DISCUSSION)
        if not asked:
            return ""
        label = asked[0].item.label
        repository = ""
        if "--repo" in self.retry:
            start = self.retry.index("--repo")
            option = self.retry[start : start + 2]
            repository = f"{shlex.join(option)} "
        return (
            f"Answer, then run again: {self.answer_with} {label}"
            f" {repository}--text '...'"
        )

    def skeleton_line(self) -> str:
        """Return what to do about skeletons; empty if there are none."""
        if not self.counts()[State.SKELETON]:
            return ""
        return (
            "Skeletons hold the words of their input and marked gaps; no model has seen"
            " them. Name one: --drafter PROVIDER:MODEL"
        )

    def render(self) -> str:
        """Return the table, the counts and the commands that continue the work."""
        lines = [*self._render_table()]
        details = [*self._describe_rows()]
        if details:
            lines += ["", *details]
        seconds = describe_seconds(self.seconds)
        lines += [
            "",
            f"{self.counts_line()} in {seconds}, {self.parallel} at a time."
            f" Logs: {self.folder}",
        ]
        closing = (
            self.money_line(),
            self.sandbox_line(),
            self.filed_line(),
            self.unfiled_line(),
            self.skeleton_line(),
            self.answer_line(),
            self.retry_line(),
            self.waiting_line(),
            self.trouble_line(),
            self.resume_line(),
        )
        lines += filter(None, closing)
        return redact("\n".join(lines) + "\n")

    def _render_table(self) -> Iterator[str]:
        """Yield a line for each item that was begun; a long table has only those that
        need attention.
        """
        begun = sum(row.status not in _NOT_BEGUN for row in self.rows)
        left_out: tuple[str, ...] = _NOT_BEGUN
        if begun > LONG_TABLE:
            left_out += COMPACT
        shown = self._where(lambda row: row.status not in left_out)
        table = [_HEADER, *map(_to_cells, shown)]
        widths = [0] * len(_HEADER)
        for cells in table:
            widths = list(map(max, widths, map(len, cells)))
        # The log is the last column and needs no padding.
        widths[-1] = 0
        for cells in table:
            yield "  ".join(map(str.ljust, cells, widths))
        if len(shown) < begun:
            yield f"... and {begun - len(shown)} more, listed in summary.json"

    def _describe_rows(self) -> Iterator[str]:
        """Yield what the table has no column for."""
        for row in self.rows:
            if row.message and row.status not in _NEEDS_NO_MESSAGE:
                yield f"  {row.item.label}: {row.message}"
        waiting = self.waiting
        yield from _list_some(waiting, lambda row: row.message, "waiting")
        flawed = self._where(_is_approved_with_findings)
        yield from _list_some(flawed, _describe_findings, "approved with findings")
        on_a_reading = self._where(_is_approved_with_questions)
        yield from _list_some(on_a_reading, _describe_reading, "approved on a reading")
        unfiled = self._where(_is_unfiled)
        yield from _list_some(unfiled, _describe_unfiled, "not filed")

    def to_json(self) -> dict[str, Any]:
        """Return the summary without its items as JSON data with a versioned schema."""
        costs = self.costs
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
            "failed": [row.item.id for row in self.failed],
            "left_out": list(self.left_out),
            "unsandboxed": self.is_unsandboxed,
            **costs.cost.to_json(),
            "calls": {
                "answered": costs.calls,
                "from_journal": costs.from_journal,
                "asked_again_after_a_kill": costs.repeated,
                "sent_again_after_a_failure": costs.resent,
                "by_node_and_model": [
                    {
                        "node": node,
                        "model": model,
                        "calls": line.calls,
                        "input_tokens": line.input_tokens,
                        "output_tokens": line.output_tokens,
                        "cached_tokens": line.cached_tokens,
                        "saved_by_cache": line.saved / DOLLAR,
                        **line.cost.to_json(),
                    }
                    for (node, model), line in costs.lines.items()
                ],
            },
            "logs": self.folder,
        }

    def to_json_text(self) -> Iterator[str]:
        """Yield the summary as one JSON document with one item per line, so that the
        text of thousands of items is never in memory at once.
        """
        document = json.dumps(self.to_json(), indent=1)
        yield redact_json(document).removesuffix("\n}")
        yield ',\n "items": ['
        separator = "\n"
        for row in self.rows:
            item = json.dumps(_row_to_json(row))
            yield separator + redact_json(item)
            separator = ",\n"
        yield "\n]}\n"


def _ids_of(rows: Iterable[ResultRow]) -> list[str]:
    """Return the ids of rows, each once."""
    return list(dict.fromkeys(row.item.id for row in rows))


def _say_counts(statuses: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    """Return how many items ended in each status, without those where none did."""
    parts = []
    for status in statuses:
        amount = counts.get(status, 0)
        if amount and status == State.SKELETON:
            parts.append(count(amount, "skeleton"))
        elif amount:
            parts.append(f"{amount} {_WORDS[status]}")
    return parts


def _count_were(amount: int) -> str:
    return "1 was" if amount == 1 else f"{amount} were"


def _enumerate(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    if more > 0:
        listed += f" and {more} more"
    return listed


def _list_some(
    rows: Sequence[ResultRow], describe: Callable[[ResultRow], str], name: str
) -> Iterator[str]:
    """Yield a line for each of the first rows, and one for the number of the rest."""
    for row in rows[:MAX_LISTED]:
        yield f"  {row.item.label}: {describe(row)}"
    more = len(rows) - MAX_LISTED
    if more > 0:
        yield f"  ... and {more} more {name}, listed in summary.json"


def _to_cells(row: ResultRow) -> tuple[str, ...]:
    status = row.status
    failure = _outcome_of(row).failure
    if failure is not None:
        status = f"failed: {failure}"
    return (
        row.item.label,
        status,
        describe_seconds(row.seconds) if row.attempts else "-",
        str(row.attempts or "-"),
        row.cost.describe() if row.cost else "-",
        row.log or "-",
    )


def _describe_findings(row: ResultRow) -> str:
    findings = count(len(_outcome_of(row).findings), "finding")
    return (
        f"approved with {findings} for the implementation, see its review log:"
        f" {row.artefact}"
    )


def _describe_unfiled(row: ResultRow) -> str:
    problem = row.filed.problem if row.filed else ""
    return f"approved, not filed: {problem}"


def _is_approved_with_findings(row: ResultRow) -> bool:
    outcome = _outcome_of(row)
    return outcome.state is State.APPROVED and bool(outcome.findings)


def _is_approved_with_questions(row: ResultRow) -> bool:
    outcome = _outcome_of(row)
    return outcome.state is State.APPROVED and bool(outcome.questions)


def _describe_reading(row: ResultRow) -> str:
    question = " ".join(_outcome_of(row).questions[0].split())
    return f"approved; {question} If not: agentos answer {row.item.label}"


def _outcome_of(row: ResultRow) -> Outcome:
    return row.outcome or _NO_OUTCOME


def _is_budget(row: ResultRow) -> bool:
    return _outcome_of(row).failure is Failure.BUDGET


def _is_unfiled(row: ResultRow) -> bool:
    return row.filed is not None and bool(row.filed.problem)


def _row_to_json(row: ResultRow) -> dict[str, Any]:
    outcome = _outcome_of(row)
    failure = outcome.failure
    return {
        "id": row.item.id,
        "label": row.item.label,
        "source": row.item.source,
        "status": row.status,
        "class": str(failure) if failure is not None else None,
        "message": row.message,
        "seconds": round(row.seconds, 3),
        "attempts": row.attempts,
        "rounds": outcome.rounds,
        "calls": outcome.calls,
        "findings": list(outcome.findings),
        "questions": list(outcome.questions),
        **row.cost.to_json(),
        "artefact": row.artefact or None,
        "log": row.log or None,
        "filed": asdict(row.filed) if row.filed is not None else None,
    }
