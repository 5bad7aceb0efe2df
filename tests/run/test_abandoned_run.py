"""A run that is ended at once has not ended the items that it did not record."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from agentos.backlog.preview import RunOptions, preview_run
from agentos.backlog.selection import Choice
from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.run.console import Console
from agentos.run.item_run import RunContext, supervise
from agentos.settings import RunConfig
from agentos.state.home import Home
from agentos.state.scratch import Scratch
from agentos.workers import Event, Exit, Output
from agentos.workflows.engine.assignment import Assignment
from tests.support import World


class Ending:
    """Workers whose item is approved in the moment in which the run is ended."""

    def __init__(self, *, is_abandoned: bool) -> None:
        self._ends = is_abandoned
        self.is_abandoned = False

    def run(
        self,
        assignment: Assignment,
        output: Output,
        on_events: Callable[[Sequence[Event]], None],
        timeout: float | None,
    ) -> Exit:
        del assignment, output, on_events, timeout
        self.is_abandoned = self._ends
        outcome = Outcome(State.APPROVED, "fine")
        return Exit(outcome, artifacts=Artifacts([{"001-issue.md": "x"}], "design\n"))

    def start(self) -> None: ...

    def wait_ready(self, is_wanted: Callable[[], bool]) -> float:
        return float(is_wanted())

    def stop(self) -> None: ...

    def hurry(self) -> None: ...

    def kill(self) -> None: ...

    def suspend(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


def run_one(world: World, *, is_abandoned: bool) -> tuple[State | str, list[Item]]:
    """Run an item; return how it is reported, and the items whose answers are gone."""
    options = RunOptions(
        workflow=Kind.LLD,
        repository=world.repo,
        choice=Choice(ids=("1",)),
        config=RunConfig(),
        command="test",
        retry=(),
    )
    home = Home(world.home)
    preview = preview_run(options, home, world.environ)
    home.prepare(preview.key)
    forgotten: list[Item] = []
    scratch = Scratch(home.temporary)
    name, folder = home.make_run_folder()
    null = os.open(os.devnull, os.O_WRONLY)
    console = Console(stdout=null, stderr=null, environ=world.environ)
    run = RunContext(
        name=name,
        folder=Path(folder),
        options=options,
        preview=preview,
        scratch=scratch,
        workers=Ending(is_abandoned=is_abandoned),
        console=console,
        forget_answers=forgotten.append,
        slot_release=lambda: lambda: None,
        held={},
        stopping=threading.Event(),
    )
    with console:
        row = supervise(run, preview.selection.items[0])
    scratch.close()
    os.close(null)
    return row.status, forgotten


def test_answers_are_forgotten_when_the_item_is_recorded(world: World) -> None:
    state, forgotten = run_one(world, is_abandoned=False)
    assert state is State.APPROVED
    assert [item.id for item in forgotten] == ["1"]


def test_an_item_that_was_not_recorded_keeps_its_answers(world: World) -> None:
    state, forgotten = run_one(world, is_abandoned=True)
    assert state is State.INTERRUPTED
    assert forgotten == []
