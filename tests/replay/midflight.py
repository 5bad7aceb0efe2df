"""Runs that were killed in mid-flight, as a version left them on the disk: state of the
tool and repository.

`python -m tests.replay.midflight` records the archives of this version: one world a
workflow, asked of a server on the loopback. Of three items one has ended, one waits for
its review, and one for its first draft; of two implementations one has ended and one
waits for its code. Then the coordinator is killed with -9.
"""

from __future__ import annotations

import io
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentos import __version__
from agentos.kinds import Kind
from agentos.state.databases import digest_row
from agentos.state.home import repository_key
from tests.designs import CODE, CODE_APPROVAL, TESTS, Item, fill
from tests.faults import market
from tests.replay.record import HERE
from tests.scenario import ScenarioProcess
from tests.support import SIGKILL, World, build_world, wait_until

MODEL = "openai:recorded-1"
KEY = {"provider": "openai", "key": "sk-recorded-0123456789abcdef0123"}
PLACE = b"/place-of-the-recording/"
"""Stands in the archives for the folder in which repository and home lay."""
LEFT_OUT = ("environments", "logs", "tmp", "keys.toml")
APPROVAL = (
    '{"decision": "APPROVED", "summary": "The plan tests every requirement.", "findings": [], '
    '"resolved_questions": [], "questions": [], '
    '"coverage": [{"requirement": "R1", "text": "It works", "scenarios": ["010"], "covered": true}]}'
)


@dataclass(frozen=True)
class Moment:
    """A command, what the server answers it, and which of its calls are never
    answered.
    """

    command: tuple[str, ...]
    silent: tuple[Mapping[str, Any], ...]
    asked: int
    """How many calls have been made then, with those that are not answered."""
    answers: tuple[Mapping[str, Any], ...] = ()
    left_to_ask: int = 0
    """How many calls the run still has to make when it goes on."""
    later: tuple[Mapping[str, Any], ...] = ()
    """What the server answers then."""


def _built(numbers: Sequence[int]) -> list[str]:
    texts = [
        [APPROVAL, TESTS.format(number=number), CODE.format(number=number)]
        for number in numbers
    ]
    return [text for three in texts for text in three]


def _drafting(kind: str) -> Moment:
    silent = (
        {"purpose": f"{kind}.review", "item": "2"},
        {"purpose": f"{kind}.draft", "item": "3"},
    )
    return Moment(
        (f"{kind}-workflow", "--all", "--parallel", "3"), silent, asked=5, left_to_ask=3
    )


MOMENTS = {
    Kind.ISSUE: _drafting("issue"),
    Kind.LLD: _drafting("lld"),
    Kind.IMPLEMENTATION: Moment(
        ("implement-workflow", "--all"),
        ({"purpose": "other", "at": [6]},),
        asked=6,
        answers=({"purpose": "other", "texts": _built((1, 2))},),
        # The code, and the review of the finished change.
        left_to_ask=2,
        later=({"purpose": "other", "texts": [CODE.format(number=2), CODE_APPROVAL]},),
    ),
}


def command_of(workflow: Kind) -> tuple[str, ...]:
    """Return the command that was killed, and that goes on when it is run again."""
    return (
        *MOMENTS[workflow].command,
        "--drafter",
        MODEL,
        "--reviewer",
        MODEL,
        "--price",
        f"{MODEL}=3/15",
    )


def record(workflow: Kind, target: Path) -> None:
    """Run the command of a workflow until it waits for every call that is not answered,
    kill it, keep what is left.
    """
    moment = MOMENTS[workflow]
    silences = [{"kind": "silence", **which} for which in moment.silent]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = make_inputs(folder, workflow)
        script = {
            "fault": silences,
            "answer": list(moment.answers),
            "price_input": 3.0,
            "price_output": 15.0,
        }
        with ScenarioProcess(script, folder / "server") as server:
            market.write_keys(world, server.url, [KEY])
            with world.start(*command_of(workflow)) as running:
                wait_until(
                    lambda: _is_stuck(server, moment, world),
                    "all other calls are answered",
                )
                running.signal(SIGKILL)
                running.process.wait()
        _pack(world, folder, target)


