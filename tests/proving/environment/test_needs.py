"""What a repository's files say about what its tests need."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentos.errors import BadInput
from agentos.proving.environment import missing_extras, optional_modules, read_needs
from agentos.proving.environment.requirement_lines import logical_lines


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_a_development_lock_counts_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "requirements-dev.lock": "six==1.16.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\npytest==8.0\n",
            "requirements.txt": "other\n",
            "pyproject.toml": '[project]\nname = "x"\ndependencies = ["requests"]\n',
        },
    )
    needs = read_needs(tmp_path)
    assert needs.locked == (
        "six==1.16.0 --hash=sha256:aa --hash=sha256:bb",
        "pytest==8.0",
    )
    assert needs.requirements == ()
    assert needs.constraint_lines == ("six==1.16.0", "pytest==8.0")
    assert needs.sources == ("requirements-dev.lock",)


def test_optional_packages_are_known_as_modules(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "x"\ndependencies = ["six"]\n'
        '[project.optional-dependencies]\nframes = ["pandas>=2", "ruamel-yaml"]\n'
        '[dependency-groups]\ntest = ["numpy", {include-group = "no"}]\n'
    )
    write(tmp_path, {"pyproject.toml": project})
    assert sorted(optional_modules(tmp_path)) == ["numpy", "pandas", "ruamel_yaml"]


def test_a_runtime_lock_gets_the_test_group_beside_it(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\n[project.optional-dependencies]\ntests = ["freezegun"]\n'
    write(tmp_path, {"requirements.lock": "six==1.16.0\n", "pyproject.toml": project})
    needs = read_needs(tmp_path)
    assert needs.locked == ("six==1.16.0",)
    assert needs.requirements == ("freezegun", "pytest")


def test_lists_and_project_files_count_together(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "requirements-dev.txt": "-r requirements.txt\n-c limits.txt\n-e .[extra]\nmock  # for tests\n",
            "requirements.txt": "--pre\nsix>=1.15\n",
            "limits.txt": "six<2\n",
            "pyproject.toml": """\
[project]
name = "My_Project"
requires-python = ">=3.9"
dependencies = ["attrs"]
[project.optional-dependencies]
extra = ["my-project[inner]", "toml"]
inner = ["click"]
docs = ["sphinx"]
all = ["pytest-cov"]
[dependency-groups]
test = [{include-group = "base"}, "pytest>=7"]
base = ["freezegun"]
""",
        },
    )
    needs = read_needs(tmp_path)
    assert needs.requirements == (
        *(
            "--pre",
            "six>=1.15",
            "mock",
            "attrs",
            "freezegun",
            "pytest>=7",
            "toml",
            "click",
            "pytest-cov",
        ),
    )
    assert needs.constraints == ("six<2",)
    assert needs.requires_python == ">=3.9"


def test_the_development_group_stands_in_for_a_missing_test_group(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"pyproject.toml": '[dependency-groups]\ndev = ["mock"]\n'})
    assert read_needs(tmp_path).requirements == ("mock", "pytest")
    write(
        tmp_path,
        {
            "pyproject.toml": '[dependency-groups]\ndev = ["mock"]\ntest = ["responses"]\n'
        },
    )
    assert read_needs(tmp_path).requirements == ("responses", "pytest")


def test_older_project_files_are_read_without_being_run(tmp_path: Path) -> None:
    setup = """\
