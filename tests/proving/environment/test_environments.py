"""Real virtual environments, built by real pip from wheels that the tests write."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.errors import BadInput, ItemError
from agentos.proving.environment import (
    Environment,
    describe_project,
    open_environment,
    read_needs,
)
from agentos.proving.environment.installing import (
    PipLog,
    index_redactor,
    mask_logins,
    pip_environ,
)
from tests.proving.environment.test_needs import write
from tests.proving.environment.wheels import write_source, write_wheel

pytestmark = pytest.mark.slow

PATIENCE = 60.0
PASSWORD = "s3cret-p4ssword"
TOOLS = ("pytest",)
OPENER = """\
import asyncio, sys
from pathlib import Path
from agentos.proving.environment import open_environment, read_needs
needs = read_needs(Path(sys.argv[1]), tools=())
print(asyncio.run(open_environment(needs, Path(sys.argv[2]), log=lambda line: print(line, flush=True))).python)
"""


def offline_environ(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return an environment in which pip sees the test's own wheels and nothing
    else.
    """
    (tmp_path / "user").mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "user"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        **more,
    }


def opened(
    tmp_path: Path,
    files: Mapping[str, str],
    *,
    tools: tuple[str, ...] = (),
    **more: str,
) -> tuple[Environment, list[str]]:
    said: list[str] = []
    needs = read_needs(write(tmp_path / "repo", files), tools=tools)
    environ = offline_environ(tmp_path, **more)
    return asyncio.run(
        open_environment(
            needs, tmp_path / "environments", log=said.append, environ=environ
        )
    ), said


def imports(environment: Environment, name: str) -> bool:
    command = [str(environment.python), "-c", f"import {name}"]
    return (
        subprocess.run(
            command, stderr=subprocess.DEVNULL, cwd="/", check=False
        ).returncode
        == 0
    )


def test_what_is_installed_beside_agentos_is_borrowed_without_network(
    tmp_path: Path,
) -> None:
    environment, said = opened(
        tmp_path, {"requirements.txt": "sortedcontainers\n"}, tools=TOOLS
    )
    assert imports(environment, "pytest")
    assert imports(environment, "sortedcontainers")
    assert not imports(environment, "langgraph")
    assert not imports(environment, "agentos")
    assert "borrowing" in said[0]
    assert environment.folder in environment.readable
    (tmp_path / "repo" / "test_it.py").write_text(
        "def test_it():\n    assert 1 + 1 == 2\n"
    )
    for command in (
        [environment.python, "-m", "pytest"],
        [environment.folder / "bin" / "pytest"],
    ):
        finished = subprocess.run(
            [*command, "-q"],
            cwd=tmp_path / "repo",
            capture_output=True,
            text=True,
            check=False,
        )
        assert "1 passed" in finished.stdout, finished.stdout + finished.stderr


def test_nothing_is_written_into_a_borrowed_environment_by_a_test_run(
    tmp_path: Path,
) -> None:
    environment, _ = opened(tmp_path, {}, tools=TOOLS)
    before = {path for path in environment.folder.rglob("*") if "_pytest" in path.parts}
    subprocess.run(
        [environment.python, "-m", "pytest", "--version"],
        check=True,
        capture_output=True,
    )
    assert {
        path for path in environment.folder.rglob("*") if "_pytest" in path.parts
    } == before


def test_what_is_compiled_is_found_in_one_folder_of_the_environment(
    tmp_path: Path,
) -> None:
    write_wheel(tmp_path / "wheels", "sortedcontainers", "0.0.7")
    environment, _ = opened(tmp_path, {"requirements.txt": "sortedcontainers==0.0.7\n"})
    assert environment.bytecode
    question = "import argparse, sortedcontainers as s; print(argparse.__cached__, s.__cached__)"
    command = [
        str(environment.python),
        "-X",
        f"pycache_prefix={environment.bytecode}",
        "-c",
        question,
    ]
    own, installed = map(Path, subprocess.check_output(command, text=True).split())
    assert own.is_relative_to(environment.bytecode)
    assert (
        own.is_file()
        == Path(importlib.util.cache_from_source(argparse.__file__)).is_file()
    ), "as compiled as the interpreter is"
    assert installed.is_relative_to(environment.bytecode)
    assert installed.is_file()


def test_an_environment_is_found_again(tmp_path: Path) -> None:
    first, _ = opened(tmp_path, {}, tools=TOOLS)
    second, said = opened(tmp_path, {}, tools=TOOLS)
    assert first == second
    assert said == []


