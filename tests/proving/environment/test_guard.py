"""What a model asks for can be installed, and nothing of it runs outside of the
sandbox.
"""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.errors import BadInput, ItemError
from agentos.proving.environment import Environment, Needs, open_environment, read_needs
from agentos.proving.environment.safe_requirements import is_plain
from tests.proving.environment.test_environments import offline_environ
from tests.proving.environment.test_needs import write
from tests.proving.environment.wheels import write_source, write_wheel
from tests.repository.git.ground import make_repository

pytestmark = pytest.mark.slow

PROJECT = '[project]\nname = "x"\ndependencies = ["{}"]\n'
SET_UP = "[metadata]\nname = x\n[options]\ninstall_requires =\n    {}\n"
DIGEST = "0f" * 32


def open_guarded(
    tmp_path: Path, files: Mapping[str, str], *, only_wheels: bool = True
) -> Environment:
    needs = read_needs(
        write(tmp_path / "repo", files), tools=("tiny-tool",), only_wheels=only_wheels
    )
    environ = offline_environ(tmp_path)
    return asyncio.run(
        open_environment(needs, tmp_path / "environments", log=print, environ=environ)
    )


def bait(flag: Path) -> str:
    return f"import pathlib; pathlib.Path({str(flag)!r}).write_text('ran')\n"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "six",
            "six==1.16.0",
            "Six[extra,more] >=1,<2,!=1.5 ; python_version >= '3.8'",
            "six~=1.0",
        ),
        *(
            "ruamel.yaml",
            "six==1!2.0",
            "six (>=1)",
            f"six==1.16.0 --hash=sha256:{DIGEST} --hash=sha512:{DIGEST}",
        ),
        *("--pre", "--prefer-binary", "six==1.*", "six===1.0+local"),
    ],
)
def test_a_name_with_a_version_is_plain(line: str) -> None:
    assert is_plain(line)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "git+file:///srv/evil#egg=evil",
            "evil @ git+https://example.test/evil",
            "evil@file:///srv/evil",
        ),
        *(
            "https://example.test/evil-1.0.tar.gz",
            "./evil",
            "../evil",
            "/srv/evil",
            "evil/",
            "vendor/evil",
        ),
        *(
            "evil-1.0.tar.gz",
            "evil.zip",
            "Evil.WHL",
            "-e ./evil",
            "-evil",
            "--index-url https://example.test/simple",
        ),
        *(
            "-i https://example.test/simple",
            "--extra-index-url=https://example.test/simple",
            "-f vendor",
            "--pre evil",
        ),
        *(
            "--find-links vendor",
            "--no-binary :all:",
            "--no-binary=evil",
            "-r https://example.test/list.txt",
            "evil .",
        ),
        *(
            "six --config-settings=a=b",
            "six --global-option=build",
            "six --hash=sha256:",
        ),
        *(
            "six; platform_release != ' --no-binary=x'",
            "six\n--no-binary=six",
            "six\t--no-binary=six",
            "six ${HOME}",
        ),
        *(
            "six==1.0 \\",
            "six===a/b",
            "six # why",
            "",
            "--hash=sha256:aa",
            "s\u00efx",
            "file:evil",
            "six --hash=sha256:xyz",
            "six;os_name=='a:b'",
        ),
    ],
)
def test_everything_else_is_not(line: str) -> None:
    assert not is_plain(line)


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (
            {"requirements.txt": "# why\nsix\ngit+file:///srv/evil#egg=evil\n"},
            "requirements.txt, line 3",
        ),
        (
            {
                "requirements.txt": "-r more/list.txt\n",
                "more/list.txt": "six\n-e ./evil\n",
            },
            "more/list.txt, line 2",
        ),
        (
            {
                "requirements.txt": "-c limits.txt\n",
                "limits.txt": "six @ file:///srv/evil\n",
            },
            "limits.txt, line 1",
        ),
        (
            {"requirements.txt": "-r https://example.test/list.txt\n"},
            "requirements.txt, line 1",
        ),
        (
            {"requirements.lock": "--find-links vendor\nsix==1\n"},
            "requirements.lock, line 1",
        ),
        (
            {"requirements.txt": "six\n\nevil \\\n  @ file:///srv/evil\n"},
            "requirements.txt, line 3",
        ),
        (
            {"pyproject.toml": PROJECT.format("evil @ git+file:///srv/evil")},
            "pyproject.toml, line 3",
        ),
        (
            {"pyproject.toml": PROJECT.format("six\\n--no-binary=six")},
            "pyproject.toml, line 3",
        ),
        ({"setup.cfg": SET_UP.format("evil @ file:///srv/evil")}, "setup.cfg, line 5"),
        (
            {"setup.py": "setup(install_requires=['evil @ file:///srv/evil'])\n"},
            "setup.py, line 1",
        ),
        ({"tox.ini": "[testenv]\ndeps =\n  six\n  ./evil\n"}, "tox.ini, line 4"),
        (
            {"pytest.ini": "[pytest]\nrequired_plugins = evil@file:///srv/evil\n"},
            "pytest.ini, line 2",
        ),
    ],
)
def test_an_address_is_refused_with_its_place_in_one_line(
    tmp_path: Path, files: Mapping[str, str], place: str
) -> None:
    repo = write(tmp_path / "repo", files)
    with pytest.raises(BadInput) as caught:
        read_needs(repo, only_wheels=True)
    text = str(caught.value)
    assert text.startswith(f"{place}: ")
    assert "merge this change of dependencies yourself first" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "line",
    [
        *(
            "./evil",
            "-e ./evil",
            "../evil",
            "/srv/evil",
            "evil @ file:///srv/evil",
            "evil@file:evil",
            "evil-1.0.tar.gz",
        ),
        *(
            "git+file:///srv/evil",
            "-f vendor",
            "--find-links=./vendor",
            "-i file:///srv",
            "--pre -e ./evil",
            "evil.zip[x]",
        ),
        *(
            "--edit ./evil",
            "--pre -r more.lst",
            "--no-binary :all: -e evil",
            "${HOME}/evil",
            "-f https://example.test -f .",
            "~/evil",
        ),
        *(
            "evil @ git+https://example.test/evil",
            "git+ssh://git@example.test/evil.git@v1",
            "https://example.test/evil-1.0.tar.gz",
            "evil @ https://example.test/evil.zip#egg=evil.whl",
            "https://example.test/evil",
        ),
    ],
)
def test_the_users_own_files_may_not_name_what_would_be_built(
    tmp_path: Path, line: str
) -> None:
    write(
        tmp_path,
        {
            "requirements.txt": f"six\n{line}\n",
            "more.lst": "./evil\n",
            "evil/code.py": "",
        },
    )
    with pytest.raises(
        BadInput,
        match=r"requirements.txt, line 2: .* built outside of the sandbox; name a package",
    ):
        read_needs(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "evil @ https://example.test/evil-1.0-py3-none-any.whl",
            "https://example.test/evil-1.0-py3-none-any.whl#sha256=aa",
            "-i https://example.test/simple",
        ),
        *(
            "--pre",
            "evil==1 --hash=sha256:aa",
            "evil; os_name == 'posix'",
        ),
        *(
            "--extra-index-url=https://example.test/simple",
            "--find-links https://example.test",
            "--trusted-host a.test",
        ),
    ],
)
def test_names_and_remote_addresses_of_the_users_own_files_are_left_to_pip(
    tmp_path: Path, line: str
) -> None:
    needs = read_needs(write(tmp_path, {"requirements.txt": f"{line}\n"}))
    assert line in (*needs.requirements, *needs.locked)


