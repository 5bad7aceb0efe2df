"""A setting is declared in one place and reaches a step without another."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import agentos
from agentos.settings import SETTINGS, RunConfig
from tests.support import World, build_world

DECLARED = """\
    greeting: str = setting("nothing", str, "what the drafter says")
    color: str = setting("""
USED = """\
    print(f"The drafter says {context.config.greeting}.")
    rounds = state["rounds"]
    ledger = ledger_of(state)
    looker ="""


def replace_in(path: Path, old: str, new: str) -> None:
    """Replace text that is in a file once."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def contributor(tmp_path: Path) -> World:
    """A world whose `python` has a copy of AgentOS with one more setting."""
    package = tmp_path / "copy" / "agentos"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(agentos.__file__).parent, package, ignore=ignored)
    replace_in(package / "settings.py", "    color: str = setting(", DECLARED)
    old = USED.partition("\n")[2]
    replace_in(package / "workflows/drafting/nodes.py", old, USED)
    world = build_world(tmp_path, issues=1)
    environ = {**world.environ, "PYTHONPATH": str(package.parent)}
    return World(world.repo, world.home, environ, is_recorded=False)


def command(*arguments: str) -> tuple[str, ...]:
    """Return a call of the copy's command."""
    code = "import sys; from agentos.cli.main import main; sys.exit(main())"
    return (sys.executable, "-P", "-c", code, *arguments)


@pytest.mark.slow
def test_a_new_setting_touches_two_files(contributor: World) -> None:
    by_flag = contributor.run(*command("lld", "--all", "--greeting", "good day"))
    assert "[LLD-1] The drafter says good day." in by_flag.stdout, by_flag.text
    run = command("lld", "--all", "--redo")
    by_variable = contributor.run(*run, environ={"AGENTOS_GREETING": "hello"})
    assert "[LLD-1] The drafter says hello." in by_variable.stdout
    (contributor.repo / "agentos.toml").write_text('greeting = "welcome"\n')
    by_file = contributor.run(*run)
    assert "[LLD-1] The drafter says welcome." in by_file.stdout
    assert "this repository sets greeting (agentos.toml)" in by_file.stderr
    shown = contributor.run(*command("config"))
    assert "greeting" in shown.stdout
    helped = contributor.run(*command("implement", "--help"))
    assert "--greeting N" in helped.stdout


def test_every_setting_is_a_field_with_its_default() -> None:
    config = RunConfig()
    for name, setting in SETTINGS.items():
        assert getattr(config, name) == setting.default
    assert {field.name for field in fields(RunConfig)} - SETTINGS.keys() == {
        "price_at_least",
        "scaffold_only",
        "restart",
        "note",
    }
