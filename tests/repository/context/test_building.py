"""A repository says how its tests are run."""

from __future__ import annotations

from pathlib import Path

from tests.repository.context.trees import make_repository, select

FILES = {
    "pyproject.toml": """\
[project]
name = "shop"
[project.optional-dependencies]
test = ["pytest>=8"]
[tool.pytest.ini_options]
addopts = "-q --strict-markers"
testpaths = ["tests"]
""",
    "tox.ini": "[tox]\nenvlist = py\n[testenv]\ndeps = pytest\ncommands = pytest {posargs}\n",
    "setup.cfg": "[metadata]\nname = shop\n\n[tool:pytest]\nxfail_strict = true\n",
    "Makefile": "install:\n\tpip install .\n\ncheck:\n\tpytest -x tests\n",
    "noxfile.py": 'import nox\n\n\ndef tests(session):\n    session.run("pytest")\n',
    ".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n      - run: python -m pytest --cov\n",
    "CONTRIBUTING.md": "# How\n" + "\nWords.\n" * 30 + "\nRun `pytest -n 2` first.\n",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef client(): ...\n\n\ndef no_fixture(): ...\n",
    "tests/test_shop.py": "def test_shop(client): ...\n",
}


def test_the_lines_that_say_how_tests_are_run(tmp_path: Path) -> None:
    text = select(make_repository(tmp_path, FILES), "# 1 - Sell\n").text
    for line in (
        "optional dependencies (tests get those of a test or dev group): test=pytest>=8",
        "pytest: addopts=-q --strict-markers, testpaths=tests",
        "- tests, 1 file: `tests/`: 1 file, such as test_shop.py",
        "- fixtures in `tests/conftest.py`: client\n",
        "`tox.ini`:\n    3| [testenv]\n    4| deps = pytest\n    5| commands = pytest",
        "`setup.cfg`:\n    4| [tool:pytest]\n    5| xfail_strict = true",
        "`Makefile`:\n    5| \tpytest -x tests",
        "`noxfile.py`:\n    1| import nox\n  ...\n    5|     session.run(",
        "`.github/workflows/ci.yml`:\n    4|       - run: python -m pytest --cov",
        "   63| Run `pytest -n 2` first.",
    ):
        assert line in text


def test_a_file_that_the_issue_names_is_not_shown_twice(tmp_path: Path) -> None:
    issue = "# 1 - Sell\n\nChange `pyproject.toml`, tox.ini and CONTRIBUTING.\n"
    text = select(make_repository(tmp_path, FILES), issue).text
    assert text.count("envlist = py") == 1
    assert text.count("strict-markers") == 1
    assert text.count("pytest -n 2") == 1
    assert "`tox.ini`:\n" not in text


def test_names_of_authors_are_no_credentials(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "shop"\nauthors = [{name = "Ann", email = "ann@example.org"}]\n'
        '[project.scripts]\nshop = "shop.cli:main"\n'
    )
    setup = (
        "[metadata]\nauthor_email = ann@example.org\n\n[tool:pytest]\naddopts = -q\n"
    )
    files = {"pyproject.toml": project, "setup.cfg": setup}
    text = select(make_repository(tmp_path, files), "# 1 - Read setup.cfg\n").text
    assert "commands: shop=shop.cli:main" in text
    assert "ann@example.org" in text
    assert "withheld" not in text


def test_settings_that_cannot_be_read_for_a_credential_are_not_called_wrong(
    tmp_path: Path,
) -> None:
    project = (
        '[project]\nname = "shop"\n[tool.shop]\ntoken = { value = "hunter2-hunter2" }\n'
    )
    files = {"pyproject.toml": project}
    text = select(make_repository(tmp_path, files), "# 1 - Sell\n").text
    assert "hunter2" not in text
    assert "not valid TOML" not in text
