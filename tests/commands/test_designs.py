"""Three kinds of issue in a repository with real code: a flag, a migration, a race. The
designs hold up.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from agentos.documents.findings import blocks_approval
from agentos.documents.issue import parse_issue
from agentos.documents.lld import check_lld, parse_lld
from agentos.workflows.drafting.repository_tree import RepositoryTree
from tests.commands.asking import command, key, write_keys
from tests.scenario import serve
from tests.support import ROOT, World

KINDS = {
    "12": "12-export-to-csv.md",
    "14": "14-loans-with-several-items.md",
    "17": "17-one-item-lent-twice.md",
}


@pytest.mark.parametrize("provider", ["offline", "models"])
def test_a_flag_a_migration_and_a_race_get_designs_that_pass_the_check(
    make_world: Callable[..., World], provider: str
) -> None:
    world = make_world(issues=0)
    shutil.rmtree(world.repo)
    shutil.copytree(ROOT / "examples/backlog", world.repo)
    if provider == "offline":
        recorded = f"offline:answers={ROOT}/examples/recorded"
        ended = world.run(
            *("lld-workflow", "--parallel", "3", "--drafter", recorded),
            *("--ids", *KINDS),
        )
    else:
        with serve({}) as server:
            write_keys(world, key("openai", server.url), key("gemini", server.url))
            asking = [
                part
                for part in command("openai", "gemini", parallel=3)
                if part != "--all"
            ]
            ended = world.run(*asking, "--ids", *KINDS)
    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout
    for item, name in KINDS.items():
        issue = parse_issue((world.repo / "docs/issues" / name).read_text("utf-8"))
        design = parse_lld(
            (world.repo / f"docs/lld/active/LLD-0{item}.md").read_text("utf-8")
        )
        found = check_lld(design, issue, None, RepositoryTree(world.repo))
        assert [finding for finding in found if blocks_approval(finding)] == []
        assert len(design.sections) == 12
        assert design.requirements
        assert all(scenario.expected for scenario in design.scenarios)


def test_the_code_of_the_example_works(make_world: Callable[..., World]) -> None:
    world = make_world(issues=0)
    shutil.rmtree(world.repo)
    shutil.copytree(ROOT / "examples/backlog", world.repo)
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # In the usual place it would clear away at its end what earlier runs of these tests
    # have left, for minutes.
    place = f"--basetemp={world.repo.parent / 'temporary'}"
    ended = world.run(
        "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", place, environ=plain
    )
    assert ended.code == 0, ended.text
