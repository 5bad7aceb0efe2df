"""Put constructors into a stored state, with digests that match: nothing of it is ever
called.
"""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import ormsgpack

from agentos.item import Item
from agentos.kinds import Kind
from agentos.state.databases import digest_row
from agentos.state.home import Home, repository_key
from agentos.workflows.engine.checkpoints import _TABLES
from tests.faults.figures import Figures, main
from tests.faults.scene import make_world
from tests.support import SIGKILL, World, wait_gone

CONSTRUCTORS = range(6)
"""The codes under which the graph library stores an object as something to be
called.
"""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Tamper with so many checkpoints, each in a way of its own, and run on from
    them.
    """
    figures = Figures(
        "tampered_checkpoint", seed, count, {"executed": 0, "approved": 0, "refused": 0}
    )
    rng = random.Random(seed)
    for number in range(1, count + 1):
        world = make_world(folder / f"world-{number}", 1)
        _stop_in_review(world)
        marker = folder / f"marker-{number}"
        _tamper(world, marker, rng)
        finished = world.run("lld-workflow", "--all")
        where = f"tampering {number}"
        figures.add("executed", marker.exists())
        figures.expect(
            not marker.exists(), f"{where}: what was planted has been called"
        )
        figures.expect(
            "Traceback" not in finished.text, f"{where}: {finished.text[-1000:]}"
        )
        figures.add("approved" if finished.code == 0 else "refused")
        figures.expect(
            finished.code in (0, 1),
            f"{where}: ended with {finished.code}: {finished.text[-600:]}",
        )
    return figures


def _stop_in_review(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--reviewer", "offline:latency=60"
    ) as running:
        running.wait_for("Executing: N3_review")
        everyone = running.descendants()
        running.signal(SIGKILL)
        running.process.wait()
    assert wait_gone(everyone, 5.0) == []


def _tamper(world: World, marker: Path, rng: random.Random) -> None:
    paths = Home(world.home).item(repository_key(world.repo), Item(Kind.LLD, "1", ""))
    connection = sqlite3.connect(paths.checkpoint)
    connection.create_function("agentos_digest", -1, digest_row)
    kind, payload = _plant(marker, rng)
    table, column = rng.choice([("checkpoints", "checkpoint"), ("writes", "value")])
    connection.execute(f"UPDATE {table} SET type = ?, {column} = ?", (kind, payload))
    key, rest = _TABLES[table]
    rows = connection.execute(f"SELECT {key}, {rest} FROM {table}").fetchall()
    width = key.count(",") + 1
    connection.execute(f"DELETE FROM agentos_{table}")
    places = ", ".join("?" * (width + 1))
    for row in rows:
        connection.execute(
            f"INSERT INTO agentos_{table} VALUES ({places})",
            (*row[:width], digest_row(*row)),
        )
    connection.commit()
    connection.close()


def _plant(marker: Path, rng: random.Random) -> tuple[str, bytes]:
    """Return a stored value that creates the marker when it is brought to life."""
    code = rng.choice([*CONSTRUCTORS, "json"])
    if code == "json":
        planted = {
            "lc": 2,
            "type": "constructor",
            "id": ["pathlib", "Path"],
            "method": "touch",
            "args": [str(marker)],
        }
        return "json", json.dumps(planted).encode()
    argument: object = str(marker) if code != 1 else (str(marker), 0o600)
    call = rng.choice(
        [
            ("os", "mkdir", argument, None),
            ("os", "system", f"touch {marker}", None),
            ("os", "mkdir", argument, "mkdir"),
        ]
    )
    return "msgpack", ormsgpack.packb(
        {
            "channel_values": {
                "draft": ormsgpack.Ext(int(code), ormsgpack.packb(call))
            },
            "id": "1",
            "v": 4,
        },
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 12))
