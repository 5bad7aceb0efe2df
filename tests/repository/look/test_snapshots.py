"""One snapshot gives the same answers, whatever happens to the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from agentos.plain_data import from_data, to_data
from agentos.repository.git.run import Git
from agentos.repository.look import (
    Looker,
    Snapshot,
    open_commit,
    record_snapshot,
)
from tests.repository.look.repositories import (
    FILES,
    commit,
    git,
    look_once,
    make_repository,
    write,
)

LOOKS = (
    "outline shop/tables.py",
    "read shop/tables.py 1-20",
    "search align",
    "symbol Table",
    "tests align",
    "history README.md",
    "read draft.py",
    "read new.py",
    "read gone.py",
    "read shop",
)


def prepare(folder: Path) -> Path:
    """Return a repository with changed, new and deleted files."""
    make_repository(folder, {**FILES, "draft.py": "old\n", "gone.py": "x\n"})
    write(folder, {"draft.py": "changed = 1\n", "new.py": "untracked = 1\n"})
    (folder / "gone.py").unlink()
    return folder


def answer(folder: Path, snapshot: Snapshot) -> str:
    return Looker(folder, snapshot).answer(LOOKS, turn=1).text


def test_a_snapshot_has_tracked_and_new_files_as_they_are(tmp_path: Path) -> None:
    prepare(tmp_path)
    assert look_once(tmp_path, "read draft.py")[1] == "    1| changed = 1"
    assert look_once(tmp_path, "read new.py")[1] == "    1| untracked = 1"
    assert look_once(tmp_path, "read gone.py")[0].startswith("no such file among")


def test_a_snapshot_is_small_and_survives_json(tmp_path: Path) -> None:
    prepare(tmp_path)
    snapshot = record_snapshot(tmp_path, {"docs/x.md"})
    data = json.dumps(to_data(snapshot))
    assert from_data(Snapshot, json.loads(data)) == snapshot
    assert len(data) < 600
    assert [record.path for record in snapshot.changed] == ["draft.py", "new.py"]
    assert snapshot.missing == ("gone.py",)


def test_the_same_bytes_after_any_change(tmp_path: Path) -> None:
    prepare(tmp_path)
    snapshot = record_snapshot(tmp_path)
    first = answer(tmp_path, snapshot)
    assert answer(tmp_path, snapshot) == first
    write(tmp_path, dict.fromkeys(FILES, "align = 1\n"))
    write(tmp_path, {"draft.py": "again\n", "new.py": "x\n", "gone.py": "back\n"})
    write(tmp_path, {"shop/more.py": "def align(): ...\n", ".gitignore": "shop/\n"})
    (tmp_path / "README.md").unlink()
    assert answer(tmp_path, snapshot) == first
    commit(tmp_path, "Change everything")
    assert answer(tmp_path, snapshot) == first
    git(tmp_path, "checkout", "--quiet", "--orphan", "other")
    git(tmp_path, "rm", "-r", "--quiet", "--force", ".")
    assert answer(tmp_path, snapshot) == first


def test_the_same_bytes_without_git(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    snapshot = record_snapshot(tmp_path)
    first = answer(tmp_path, snapshot)
    write(tmp_path, dict.fromkeys(FILES, "align = 1\n"))
    (tmp_path / "shop" / "uses.py").unlink()
    write(tmp_path, {"shop/more.py": "align\n"})
    assert answer(tmp_path, snapshot) == first


def test_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "repository")
    snapshot = record_snapshot(folder)
    stored = tmp_path / "snapshot.json"
    stored.write_text(json.dumps(to_data(snapshot)))
    program = (
        "import json, sys; from pathlib import Path\n"
        "from agentos.plain_data import from_data\n"
        "from agentos.repository.look import Looker, Snapshot\n"
        "data = json.loads(Path(sys.argv[2]).read_text())\n"
        "looker = Looker(Path(sys.argv[1]), from_data(Snapshot, data))\n"
        "sys.stdout.write(looker.answer(sys.argv[3:], turn=1).text)\n"
    )
    command = [sys.executable, "-c", program, str(folder), str(stored), *LOOKS]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == answer(folder, snapshot)


def test_what_cannot_be_restored_is_marked(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n" * 50_000, "b.py": "y = 1\n" * 50_000})
    looker = Looker(tmp_path, record_snapshot(tmp_path))
    write(tmp_path, {"a.py": "z = 1\n"})
    (tmp_path / "b.py").unlink()
    text = looker.answer(["read a.py", "read b.py"], 1).text
    assert "lines 1-1 of 1: (changed since this item began; shown as it is now)" in text
    assert "look 2: read b.py\ndeleted since this item began" in text


def test_a_file_with_other_line_ends_than_its_commit(tmp_path: Path) -> None:
    make_repository(tmp_path, {"a.py": "x = 1\ny = 2\n"})
    write(tmp_path, {"a.py": "x = 1\r\ny = 2\r\n"})
    rows = look_once(tmp_path, "read a.py")
    assert rows == ["lines 1-2 of 2:", "    1| x = 1", "    2| y = 2"]


def test_a_linked_worktree(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main")
    other = tmp_path / "other"
    git(main, "worktree", "add", "--quiet", "-b", "other", str(other))
    write(other, {"shop/uses.py": "only_here = 1\n"})
    commit(other, "Here")
    snapshot = record_snapshot(other)
    looker = Looker(other, snapshot)
    write(other, {"shop/uses.py": "later = 1\n"})
    assert "only_here" in looker.answer(["read shop/uses.py"], 1).text


def test_files_of_a_commit_do_not_believe_the_folder(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "folder")
    commit_id = git(folder, "rev-parse", "HEAD").strip()
    store = tmp_path / "store"
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(store))
    write(folder, {"shop/uses.py": "forged = 1\n", "shop/more.py": "forged = 1\n"})
    (folder / ".git/HEAD").write_text("forged")
    files = open_commit(folder, Git(store, store), commit_id)
    assert sorted(FILES) == list(files.paths)
    for path in files.paths:
        assert files.read(path).source == FILES[path]
