"""Every example in the documentation runs and prints what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.designs import git
from tests.support import ROOT, World

pytestmark = pytest.mark.slow

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Return each command of a page's console blocks with the lines it should print."""
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language != "console":
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.splitlines()
            yield command, expected


def missing_line(expected: list[str], printed: str) -> str | None:
    """Return the first expected line that is not printed; `...` stands for anything.

    The console's two streams are shown to a person as one and tested as one, without
    regard to their order.
    """
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in expected:
        if line == "...":
            continue
        pattern = ".*".join(
            re.escape(part) for part in " ".join(line.split()).split("...")
        )
        if not any(re.fullmatch(pattern, candidate) for candidate in lines):
            return line
    return None


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if list(examples(page))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_console_examples_of_a_page_print_what_it_says(
    page: Path, make_world: Callable[..., World]
) -> None:
    world = make_world(issues=0)
    shutil.rmtree(world.repo)
    shutil.copytree(ROOT / "examples/backlog", world.repo)
    (world.repo.parent / "recorded").symlink_to(ROOT / "examples/recorded")
    world = replace(world, is_recorded=False)
    git(world.repo, "init", "--quiet")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=The example backlog")
    for command, expected in examples(page):
        ended = world.run(*command.split())
        assert ended.code == 0, f"{command}\n{ended.text}"
        missing = missing_line(expected, ended.stdout + ended.stderr)
        assert missing is None, f"{command} does not print {missing!r}:\n{ended.text}"


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_python_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language == "python":
            subprocess.run(
                [sys.executable, "-c", block],
                check=True,
                cwd=tmp_path,
                capture_output=True,
            )


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
