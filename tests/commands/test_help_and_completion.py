"""Help is complete, fast to reach, and imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from agentos import __version__
from agentos.cli.main import COMMANDS
from tests.support import BIN, ROOT, World


@pytest.mark.parametrize("command", ["lld-workflow", "issue-workflow", "agentos"])
def test_help_names_examples_exit_codes_files_environment_and_the_shutdown(
    world: World, command: str
) -> None:
    text = world.run(command, "--help").stdout
    for word in (
        "examples:",
        "exit codes:",
        "130",
        "files:",
        "environment:",
        "Ctrl+C stops within 5 seconds",
    ):
        assert word in text
    if command != "agentos":
        assert "at most 10" in text
        assert text.index("examples:") < text.index("--halt")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_table_has_a_line_and_a_page_of_help(
    world: World, command: str
) -> None:
    assert COMMANDS[command][1] in " ".join(
        world.run("agentos", "--help").stdout.split()
    )
    shown = world.run("agentos", command, "--help")
    assert shown.code == 0
    assert shown.stdout.startswith(f"usage: agentos {command} ")
    assert shown.stdout.casefold().count("exit code") <= 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("stauts",), "agentos: no such command; did you mean status?"),
        (("xyz",), "agentos: no such command; use one of lld, issue, "),
        (("--",), "agentos: the following arguments are required: COMMAND"),
        (
            ("status", "--jsn"),
            "agentos status: unknown option --jsn; did you mean --json?",
        ),
    ],
)
def test_a_command_that_does_not_exist_ends_with_2_and_the_nearest_one(
    world: World, arguments: tuple[str, ...], said: str
) -> None:
    ended = world.run("agentos", *arguments)
    assert ended.code == 2
    assert ended.stderr.startswith(said)


@pytest.mark.parametrize("command", ["lld-workflow", "issue-workflow", "agentos"])
def test_version_is_told(world: World, command: str) -> None:
    assert world.run(command, "--version").stdout == f"agentos {__version__}\n"


def test_help_and_dry_run_do_not_import_the_graph_library(world: World) -> None:
    script = (
        "import sys; from agentos.cli.main import main\n"
        "try: main(['lld', *sys.argv[1:]])\n"
        "except SystemExit: pass\n"
        "assert not {m.split('.')[0] for m in sys.modules} & {'langgraph', 'asyncio', 'sqlite3', 'multiprocessing'}"
    )
    for arguments in (["--help"], ["--all", "--dry-run"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=world.repo,
            env=dict(world.environ),
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_code_is_printed_for_every_shell(world: World, shell: str) -> None:
    ended = world.run("agentos", "completion", shell)
    assert ended.code == 0
    assert "lld-workflow" in ended.stdout


def test_bash_completes_flags_and_pending_ids(world: World) -> None:
    script = """
source <(agentos completion bash)
COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMP_TYPE=9
_python_argcomplete lld-workflow
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def complete(line: str) -> str:
        return world.run("bash", "-c", script, "complete", line).stdout

    assert "--parallel" in complete("lld-workflow --par")
    assert set(complete("lld-workflow --ids ").split()) >= {"1", "2", "3"}


def test_the_wheel_has_everything_a_run_needs(tmp_path: Path) -> None:
    subprocess.run(
        [
            BIN / "python",
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            tmp_path,
            ROOT,
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for workflow in ("lld", "issue"):
        for prompt in ("draft", "review"):
            assert f"agentos/workflows/drafting/{workflow}/prompts/{prompt}.md" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
