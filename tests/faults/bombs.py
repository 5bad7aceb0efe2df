"""Feed issues that are made to explode: each is refused or done in time, and the others
do not notice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from tests.faults import evidence
from tests.faults.figures import Figures, main
from tests.faults.scene import command, make_world, undisturbed
from tests.support import Finished, World

MOST = 1_900_000
LONGEST = 30.0
LONGEST_ITEM = 10.0
MOST_GROWTH = 200_000_000
ROUNDS = 1
CLEAN = 2

HEAD = "# Issue #{number}: Export list {number}\n\n## Objective\nAdd an export.\n\n## Acceptance Criteria\n"
CRITERION = "- [ ] `lists export` ends with 0\n"


def _fill(unit: str, size: int = MOST) -> str:
    return unit * (size // len(unit.encode()))


BOMBS: dict[str, str] = {
    "file_of_50_megabytes": _fill(CRITERION, 50_000_000),
    "one_line": "- [ ] " + _fill("word "),
    "one_word": "- [ ] " + _fill("x"),
    "nested_lists": _fill("- ", 200_000) + "x\n",
    "deep_indent": "".join(" " * n + "- x\n" for n in range(0, 1900)),
    "nested_quotes": _fill(">", 500_000) + "x\n",
    "brackets": CRITERION + _fill("[") + "\n",
    "links": CRITERION + _fill("[x](") + "\n",
    "emphasis": CRITERION + _fill("*_") + "\n",
    "backticks": CRITERION + _fill("`") + "\n",
    "open_fences": CRITERION + _fill("```\n~~~\n"),
    "growing_fences": CRITERION + "".join("`" * n + "\n" for n in range(3, 1900)),
    "headings": CRITERION + _fill("#\n"),
    "named_headings": CRITERION + _fill("## Objective\n"),
    "table": CRITERION + _fill("|") + "\n",
    "table_rows": CRITERION + "| a | b |\n|---|---|\n" + _fill("| x | y |\n"),
    "criteria": _fill(CRITERION),
    "comments": CRITERION + _fill("<!--") + "\n",
    "spaces": CRITERION + _fill(" ") + "x\n",
    "blank_lines": CRITERION + _fill("\n"),
    "numbers": CRITERION + "- [ ] at most " + _fill("9") + " bytes\n",
    "file_names": CRITERION
    + "\n## Files to Create/Modify\n"
    + _fill("- `a/b.py`: x\n"),
    "json": CRITERION + _fill('{"a":') + "\n",
}


def measure(
    seed: int, count: int, folder: Path, names: Sequence[str] = tuple(BOMBS)
) -> Figures:
    """Run bombs and some clean items together, so many times."""
    figures = Figures("bombs", seed, count, {"bombs": len(names)})
    for number in range(1, count + 1):
        world = make_world(folder / f"world-{number}", len(names) + CLEAN)
        for item, name in enumerate(names, start=1):
            (world.repo / f"docs/issues/{item}-export.md").write_text(
                HEAD.format(number=item) + BOMBS[name], "utf-8"
            )
        _explode(figures, world, names)
    return figures


def _explode(figures: Figures, world: World, names: Sequence[str]) -> None:
    finished, growth = _run_watched(world)
    figures.raise_to("coordinator_growth_megabytes", growth / 1e6)
    figures.raise_to("longest_run_seconds", finished.seconds)
    figures.expect(
        growth <= MOST_GROWTH, f"the coordinator grew by {growth / 1e6:.0f} MB"
    )
    figures.expect(
        finished.code in (0, 1), f"ended with {finished.code}: {finished.text[-1000:]}"
    )
    figures.expect("Traceback" not in finished.text, finished.text[-3000:])
    longest = max((len(line) for line in finished.text.split("\n")), default=0)
    figures.expect(longest <= 70_000, f"a line of {longest} characters was shown")
    summary = json.loads((world.run_folders[-1] / "summary.json").read_bytes())
    ends = {}
    for name, entry in zip(names, summary["items"], strict=False):
        ends[name] = f"{entry['class'] or entry['status']}, {entry['seconds']} s"
        figures.expect(entry["class"] != "infra", f"{name}: {entry['message'][:300]}")
        figures.expect_swift(
            entry["seconds"] <= LONGEST_ITEM, f"{name}: took {entry['seconds']} s"
        )
    figures.values["ends"] = ends
    _check_clean(figures, world, summary["items"][len(names) :], len(names) + 1)
    for item, runs in evidence.events_by_item(world).items():
        peak = max(
            (
                e["peak_memory"]
                for events in runs
                for e in events
                if e["event"] == "worker-exited"
            ),
            default=0,
        )
        figures.raise_to("largest_worker_megabytes", peak / 1e6)
        figures.expect(
            peak <= MOST_GROWTH + 70_000_000,
            f"item {item}: its worker took {peak / 1e6:.0f} MB",
        )


def _check_clean(
    figures: Figures, world: World, entries: list[dict[str, object]], first: int
) -> None:
    issues = first + CLEAN - 1
    figures.expect(
        len(entries) == CLEAN and all(e["status"] == "approved" for e in entries),
        f"clean ones: {entries}",
    )
    known = undisturbed(issues, ROUNDS)
    names = [f"LLD-{number:03d}.md" for number in range(first, issues + 1)]
    made = world.artefacts()
    for path, digest in known.items():
        if Path(path).name in names:
            figures.expect(
                made.get(path) == digest, f"{path} is not as in a run in peace"
            )


def _run_watched(world: World) -> tuple[Finished, int]:
    memory = []
    with world.start(
        *command("--timeout", str(LONGEST), latency=0, rounds=ROUNDS)
    ) as running:
        coordinator = psutil.Process(running.pid)
        running.wait_for("items to run")
        while running.process.poll() is None:
            try:
                memory.append(coordinator.memory_info().rss)
            except psutil.Error:
                break
            time.sleep(0.02)
        return running.finish(), max(memory) - memory[0]


if __name__ == "__main__":
    raise SystemExit(main(measure, 1))
