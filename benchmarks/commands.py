"""How fast are the commands that run no items?"""

from __future__ import annotations

import hashlib
import sys
from statistics import median

from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.item import State
from agentos.kinds import Kind
from agentos.state.home import Home, repository_key
from agentos.state.records import ItemRecord, write_record
from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import Scene, find_program, scene, time_command

ROUNDS = 21
HELP_TARGET = 8.0
FEW, MANY = 50, 10_000
FEW_TARGET, MANY_TARGET = 0.3, 3.0
MANY_ROUNDS = 5
METHOD = (
    f"Wall time of the whole process. Help: median of {ROUNDS} runs, alternating with `python -c pass` of the same "
    f"interpreter. Dry run: median of {ROUNDS} runs with {FEW} issue files and of {MANY_ROUNDS} runs with {MANY:,}. "
    "The latter is measured with new items, and with items whose record says that they are complete; then each file "
    "is read and hashed to check that it is unchanged. Compared with `grep -c` and `sha256sum` over the same files, "
    "the minimum that any program has to do."
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
        reading = median(
            time_shell(place, "grep -rc '' docs/issues") for _ in range(MANY_ROUNDS)
        )
        complete_all(place)
        complete = median(time_dry_run(place) for _ in range(MANY_ROUNDS))
        hashing = median(
            time_shell(place, "find docs/issues -type f -print0 | xargs -0 sha256sum")
            for _ in range(MANY_ROUNDS)
        )
    figures += [
        Figure(
            f"--dry-run over {MANY:,} new items",
            new,
            "s",
            MANY_TARGET,
            reading,
            "grep -c over the files",
        ),
        Figure(
            f"--dry-run over {MANY:,} complete items",
            complete,
            "s",
            MANY_TARGET,
            hashing,
            "sha256sum of the files",
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
    return time_command(
        [find_program("lld-workflow"), "--all", "--dry-run"], place.environ, place.repo
    )


def time_shell(place: Scene, script: str) -> float:
    """Return the seconds of a shell line."""
    return time_command(["sh", "-c", script], place.environ, place.repo)


def complete_all(place: Scene) -> None:
    """Write for every item the record and the document of one that is complete."""
    home, key = Home(place.home), repository_key(place.repo)
    home.prepare(key)
    designs = place.repo / "docs" / "lld" / "active"
    designs.mkdir(parents=True)
    for item in DirectoryInbox(place.repo, Kind.LLD).collect().items:
        artefact = designs / f"LLD-{int(item.id):03}.md"
        artefact.write_text("# Done\n", "utf-8")
        record = ItemRecord(
            workflow=item.kind,
            item=item.id,
            digest=hashlib.sha256((place.repo / item.source).read_bytes()).hexdigest(),
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
        write_record(home.item(key, item).record, record, place.home / "record.tmp")


if __name__ == "__main__":
    raise SystemExit(main())