def test_a_project_in_the_repository_is_imported_and_not_built(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "-e ./libs/one[fast]\nvendored/\none==2\n",
        "libs/one/pyproject.toml": PROJECT.format("attrs").replace('"x"', '"one"')
        + '[project.optional-dependencies]\nfast = ["two @ file:./libs/two", "idna"]\n',
        "libs/two/setup.py": "from setuptools import setup\nsetup(name='two', install_requires=['six'])\n",
        "vendored/setup.py": "",
    }
    needs = read_needs(write(tmp_path, files))
    assert needs.parts == ("libs/one", "vendored", "libs/two")
    assert {"attrs", "idna", "six"} <= set(needs.requirements)
    assert not [
        line
        for line in needs.requirements
        if "one" in line or "two" in line or "vendored" in line
    ]
    assert {"libs/one/pyproject.toml", "libs/two/setup.py"} <= set(needs.sources)


def test_the_project_itself_may_be_named_because_it_is_never_installed(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "requirements.txt": "-e .[test]\nsix\n",
            "pyproject.toml": PROJECT.format("attrs"),
        },
    )
    assert read_needs(tmp_path, only_wheels=True).requirements == (
        "six",
        "attrs",
        "pytest",
    )


def hostile_files(flag: Path) -> dict[str, str]:
    """Return what in a wheel would run in the next start of its environment's Python,
    or of the pip in it.
    """
    return {
        "hostile.pth": bait(flag),
        "sitecustomize.py": bait(flag),
        "usercustomize.py": bait(flag),
        "keyring.py": bait(flag),
        "pip/__init__.py": bait(flag),
        "pip/__main__.py": bait(flag),
        "pip/_internal/__init__.py": bait(flag),
        "pip/_internal/self_outdated_check.py": bait(flag),
        "hostile-1.0.data/data/bin/python": f"#!/bin/sh\ntouch {flag}\n",
        "hostile-1.0.data/data/sitecustomize.py": bait(flag),
    }


