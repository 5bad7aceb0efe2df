"""State and keys are kept only where nobody else can put others in their place."""

from __future__ import annotations

import pytest

from tests.support import World


@pytest.mark.parametrize(
    "command",
    ["lld-workflow --all", "lld-workflow --all --dry-run", "agentos keys list"],
)
@pytest.mark.parametrize("through_link", [False, True])
def test_a_home_below_a_folder_of_everybody_is_refused(
    world: World, command: str, through_link: bool
) -> None:
    shared = world.repo.parent / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o777)
    home = shared / "mine/home"
    if through_link:
        (world.repo.parent / "link").symlink_to(home)
        home = world.repo.parent / "link"
    ended = world.run(*command.split(), environ={"AGENTOS_HOME": str(home)})
    assert ended.code == 2, ended.text
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert f"{shared}: everybody may write to it" in ended.stderr
    assert not home.exists()


def test_a_sticky_folder_of_everybody_is_fine(world: World) -> None:
    shared = world.repo.parent / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    ended = world.run(
        "lld-workflow", "--ids", "1", environ={"AGENTOS_HOME": str(shared / "home")}
    )
    assert ended.code == 0, ended.text