def _is_stuck(server: ScenarioProcess, moment: Moment, world: World) -> bool:
    calls = server.ledger.admitted()
    silent = len(moment.silent)
    has_ended = any((world.home / "items").glob("*/*.json"))
    under_way = len(list((world.home / "locks").glob("*/*.lock")))
    return (
        has_ended
        and len(calls) == moment.asked
        and under_way == silent == sum(not call.is_done for call in calls)
    )


def make_inputs(folder: Path, workflow: Kind) -> World:
    """Make the repository that a workflow is run in."""
    if workflow is Kind.IMPLEMENTATION:
        return fill(build_world(folder, issues=0), Item(1), Item(2))
    is_issue = workflow is Kind.ISSUE
    return build_world(folder, issues=0 if is_issue else 3, briefs=3 if is_issue else 0)


def _pack(world: World, folder: Path, target: Path) -> None:
    """Write home and repository to an archive, with their place and the repository's
    key taken out of all names.
    """
    key = repository_key(world.repo)
    for name in LEFT_OUT:
        left_out = world.home / name
        shutil.rmtree(
            left_out, ignore_errors=True
        ) if left_out.is_dir() else left_out.unlink(missing_ok=True)
    for database in world.home.rglob("*.db"):
        with closing(sqlite3.connect(database)) as opened:
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with tarfile.open(target, "w:xz") as archive:
        for path in sorted([*world.home.rglob("*"), *world.repo.rglob("*")]):
            entry = archive.gettarinfo(
                path, str(path.relative_to(folder)).replace(key, "KEY")
            )
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            if not entry.isfile():
                archive.addfile(entry)
                continue
            data = _take_out(path, path.read_bytes(), folder, key)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def _take_out(path: Path, data: bytes, folder: Path, key: str) -> bytes:
    if path.suffix == ".db":
        assert str(folder).encode() not in data or path.name == "journal.db", (
            f"{path} names the folder of the recording"
        )
        return data
    return data.replace(f"{folder}/".encode(), PLACE).replace(key.encode(), b"KEY")


def unpack(version: str, workflow: Kind, folder: Path) -> World:
    """Put a recorded world below a folder, as if it had been left there."""
    world = build_world(folder, issues=0)
    shutil.rmtree(world.repo)
    key = repository_key(world.repo)
    with tarfile.open(HERE / version / f"midflight-{workflow}.tar.xz") as archive:
        for entry in archive.getmembers():
            entry.name = entry.name.replace("KEY", key)
            archive.extract(entry, folder, filter="fully_trusted")
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in (".db", ".pack", ".idx"):
            data = path.read_bytes()
            if PLACE in data or b"KEY" in data:
                path.write_bytes(
                    data.replace(PLACE, f"{folder}/".encode()).replace(
                        b"KEY", key.encode()
                    )
                )
    _rename_items(world.home / "journal.db", key)
    return world


def _rename_items(journal: Path, key: str) -> None:
    """Give the calls of a journal another repository; the digests of their answers
    cover its name.
    """
    with closing(sqlite3.connect(journal, isolation_level=None)) as database:
        rows = database.execute(
            "SELECT id, item, question, cost, seconds, input_tokens, output_tokens FROM calls"
        )
        for call, item, question, *rest in rows.fetchall():
            moved = f"{key}/{item.partition('/')[2]}"
            database.execute("UPDATE calls SET item = ? WHERE id = ?", (moved, call))
            answer = database.execute(
                "SELECT model, text FROM answers WHERE call = ?", (call,)
            ).fetchone()
            if answer is not None:
                digest = digest_row(moved, question, *rest, *answer)
                database.execute(
                    "UPDATE answers SET digest = ? WHERE call = ?", (digest, call)
                )


def main() -> None:
    """Record all workflows with this version."""
    for workflow in MOMENTS:
        record(workflow, HERE / f"v{__version__}" / f"midflight-{workflow}.tar.xz")


if __name__ == "__main__":
    main()