def hashed(wheel: Path) -> str:
    return f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


def test_what_a_wheel_brings_along_does_not_run_in_the_next_step(
    tmp_path: Path,
) -> None:
    flag = tmp_path / "ran"
    wheel = write_wheel(tmp_path / "wheels", "hostile", "1.0", more=hostile_files(flag))
    write_wheel(tmp_path / "wheels", "tiny-tool", "1.0", requires=("hostile",))
    environment = open_guarded(
        tmp_path, {"requirements-dev.lock": f"hostile==1.0 {hashed(wheel)}\n"}
    )
    [site] = environment.folder.glob("lib/python*/site-packages")
    assert (site / "hostile.py").is_file()
    assert (site / "tiny_tool.py").is_file()
    assert not flag.exists()
    assert not list((tmp_path / "environments").glob(".*.pip"))


def write_hostile_project(tmp_path: Path, flag: Path) -> tuple[Path, Path]:
    """Write a project whose build leaves a flag, as an archive and as a repository."""
    backend = f"{bait(flag)}raise SystemExit\n"
    settings = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {"pyproject.toml": settings.encode(), "backend.py": backend.encode()}
    return write_source(
        tmp_path / "sources", "hostile", "1.0", backend
    ), make_repository(tmp_path / "hostile", files)


@pytest.mark.parametrize("form", [0, 1])
def test_a_wheel_cannot_have_an_address_built(tmp_path: Path, form: int) -> None:
    flag = tmp_path / "ran"
    address = write_hostile_project(tmp_path, flag)[form].as_uri()
    write_wheel(
        tmp_path / "wheels", "tiny-tool", "1.0", requires=(f"hostile @ {address}",)
    )
    files = {"requirements.txt": "tiny-tool\n"}
    for only_wheels in (True, False):
        with pytest.raises(ItemError, match="only wheels may be installed") as caught:
            open_guarded(tmp_path, files, only_wheels=only_wheels)
        assert "\n" not in str(caught.value)
        assert not flag.exists()


@pytest.mark.parametrize(
    "line", ["{source}", "{folder}", "git+{folder}#egg=hostile", "hostile.zip"]
)
def test_pip_itself_refuses_what_the_reading_would_let_through(
    tmp_path: Path, line: str
) -> None:
    flag = tmp_path / "ran"
    source, folder = write_hostile_project(tmp_path, flag)
    write(
        tmp_path / "repo",
        {"hostile.zip": "a file of the repository that a name could be taken for\n"},
    )
    address = line.format(source=source.as_uri(), folder=folder.as_uri())
    needs = Needs(tmp_path / "repo", requirements=(address,), only_wheels=True)
    opening = open_environment(
        needs, tmp_path / "env", log=print, environ=offline_environ(tmp_path)
    )
    with pytest.raises(
        ItemError, match="pip failed" if "zip" in line else "only wheels"
    ):
        asyncio.run(opening)
    assert not flag.exists()
    assert [
        path.name for path in (tmp_path / "env").iterdir() if path.suffix == ".pip"
    ] == []


def test_a_guarded_environment_is_as_good_as_any(tmp_path: Path) -> None:
    write_wheel(
        *(tmp_path / "wheels", "tiny-tool", "1.0"),
        requires=("tiny-one",),
        body="import tiny_one\n\n\ndef main():\n    print('tool', tiny_one.VERSION)\n",
        more={"{info}/entry_points.txt": "[console_scripts]\ntiny = tiny_tool:main\n"},
    )
    one = write_wheel(tmp_path / "wheels", "tiny-one", "1.0")
    write_wheel(tmp_path / "wheels", "tiny-one", "2.0")
    environment = open_guarded(
        tmp_path, {"requirements-dev.lock": f"tiny-one==1.0 {hashed(one)}\n"}
    )
    assert subprocess.check_output(
        [environment.folder / "bin" / "tiny"], text=True
    ).split() == ["tool", "1.0"]
    assert subprocess.check_output(
        [environment.python, "-m", "pip", "check"], text=True
    ).startswith("No broken")
    compiled = {
        path.name.partition(".")[0]
        for path in environment.folder.glob("lib/*/site-packages/__pycache__/*")
    }
    assert {"tiny_one", "tiny_tool"} <= compiled


def test_hashes_are_checked_under_the_guard(tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny-tool", "1.0")
    with pytest.raises(ItemError, match="HASHES"):
        open_guarded(
            tmp_path,
            {"requirements-dev.lock": f"tiny-tool==1.0 --hash=sha256:{DIGEST}\n"},
        )
