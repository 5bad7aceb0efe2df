"""Designs that all add to a change log are built in parallel and merge; a lock file
still makes one wait for the other.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.designs import BASE, CODE, Item, branches, fill, git
from tests.support import World

LOG = "# Changelog\n\n## Unreleased\n\n- Old\n"
EDIT = """\
```{language}
# Edit: {path}
<<<<<<< SEARCH
{old}
=======
{new}
>>>>>>> REPLACE
```
"""


def item(number: int, path: str, old: str, new: str) -> Item:
    """Return an item that also edits a file that others edit."""
    edit = EDIT.format(language="text", path=path, old=old, new=new)
    files = {
        f"calc/op{number}.py": "Add",
        f"tests/test_op{number}.py": "Add",
        path: "Modify",
    }
    return Item(number, files=files, code=[CODE.format(number=number) + "\n" + edit])


@pytest.mark.slow
def test_entries_are_added_in_parallel_and_the_trial_merge_has_both(
    make_world: Callable[..., World],
) -> None:
    entries = [f"- Operation {number}" for number in (1, 2)]
    items = [
        item(number, "CHANGELOG.md", "- Old", f"{entry}\n- Old")
        for number, entry in enumerate(entries, 1)
    ]
    # The suite sees what is merged: no marks, and entries in the order of the items.
    check = (
        "from pathlib import Path\n\n\ndef test_the_log():\n"
        "    rows = Path('CHANGELOG.md').read_text().splitlines()\n"
        "    found = [row for row in rows if 'Operation' in row]\n"
        "    assert found == sorted(found)\n"
        "    assert set(rows) <= {'# Changelog', '', '## Unreleased', '- Old', *found}\n"
    )
    base = {**BASE, "CHANGELOG.md": LOG, "tests/test_log.py": check}
    world = fill(make_world(issues=0), *items, base=base)
    plan = world.run("implement-workflow", "--all", "--parallel", "2", "--dry-run")
    assert "both change" not in plan.stdout
    ended = world.run("implement-workflow", "--all", "--parallel", "2", "--trial-merge")
    assert ended.code == 0, ended.text
    assert "Trial merge: 2 items merged into HEAD, the suite is green" in ended.stdout
    for name in branches(world.repo):
        assert git(world.repo, "rev-list", "--count", f"main..{name}").strip() == "1"


def test_a_lock_file_still_makes_one_wait_for_the_other(
    make_world: Callable[..., World],
) -> None:
    items = [item(number, "calc.lock", "old", f"{number}") for number in (1, 2)]
    world = fill(make_world(issues=0), *items, base={**BASE, "calc.lock": "old\n"})
    plan = world.run("implement-workflow", "--all", "--parallel", "2", "--dry-run")
    assert "IMPL-2 after IMPL-1: both change calc.lock" in plan.stdout
