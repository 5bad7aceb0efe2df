"""Die between the two writes of the graph library after each step, then resume: nothing
may count as finished early.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agentos.gateway.providers import Message
from tests.faults.figures import Figures, main
from tests.faults.scene import NODES, ROUNDS, fork, wait_child
from tests.support import ISSUE

DIED = 9
TEXT = ISSUE.format(number=1)


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Die at each put of a state, up to so many; this process must not have other
    threads, as it forks.
    """
    import agentos.workflows.engine.runner  # noqa: F401

    figures = Figures(
        "resume_trap",
        seed,
        count,
        {"deaths": 0, "with_writes_of_a_step": 0, "nodes_repeated": 0},
    )
    peace = folder / "peace"
    code = wait_child(fork(partial(_run, peace)))
    figures.expect(code == 0, f"the run in peace ended with {code}")
    puts = int((peace / "puts").read_text("utf-8"))
    for number in range(1, min(count, puts) + 1):
        place = folder / f"death-{number}"
        code = wait_child(fork(partial(_run, place, die_at=number)))
        figures.expect(
            code == DIED, f"put {number}: ended with {code} instead of dying"
        )
        figures.add("deaths")
        figures.add(
            "with_writes_of_a_step", _has_pending_writes(place / "checkpoint.db")
        )
        code = wait_child(fork(partial(_run, place)))
        figures.expect(code == 0, f"put {number}: the second run ended with {code}")
        figures.expect(
            _results(place) == _results(peace),
            f"put {number}: resumed to other results",
        )
        repeated = len((place / "nodes").read_text("utf-8").split()) - NODES
        figures.raise_to("most_nodes_repeated", repeated)
        figures.add("nodes_repeated", repeated)
        figures.expect(repeated <= 1, f"put {number}: {repeated} nodes were repeated")
    figures.expect(
        figures.values["with_writes_of_a_step"] > 0,
        "no death fell between the two writes",
    )
    return figures


def _results(place: Path) -> dict[str, Any]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in (place / "repo").rglob("*")
        if path.is_file()
    }


def _has_pending_writes(database: Path) -> bool:
    connection = sqlite3.connect(database)
    try:
        last = "SELECT max(checkpoint_id) FROM checkpoints"
        (rows,) = connection.execute(
            f"SELECT count(*) FROM writes WHERE checkpoint_id = ({last})"
        ).fetchone()
        return bool(rows)
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()


def _run(place: Path, die_at: int = 0) -> None:
    """Run the item in this process, which dies at the given put of a state."""
    from agentos.item import Item
    from agentos.kinds import Kind
    from agentos.repository.publish import Publication
    from agentos.settings import RunConfig
    from agentos.workflows.engine.assignment import Assignment
    from agentos.workflows.engine.flow import Session
    from agentos.workflows.engine.runner import run_session
    from agentos.workflows.engine.saver import InlineSaver
    from agentos.workflows.engine.stores import SqliteStore

    (place / "repo").mkdir(parents=True, exist_ok=True)
    puts = 0

    class Dying(InlineSaver):
        async def aput(self, *args: Any, **kwargs: Any) -> Any:
            nonlocal puts
            puts += 1
            if puts == die_at:
                await _settle()
                os._exit(DIED)
            return await super().aput(*args, **kwargs)

    publication = Publication(
        str(place / "repo"), ("papers/1",), "designs/1.md", "suffix"
    )
    assignment = Assignment(
        item=Item(Kind.LLD, "1", "docs/issues/1.md"),
        text=TEXT,
        digest="digest",
        repository="",
        config=RunConfig(max_rounds=ROUNDS),
    )
    with open(place / "nodes", "a", encoding="utf-8") as nodes:

        def observe(what: str, node: str) -> None:
            if what == "started":
                nodes.write(f"{node}\n")
                nodes.flush()

        store = SqliteStore(place / "checkpoint.db", Dying)
        session = Session(assignment, place / "repo", store, _make_ask(), observe)
        outcome, artifacts = asyncio.run(run_session(session, lambda _: None))
    publication.prepare(artifacts)
    assert outcome.state == "simulated", outcome
    (place / "puts").write_text(str(puts), "utf-8")


async def _settle() -> None:
    """Give every write that was begun before its chance to begin."""
    for _ in range(20):
        await asyncio.sleep(0)


def _make_ask() -> Any:
    from agentos.gateway.providers import Completion, Request
    from agentos.gateway.providers.offline import create

    provider = create(f"approve_after={ROUNDS}")

    async def ask(
        *,
        role: str,
        node: str,
        round: int,
        attempt: int,
        messages: Sequence[Message],
        inputs: Mapping[str, str],
        schema: str,
    ) -> Completion:
        request = Request(
            repository="repo",
            workflow="lld",
            item="1",
            node=node,
            round=round,
            attempt=attempt,
            purpose=f"lld.{role}",
            model="offline",
            messages=tuple(messages),
            inputs=dict(inputs),
            schema=schema,
        )
        return await provider.complete(request, None)

    return ask


if __name__ == "__main__":
    raise SystemExit(main(measure, 100))
