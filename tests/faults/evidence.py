"""What a world shows after a fault: audits, databases, artefacts, and whether they are
as promised.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support import World

Event = dict[str, Any]


def audit_files(world: World) -> list[Path]:
    """Return the audit trails of all runs, oldest run first."""
    return [
        path
        for folder in world.run_folders
        for path in sorted(folder.glob("workflow-audit-*.jsonl"))
    ]


def read_events(path: Path) -> list[Event]:
    """Return all events of a trail but a last line that was cut off."""
    *lines, _cut_off = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


def audit_problems(world: World) -> list[str]:
    """Tell which trails do not parse or have gaps."""
    problems = []
    for path in audit_files(world):
        name = f"{path.parent.name}/{path.name}"
        try:
            events = read_events(path)
        except ValueError as error:
            problems.append(f"{name} does not parse: {error}")
            continue
        if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
            problems.append(f"{name} has gaps: {[event['seq'] for event in events]}")
    return problems


def events_by_item(world: World) -> dict[str, list[list[Event]]]:
    """Return for each item its events, one list a run."""
    found: dict[str, list[list[Event]]] = {}
    for path in audit_files(world):
        item = path.stem.removeprefix("workflow-audit-")
        found.setdefault(item, []).append(read_events(path))
    return found


def has(events: Iterable[Event], name: str, **details: Any) -> bool:
    """Tell whether there is an event with these details."""
    return any(
        e["event"] == name and all(e.get(k) == v for k, v in details.items())
        for e in events
    )


def repetition_problems(world: World, nodes: int, calls: int) -> list[str]:
    """Tell which items repeated more than one node or call for each time they were cut
    short in flight.
    """
    problems = []
    for item, runs in events_by_item(world).items():
        cuts = sum(not has(events, "ended", state="approved") for events in runs)
        for event, normal in (("node-started", nodes), ("call", calls)):
            seen = sum(e["event"] == event for events in runs for e in events)
            if seen > normal + cuts:
                problems.append(
                    f"item {item}: {seen} {event} events, {normal} are normal and it was cut {cuts} times"
                )
    return problems


def summary_problems(folder: Path) -> list[str]:
    """Tell where a run's summary is not the sum of its audits' ends."""
    path = folder / "summary.json"
    if not path.exists():
        runs = sorted(each.name for each in folder.parent.iterdir())
        return [f"the last run {folder.name} of {runs} has no summary"]
    summary = json.loads(path.read_bytes())
    said = {
        item["id"]: (item["status"], item["class"], item["attempts"], item["rounds"])
        for item in summary["items"]
        if item["attempts"]
    }
    audited = {}
    for path in folder.glob("workflow-audit-*.jsonl"):
        for event in read_events(path):
            if event["event"] == "ended" and event["attempts"]:
                audited[event["item"]] = (
                    event["state"],
                    event["failure"],
                    event["attempts"],
                    event["rounds"],
                )
    problems = [] if said == audited else [f"summary says {said}, audits say {audited}"]
    counts = Counter(item["status"] for item in summary["items"])
    return (
        problems
        if dict(counts) == summary["counts"]
        else [*problems, f"counts {summary['counts']}, items {counts}"]
    )


def status_problems(world: World, issues: int, status: str = "approved") -> list[str]:
    """Tell which items `agentos status` does not list exactly once in that state."""
    finished = world.run("agentos", "status", "--json")
    if finished.code:
        return [finished.text]
    listed = [
        (item["label"], item["status"]) for item in json.loads(finished.stdout)["items"]
    ]
    wanted = [(f"LLD-{number}", status) for number in range(1, issues + 1)]
    return [] if sorted(listed) == sorted(wanted) else [f"status lists {listed}"]


def database_problems(world: World) -> list[str]:
    """Tell which checkpoint databases are not sound, by looking at copies."""
    problems = []
    with tempfile.TemporaryDirectory(prefix="agentos-look-") as scratch:
        for path in sorted((world.home / "checkpoints").rglob("*.db")):
            copy = Path(scratch) / path.name
            for companion in ("", "-wal"):
                if (source := path.with_name(path.name + companion)).exists():
                    shutil.copyfile(source, copy.with_name(copy.name + companion))
            connection = sqlite3.connect(copy)
            try:
                verdicts = [
                    verdict
                    for (verdict,) in connection.execute("PRAGMA integrity_check")
                ]
            except sqlite3.Error as error:
                verdicts = [str(error)]
            finally:
                connection.close()
            if verdicts != ["ok"]:
                problems.append(f"{path.name}: {verdicts[0]}")
    return problems


def visible_problems(world: World, known: Mapping[str, str]) -> list[str]:
    """Tell which files can be seen in the repository that a run in peace would not have
    made as they are.
    """
    seen = {
        path: digest for path, digest in world.artefacts().items() if ".tmp" not in path
    }
    return [
        f"{path} is not as in a run in peace"
        for path, digest in seen.items()
        if known.get(path) != digest
    ]


def end_problems(
    world: World, known: Mapping[str, str], issues: int, *, has_run: bool = True
) -> list[str]:
    """Tell what is missing or left over when everything has been run to its end.

    Without `has_run`, the last command had nothing to do and wrote no summary.
    """
    artefacts = world.artefacts()
    problems = visible_problems(world, known)
    problems += [f"{path} is missing" for path in known if path not in artefacts]
    problems += [f"{path} is left over" for path in world.leftovers()]
    problems += status_problems(world, issues)
    problems += audit_problems(world)
    if has_run:
        problems += summary_problems(world.run_folders[-1])
    return problems


def stray_in_home(world: World) -> list[str]:
    """Return the temporary files that a kill has left in the home."""
    return [str(path.relative_to(world.home)) for path in world.home.rglob("*.tmp")]