def test_a_version_that_is_not_the_installed_one_is_not_borrowed(
    tmp_path: Path,
) -> None:
    write_wheel(tmp_path / "wheels", "sortedcontainers", "0.0.7")
    environment, said = opened(
        tmp_path, {"requirements.txt": "sortedcontainers==0.0.7\n"}
    )
    found = subprocess.check_output(
        [environment.python, "-c", "import sortedcontainers as s; print(s.VERSION)"],
        text=True,
    )
    assert found.strip() == "0.0.7"
    installed = importlib.metadata.version("sortedcontainers")
    assert f"sortedcontainers {installed} is installed beside AgentOS" in said[0]


def test_pip_installs_what_the_lists_and_their_closure_name(tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny-one", "1.0", requires=("tiny-two>=2",))
    write_wheel(tmp_path / "wheels", "tiny-two", "2.5")
    environment, _ = opened(tmp_path, {"requirements.txt": "tiny-one\n-e .\n"})
    assert imports(environment, "tiny_one")
    assert imports(environment, "tiny_two")


def test_a_lock_with_hashes_is_checked_and_what_is_not_in_it_added(
    tmp_path: Path,
) -> None:
    import hashlib

    wheel = write_wheel(tmp_path / "wheels", "tiny-one", "1.0")
    write_wheel(tmp_path / "wheels", "tiny-tool", "3.0", requires=("tiny-one",))
    write_wheel(tmp_path / "wheels", "tiny-one", "2.0")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock = {"requirements-dev.lock": f"tiny-one==1.0 --hash=sha256:{digest}\n"}
    environment, _ = opened(tmp_path, lock, tools=("tiny-tool",))
    code = "import tiny_tool, tiny_one; print(tiny_one.VERSION)"
    assert (
        subprocess.check_output([environment.python, "-c", code], text=True).strip()
        == "1.0"
    )
    with pytest.raises(ItemError, match="HASHES"):
        opened(
            tmp_path,
            {"requirements-dev.lock": f"tiny-one==1.0 --hash=sha256:{'0' * 64}\n"},
            tools=(),
        )


def test_a_broken_requirement_ends_with_one_line_that_names_it(tmp_path: Path) -> None:
    address = f"http://somebody:{PASSWORD}@127.0.0.1:9/simple"
    with pytest.raises(ItemError) as caught:
        opened(
            tmp_path,
            {"requirements.txt": "no-such-package==9.9\n"},
            PIP_EXTRA_INDEX_URL=address,
        )
    line = str(caught.value)
    assert "No matching distribution found for no-such-package==9.9" in line
    assert "\n" not in line
    log = Path(line.rpartition("the log is ")[2])
    assert "no-such-package" in log.read_text()
    assert PASSWORD not in log.read_text() + line
    assert not [path for path in (tmp_path / "environments").iterdir() if path.is_dir()]


def test_a_repository_without_pytest_is_told_what_to_declare(tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny-one", "1.0")
    with pytest.raises(BadInput) as caught:
        opened(tmp_path, {"requirements.txt": "tiny-one==1.0\n"}, tools=TOOLS)
    line = str(caught.value)
    assert line.startswith("the repository's tests cannot be run without pytest: ")
    assert "declare a version of it as a test dependency" in line
    assert "\n" not in line


@pytest.mark.parametrize("only_wheels", [True, False])
def test_a_package_that_runs_code_is_refused_without_a_sandbox(
    tmp_path: Path, only_wheels: bool
) -> None:
    flag = tmp_path / "ran"
    backend = f"import pathlib\npathlib.Path({str(flag)!r}).write_text('ran')\n"
    write_source(tmp_path / "wheels", "hostile", "1.0", backend)
    needs = read_needs(
        write(tmp_path / "repo", {"requirements.txt": "hostile\n"}),
        tools=(),
        only_wheels=only_wheels,
    )
    opening = open_environment(
        needs, tmp_path / "env", log=print, environ=offline_environ(tmp_path)
    )
    with pytest.raises(ItemError, match="hostile"):
        asyncio.run(opening)
    assert not flag.exists()


def test_two_processes_build_once(tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny-one", "1.0")
    repo = write(tmp_path / "repo", {"requirements.txt": "tiny-one\n"})
    command = [sys.executable, "-c", OPENER, str(repo), str(tmp_path / "environments")]
    environ = offline_environ(tmp_path, PYTHONPATH=os.getcwd())  # noqa: PTH109
    started = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in started]
    assert sum("installing with pip" in output for output in outputs) == 1
    assert len({output.splitlines()[-1] for output in outputs}) == 1
    assert all(process.returncode == 0 for process in started)


def test_ten_items_of_one_process_build_once(tmp_path: Path) -> None:
    said: list[str] = []
    needs = read_needs(write(tmp_path / "repo", {}), tools=TOOLS)

    async def open_all() -> list[Environment]:
        environ = offline_environ(tmp_path)
        many = [
            open_environment(needs, tmp_path / "env", log=said.append, environ=environ)
            for _ in range(10)
        ]
        return await asyncio.gather(*many)

    assert len(set(asyncio.run(open_all()))) == 1
    assert sum("borrowing" in line for line in said) == 1


class StuckIndex:
    """A package index that takes a question and never answers it."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))

    @property
    def variables(self) -> dict[str, str]:
        port = self.socket.getsockname()[1]
        return {
            "PIP_NO_INDEX": "0",
            "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple",
            "PYTHONPATH": str(Path.cwd()),
        }

    def wait_for_question(self) -> socket.socket:
        asker, _ = self.socket.accept()
        assert asker.recv(1)
        return asker


def wait_until_closed(asker: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        while asker.recv(65_536):
            pass


def test_a_builder_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    index = StuckIndex()
    repo = write(tmp_path / "repo", {"requirements.txt": "tiny-one\n"})
    command = [sys.executable, "-c", OPENER, str(repo), str(tmp_path / "environments")]
    environ = offline_environ(tmp_path, **index.variables)
    builder = subprocess.Popen(command, env=environ)
    pip = index.wait_for_question()
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    wait_until_closed(pip)
    write_wheel(tmp_path / "wheels", "tiny-one", "1.0")
    environment, _ = opened(tmp_path, {})
    assert imports(environment, "tiny_one")


def test_a_cancelled_build_ends_pip(tmp_path: Path) -> None:
    index = StuckIndex()
    needs = read_needs(
        write(tmp_path / "repo", {"requirements.txt": "tiny-one\n"}), tools=()
    )

    async def cancel_in_the_middle() -> socket.socket:
        environ = offline_environ(tmp_path, **index.variables)
        opening = asyncio.create_task(
            open_environment(needs, tmp_path / "env", log=print, environ=environ)
        )
        pip = await asyncio.to_thread(index.wait_for_question)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        return pip

    wait_until_closed(asyncio.run(cancel_in_the_middle()))
    assert [
        path.name for path in (tmp_path / "env").iterdir() if path.suffix != ".log"
    ] == []


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    project = {"pyproject.toml": '[project]\nname = "x"\nrequires-python = "<3"\n'}
    with pytest.raises(BadInput, match="asks for Python <3"):
        opened(tmp_path, project)


def test_an_environment_whose_interpreter_is_gone_is_built_anew(tmp_path: Path) -> None:
    environment, _ = opened(tmp_path, {}, tools=TOOLS)
    environment.python.unlink()
    again, said = opened(tmp_path, {}, tools=TOOLS)
    assert again == environment
    assert imports(again, "pytest")
    assert said


def test_pip_sees_its_own_variables_and_no_keys() -> None:
    given = {
        "PIP_INDEX_URL": "x",
        "OPENAI_API_KEY": "k",
        "PYTHONPATH": "/evil",
        "HTTPS_PROXY": "p",
        "PATH": "/bin",
    }
    assert set(pip_environ(given)) & set(given) == {
        "PIP_INDEX_URL",
        "HTTPS_PROXY",
        "PATH",
    }


def test_progress_counts_packages_and_does_not_list_them(tmp_path: Path) -> None:
    log = PipLog(tmp_path / "log", index_redactor({}))
    log.take(b"Collecting six (from -r requirements.txt (line 1))\n")
    assert log.doing == "Collecting six"
    log.take(b"Installing collected packages: six, attrs, pytest\n")
    assert log.doing == "Installing 3 packages"


def test_logins_in_addresses_are_masked() -> None:
    assert PASSWORD not in mask_logins(
        f"Retrying https://me:{PASSWORD}@host/simple and ftp://{PASSWORD}@h"
    )
    address = f"https://me:{PASSWORD}@host/simple/"
    assert PASSWORD not in index_redactor({"PIP_INDEX_URL": address}).redact(
        f"it is {PASSWORD} at {address}"
    )
    assert mask_logins("nothing://here/a@b c@d") == "nothing://here/a@b c@d"


def test_metadata_of_a_project_that_is_not_installed(tmp_path: Path) -> None:
    project = """\
[project]
name = "my-tool"
dynamic = ["version"]
scripts = {tool = "my_tool:main"}
[project.entry-points.pytest11]
mine = "my_tool.plugin"
"""
    repo = write(
        tmp_path / "repo",
        {
            "pyproject.toml": project,
            "src/my_tool/__init__.py": '__version__ = "1.2.3"\n',
        },
    )
    place = describe_project(repo, tmp_path / "metadata", Path(sys.executable))
    assert place is not None
    assert describe_project(repo, tmp_path / "metadata", Path(sys.executable)) == place
    code = "import importlib.metadata as m; d = m.distribution('my-tool'); print(d.version, len(d.entry_points))"
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "metadata")}
    assert subprocess.check_output(
        [sys.executable, "-c", code], env=environ, text=True
    ).split() == ["1.2.3", "2"]
    write(repo, {"src/my_tool/__init__.py": '__version__ = "1.3"\n'})
    describe_project(repo, tmp_path / "metadata", Path(sys.executable))
    assert [path.name for path in (tmp_path / "metadata").glob("*-info")] == [
        "my_tool-1.3.dist-info"
    ]


@pytest.mark.parametrize("name", ["", "../../x", "a/b", "."])
def test_metadata_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    repo = write(
        tmp_path / "repo",
        {"pyproject.toml": f'[project]\nname = "{name}"\nversion = "../1"\n'},
    )
    place = describe_project(repo, tmp_path / "metadata", Path(sys.executable))
    assert place is None or place.parent == tmp_path / "metadata"


ENTRY_POINTS = {
    "pyproject.toml": '[project]\nname = "tool"\n[project.scripts]\ntool = "tool.cli:main"\n',
    "setup.cfg": "[metadata]\nname = tool\n[options.entry_points]\nconsole_scripts =\n    tool = tool.cli:main\n",
    "setup.py": 'from setuptools import setup\nsetup(name="tool", entry_points={"console_scripts": ["tool=tool.cli:main"]})\n',
    "poetry": '[tool.poetry]\nname = "tool"\n[tool.poetry.scripts]\ntool = "tool.cli:main"\n',
}


@pytest.mark.parametrize("source", ENTRY_POINTS)
@pytest.mark.parametrize("folder", ["python", "a long path " + "x" * 120])
def test_a_declared_command_runs_the_code_of_the_worktree(
    tmp_path: Path, source: str, folder: str
) -> None:
    file = source if "." in source else "pyproject.toml"
    code = "import sys\n\n\ndef main():\n    print(sys.argv[1:])\n    return 3\n"
    repo = write(
        tmp_path / "repo",
        {file: ENTRY_POINTS[source], "tool/__init__.py": "", "tool/cli.py": code},
    )
    python = tmp_path / folder / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    assert describe_project(repo, tmp_path / "metadata", python) is not None
    command = tmp_path / "metadata/bin/tool/tool"
    ended = subprocess.run(
        [command, "a", "b c"],
        env={"PYTHONPATH": str(repo)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (3, "['a', 'b c']\n"), ended.stderr


def test_commands_that_are_no_longer_declared_are_gone(tmp_path: Path) -> None:
    project = '[project]\nname = "tool"\n[project.scripts]\n"{name}" = "tool:main"\n'
    python = Path(sys.executable)
    for name in ("first", "second", "../../outside", "a b"):
        repo = write(tmp_path / "repo", {"pyproject.toml": project.format(name=name)})
        describe_project(repo, tmp_path / "metadata", python)
        commands = tmp_path / "metadata/bin/tool"
        found = [path.name for path in commands.glob("*")]
        assert found == ([name] if name.isalpha() else [])
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("target", ["os:system;x", "a b:c", "x", "tool:1", "tool:a()"])
def test_an_entry_point_that_is_no_name_is_left_out(
    tmp_path: Path, target: str
) -> None:
    project = f'[project]\nname = "tool"\n[project.scripts]\ntool = "{target}"\n'
    repo = write(tmp_path / "repo", {"pyproject.toml": project})
    describe_project(repo, tmp_path / "metadata", Path(sys.executable))
    assert list((tmp_path / "metadata").glob("bin/*/*")) == []


def test_a_version_is_read_where_setuptools_would_read_it(tmp_path: Path) -> None:
    project = '[project]\nname = "python-tool"\ndynamic = ["version"]\n'
    project += '[tool.setuptools.dynamic]\nversion = {attr = "tool.__version__"}\n'
    files = {
        "pyproject.toml": project,
        "src/tool/__init__.py": "",
        "src/tool/version.py": '__version__ = "2.5"\n',
    }
    repo = write(tmp_path / "repo", files)
    place = describe_project(repo, tmp_path / "metadata", Path(sys.executable))
    assert place is not None
    assert place.name == "python_tool-2.5.dist-info"
