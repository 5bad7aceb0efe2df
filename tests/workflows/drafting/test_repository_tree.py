from __future__ import annotations

from pathlib import Path

import pytest

from agentos.documents.lld import ListedTree
from agentos.workflows.drafting.repository_tree import RepositoryTree


@pytest.fixture
def tree(tmp_path: Path) -> RepositoryTree:
    root = tmp_path / "repository"
    (root / "src" / "app").mkdir(parents=True)
    (root / "src" / "app" / "main.py").write_text("")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("")
    (tmp_path / "outside.txt").write_text("")
    (root / "out").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    (root / "inner").symlink_to(root / "src")
    return RepositoryTree(root)


def test_files_and_folders_of_the_repository_exist(tree: RepositoryTree) -> None:
    assert isinstance(tree, ListedTree)
    assert tree.exists("src/app/main.py")
    assert tree.exists("src\\app")
    assert tree.exists("inner/app/main.py")
    assert not tree.exists("src/app/other.py")


@pytest.mark.parametrize(
    "path",
    [
        "out/outside.txt",
        "out",
        "../outside.txt",
        "/etc",
        "~",
        "loop/x",
        ".git/config",
        "a\x00b",
        "",
        "x" * 5000,
        "src/" * 2000,
    ],
)
def test_what_leads_out_of_the_repository_does_not_exist(
    tree: RepositoryTree, path: str
) -> None:
    assert not tree.exists(path)


def test_names_are_listed_in_order_without_the_folder_of_git(
    tree: RepositoryTree,
) -> None:
    assert list(tree.names("")) == ["inner", "loop", "out", "src"]
    assert list(tree.names("src")) == ["app"]
    assert list(tree.names("out")) == []
    assert list(tree.names("src/app/main.py")) == []


def test_a_very_large_folder_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(2100):
        (tmp_path / f"{number}.txt").touch()
    assert len(RepositoryTree(tmp_path).names("")) == 2000
