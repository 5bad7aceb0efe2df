"""How fast do the commands answer that run nothing?"""

from __future__ import annotations

import hashlib
import sys
from statistics import median

from agentos.home import Home, repository_key
from agentos.inbox.directory import DirectoryInbox
from agentos.records import Record, write_record
from agentos.task import State, Workflow
from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Scene, find_program, scene, time_command

ROUNDS = 21
HELP_TARGET = 8.0
FEW, MANY = 50, 10_000
FEW_TARGET, MANY_TARGET = 0.3, 3.0
MANY_ROUNDS = 5
METHOD = (
    f"Wall time of the whole process. Help: median of {ROUNDS}, in turn with `python -c pass` by the same interpreter. "
    f"Dry run: median of {ROUNDS} for {FEW} issue files, of {MANY_ROUNDS} for {MANY:,}, the latter also when each has "
    "a record that says it is complete (then its file is read and hashed to see that it is unchanged). Beside it: "
    "`grep -c` and `sha256sum` over the same files, the least that anything has to do."
)


def main() -> int:
    """Print the times of answers as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Time help and dry runs."""
    figures = []
    with scene(FEW) as place:
        figures += measure_help(place)
        seconds = median(time_dry_run(place) for _ in range(ROUNDS))
        figures.append(Figure(f"--dry-run over {FEW} items", seconds, "s", FEW_TARGET))
    with scene(MANY) as place:
        new = median(time_dry_run(place) for _ in range(MANY_ROUNDS))
        reading = median(time_shell(place, "grep -rc '' docs/issues") for _ in range(MANY_ROUNDS))
        complete_all(place)
        complete = median(time_dry_run(place) for _ in range(MANY_ROUNDS))
        hashing = median(
            time_shell(place, "find docs/issues -type f -print0 | xargs -0 sha256sum") for _ in range(MANY_ROUNDS)
        )
    figures += [
        Figure(f"--dry-run over {MANY:,} new items", new, "s", MANY_TARGET, reading, "grep -c over the files"),
        Figure(
            f"--dry-run over {MANY:,} complete items", complete, "s", MANY_TARGET, hashing, "sha256sum of the files"
        ),
    ]
    return Result(__doc__ or "", METHOD, figures)


def measure_help(place: Scene) -> list[Figure]:
    """Return how many times as long as an empty interpreter each help takes."""
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "lld-workflow": [find_program("lld-workflow"), "--help"],
        "agentos": [find_program("agentos"), "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        time_command(command, place.environ, place.repo)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(time_command(command, place.environ, place.repo))
    base = median(times.pop("python"))
    return [
        Figure(
            f"{name} --help over `python -c pass`",
            median(seconds) / base,
            "x",
            HELP_TARGET,
            note=f"{median(seconds) * 1000:.0f} ms against {base * 1000:.1f} ms",
        )
        for name, seconds in times.items()
    ]


def time_dry_run(place: Scene) -> float:
    """Return the seconds of a dry run over everything."""
    return time_command([find_program("lld-workflow"), "--all", "--dry-run"], place.environ, place.repo)


def time_shell(place: Scene, script: str) -> float:
    """Return the seconds of a shell line."""
    return time_command(["sh", "-c", script], place.environ, place.repo)


def complete_all(place: Scene) -> None:
    """Write for every item the record and the document of one that is complete."""
    home, key = Home(place.home), repository_key(place.repo)
    home.prepare(key)
    designs = place.repo / "docs" / "lld" / "active"
    designs.mkdir(parents=True)
    for task in DirectoryInbox(place.repo, Workflow.LLD).collect().tasks:
        artefact = designs / f"LLD-{int(task.item):03}.md"
        artefact.write_text("# Done\n", "utf-8")
        record = Record(
            workflow=task.workflow,
            item=task.item,
            digest=hashlib.sha256((place.repo / task.source).read_bytes()).hexdigest(),
            state=State.APPROVED,
            failure=None,
            message="No blocking or high-priority finding.",
            rounds=1,
            attempts=1,
            seconds=2.1,
            run="20260101T000000Z",
            updated="2026-01-01T00:00:00Z",
            artefact=artefact.relative_to(place.repo).as_posix(),
        )
        write_record(home.item(key, task).record, record, place.home / "record.tmp")


if __name__ == "__main__":
    raise SystemExit(main())