import os
from setuptools import setup
os.mkdir("was_run")
NEEDED = ["text-unidecode>=1.3"]
setup(name="slug", install_requires=NEEDED, extras_require={"unidecode": ["Unidecode"]}, python_requires=">=3.8")
"""
    write(tmp_path, {"setup.py": setup, "dev.requirements.txt": "mock\n"})
    needs = read_needs(tmp_path)
    assert needs.requirements == ("mock", "text-unidecode>=1.3", "pytest")
    assert not (tmp_path / "was_run").exists()


def test_setup_cfg_and_tox_are_asked(tmp_path: Path) -> None:
    config = "[metadata]\nname = x\n[options]\ninstall_requires =\n    six\n    attrs>=1; python_version >= '3.8'\n"
    tox = "[testenv]\ndeps =\n    mock\n    py39: tomli\n    -r{toxinidir}/r.txt\n"
    write(tmp_path, {"setup.cfg": config, "tox.ini": tox})
    needs = read_needs(tmp_path)
    assert needs.requirements == (
        "six",
        "attrs>=1; python_version >= '3.8'",
        "mock",
        "pytest",
    )
    assert needs.sources == ("setup.cfg", "tox.ini")


def test_a_list_that_tox_includes_is_read_and_a_missing_one_is_not(
    tmp_path: Path,
) -> None:
    tox = "[testenv]\ndeps =\n  -r requirements-py39.txt\n  -c{toxinidir}/limits.txt\n  -r gone.txt\n  mock\n  --pre\n"
    write(
        tmp_path,
        {"tox.ini": tox, "requirements-py39.txt": "six\n", "limits.txt": "six<2\n"},
    )
    needs = read_needs(tmp_path)
    assert (needs.requirements, needs.constraints) == (
        ("six", "mock", "pytest"),
        ("six<2",),
    )
    assert needs.sources == ("tox.ini", "requirements-py39.txt", "limits.txt")


def test_a_list_with_hashes_is_a_lock_wherever_it_stands(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\ndependencies = ["six"]\n'
    write(
        tmp_path,
        {
            "requirements-dev.txt": "six==1.16.0 --hash=sha256:aa\n",
            "pyproject.toml": project,
        },
    )
    needs = read_needs(tmp_path)
    assert needs.locked == ("six==1.16.0 --hash=sha256:aa",)
    assert needs.requirements == ("six", "pytest")
    assert needs.constraint_lines == ("six==1.16.0",)


@pytest.mark.parametrize(
    ("files", "plugins"),
    [
        (
            {
                "setup.cfg": "[tool:pytest]\naddopts = -q\n    --cov=x --cov-report=term -n2\n"
            },
            ["cov", "xdist"],
        ),
        (
            {"tox.ini": "[pytest]\naddopts = -n auto --timeout=3 --no-header -v\n"},
            ["xdist", "timeout"],
        ),
        (
            {"pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = a.b\ntimeout = 3\n"},
            ["django", "timeout"],
        ),
        (
            {
                "pyproject.toml": '[tool.pytest]\naddopts = ["--covert", "--dist", "load"]\n'
            },
            ["xdist"],
        ),
        (
            {
                "pyproject.toml": '[tool.pytest.ini_options]\nasyncio_mode = "auto"\ntimeout = 9\n'
            },
            ["asyncio", "timeout"],
        ),
        ({"pytest.ini": "[pytest]\nrequired_plugins = pytest-mock>=3\n"}, ["mock>=3"]),
        ({"pytest.ini": "not in any section\n[pytest]\naddopts = --cov\n"}, []),
        ({"pyproject.toml": "[tool.pytest]\naddopts = 7\n"}, []),
    ],
)
def test_plugins_that_the_settings_of_pytest_use_are_needed(
    tmp_path: Path, files: Mapping[str, str], plugins: list[str]
) -> None:
    needs = read_needs(write(tmp_path, files))
    assert needs.requirements == (*(f"pytest-{name}" for name in plugins), "pytest")


def test_an_empty_repository_needs_the_test_tools(tmp_path: Path) -> None:
    assert read_needs(tmp_path).requirements == ("pytest",)


def test_the_name_depends_on_what_is_needed_and_not_on_where_it_stands(
    tmp_path: Path,
) -> None:
    first = read_needs(write(tmp_path / "a", {"requirements.txt": "six  # why\n"}))
    second = read_needs(
        write(tmp_path / "b", {"requirements.txt": "# a comment\nsix\n"})
    )
    third = read_needs(write(tmp_path / "c", {"requirements.txt": "six>1\n"}))
    assert first.digest("3.11 linux") == second.digest("3.11 linux")
    assert (
        len(
            {
                first.digest("3.11 linux"),
                first.digest("3.12 linux"),
                third.digest("3.11 linux"),
            }
        )
        == 3
    )


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"requirements.txt": "-r ../outside.txt\n"}, "outside the repository"),
        ({"requirements.txt": "-r /etc/hosts\n"}, "outside the repository"),
        ({"requirements.txt": "-r missing.txt\n"}, "missing.txt"),
        ({"pyproject.toml": "[project\n"}, "not valid TOML"),
        ({"setup.cfg": "no section\n"}, "setup.cfg"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(
    tmp_path: Path, files: Mapping[str, str], word: str
) -> None:
    write(tmp_path, {"outside.txt": "six\n"})
    with pytest.raises(BadInput, match=word) as caught:
        read_needs(write(tmp_path / "repo", files))
    assert "\n" not in str(caught.value)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "requirements.txt": "-r requirements-dev.txt\nsix\n",
            "requirements-dev.txt": "-rrequirements.txt",
        },
    )
    assert read_needs(tmp_path).requirements == ("six", "pytest")


@given(st.text(alphabet=" \\\n#ab-=\t\r", max_size=80))
def test_every_text_has_logical_lines(text: str) -> None:
    for line in logical_lines(text):
        assert line == line.strip()
        assert line
        assert "\n" not in line


@example(".", "-r ")
@given(st.text(max_size=200), st.sampled_from(["", "-r ", "-e ", "-c"]))
def test_every_text_can_be_a_requirement_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, option: str
) -> None:
    folder = tmp_path_factory.mktemp("repo")
    (folder / "requirements.txt").write_bytes(
        (option + text).encode("utf-8", "replace")
    )
    with suppress(BadInput):
        assert read_needs(folder).digest("3.11")


def test_the_optional_packages_that_are_not_installed_are_named(tmp_path: Path) -> None:
    project = """\
[project]
name = "Shop"
[project.optional-dependencies]
zones = ["PyTZ>=2020", "tzdata; sys_platform == 'win32'"]
test = ["Free_Gun"]
all = ["shop[zones]"]
"""
    folder = write(tmp_path / "project", {"pyproject.toml": project})
    site = "lib/python3.11/site-packages"
    write(tmp_path / "env", {f"{site}/free_gun-1.0.dist-info/METADATA": ""})
    assert missing_extras(folder, tmp_path / "env") == ("zones: pytz",)
    write(tmp_path / "env", {f"{site}/pytz-2024.1.dist-info/METADATA": ""})
    assert missing_extras(folder, tmp_path / "env") == ()
